// Package share lets other processes of the same user work with the engine that one process has open. The process that
// has it, the host, listens on a socket beside the data; a guest sends its statements there, as it would to a server.
//
// Invariants, cited in the code as share-N:
//
//  1. Only the user whose data it is gets in: the socket can be opened by its owner alone, and so can its folder.
//  2. A guest that is cut off, since the host ends or is killed, gets an error that says so; never half of an answer
//     taken for all of it.
//  3. A host that will end by itself says so. Whoever writes for longer than a moment waits for it to end instead.
//  4. A host that was killed leaves its socket behind. Nobody answers there, and the next host replaces it.
package share
