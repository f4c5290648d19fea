// Package settlement takes in what reached the bank: from a file of CSV, or a table of the user's own.
//
// A settlement is one booking on an account of a bank. Its reference is its identity. What is imported stays: the same
// settlement again changes nothing, and another one under the same reference is refused, or recorded as a correction.
//
// Invariants, cited in the code as settlement-N:
//
//  1. What is not understood is refused, with its line and what to do. Nothing is guessed, and of a file with a mistake
//     nothing is taken in.
//  2. Amounts are decimals from the file to the warehouse.
//  3. Amounts of different currencies are never added up: a settlement that was converted says what was sent, and what
//     arrived.
//  4. Rows are added and never changed. The same file twice changes nothing.
package settlement
