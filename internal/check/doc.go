// Package check tests what a load needs before there is one: the configuration, the folder, disk and engine of an
// embedded warehouse or the rights on a server, and the API of each stream. Every check gives findings, in words for a
// person, with the errors that decide about an exit code.
//
// Invariants, cited in the code as check-N:
//
//  1. A check changes nothing and creates nothing where data is kept.
//  2. One check that fails hides no other: only what depends on it is skipped, and said to be.
//  3. No finding has a secret in it.
package check
