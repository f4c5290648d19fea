// Package share lets other processes of the same user work with the engine that one process has open. That process, the
// host, listens on a socket beside the data. The other processes, the guests, send their statements there, as they
// would to a server.
//
// Invariants, cited in the code as share-N:
//
//  1. Only the user who owns the data gets in: the socket and its folder can be opened by their owner alone.
//  2. A guest whose connection is cut, because the host ends or is killed, gets an error that says so. It never takes
//     half of an answer for the whole.
//  3. A host that will end by itself says so. A guest that will write for longer than a moment then waits until the
//     host has ended, instead of working through it.
//  4. A host that was killed leaves its socket behind. Nobody answers there, and the next host replaces it.
//  5. A host may be kept by a guest, in a process that is started anew when it ends. The folder stays claimed by that
//     guest all the time, and names its process. A host that took another's place says of every name that it may know
//     it.
package share
