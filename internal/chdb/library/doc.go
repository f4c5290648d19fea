// Package library finds libchdb, or downloads it with npm, makes sure that it is the one that is pinned, and calls its
// C functions from Go.
//
// # Invariants
//
// Comments in the code cite these numbers; the other rooms of chdb have the others.
//
//   - chdb-9: A cached library is only loaded if its hash is the one pinned here:
//     it was hashed, and has not been written to since, or it is hashed again. What
//     the operator named is loaded with any hash. Neither is, nor are their
//     folders, anybody's to write to but the user's and root's. A cached file is
//     complete or absent.
//   - chdb-10: The C library's memory is used only between the call that made it
//     and the call that destroys it, and every result is destroyed once.
package library
