// Package machine asks the operating system what this process may use: its memory, and the room on a disk.
//
// Invariants, cited in the code as machine-N:
//
//  1. What cannot be asked is 0 for memory, and an error for a disk. Nothing is guessed: the caller knows what fits it.
//  2. Only what exists is looked at, and nothing is created. A folder that is still to be made is on the disk of the
//     nearest folder above it.
package machine
