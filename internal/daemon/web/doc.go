// Package web is the daemon's HTTP side: metrics, health, a JSON API and the status page. It shows what the daemon and
// the warehouse know, and hands on what an operator asks for.
//
// Invariants, cited in the code as web-N:
//
//  1. GET and HEAD change nothing. POST is for actions of operators alone, at two addresses, and is answered only where
//     a user is configured and the request has the user's credentials.
//  2. Whatever came from upstream or from a warehouse is text: it reaches a page only through html/template, and a page
//     runs no script and loads nothing but what this package serves (the Content-Security-Policy says so to the
//     browser).
//  3. However many look, the warehouse is asked at most once in a moment for the same thing, few questions at a time,
//     each with a time-out.
//  4. The status page answers when the warehouse does not: it shows what was last known, and says so.
//  5. Without credentials nobody learns more than whether the daemon lives and is ready, once credentials are
//     configured.
//  6. A browser gives credentials to whatever page sends it here. So an action is refused when the browser says that
//     another origin has sent it; a form needs the token of our pages besides, and a program has to send JSON, which a
//     page of somebody else cannot without being asked for first.
package web
