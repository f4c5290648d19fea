// Package client asks a daemon over HTTP, as the commands of a user do: whether it is healthy, and to carry out an
// action.
//
// Invariants, cited in the code as client-N:
//
//  1. An address has no user, no password and no query, which may hold a secret, since messages repeat it.
//  2. The password of the daemon goes to the daemon alone: on this machine to no server with another certificate than
//     that of the configuration, and nowhere by a redirect.
//  3. An action is carried out once, also when the request is sent a second time.
//  4. What goes to a daemon on this machine goes through no proxy.
package client
