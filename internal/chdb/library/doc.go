// Package library finds libchdb, or downloads it with npm, checks that it is the pinned version, and calls its C
// functions from Go.
//
// # Invariants
//
// Comments in the code cite these numbers. The other packages below chdb have the numbers that are missing here.
//
//   - chdb-9: A cached library is only loaded if its hash is the one pinned here: either it was hashed before and has
//     not been written to since, or it is hashed again. A library that the operator names is loaded with any hash. Both
//     kinds, and their folders, must be writable by nobody except the user and root. A cached file is complete or
//     absent.
//   - chdb-10: The C library's memory is used only between the call that made it
//     and the call that destroys it, and every result is destroyed once.
package library
