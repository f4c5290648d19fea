// Package settlement imports what reached the bank, from a CSV file or from a table of the user's own.
//
// A settlement is one entry of a bank account. Its reference identifies it. An imported settlement stays: importing the
// same one again changes nothing, and a different one with the same reference is refused, or recorded as a correction.
//
// Invariants, cited in the code as settlement-N:
//
//  1. Anything that cannot be understood is refused, with its line and what to do. Nothing is guessed, and a file with
//     a mistake is not imported at all.
//  2. Amounts are decimals from the file to the warehouse.
//  3. Amounts of different currencies are never added up: for a settlement that was converted, both the amount that was
//     sent and the amount that arrived are given.
//  4. Rows are added and never changed. Importing the same file twice changes nothing.
//  5. A match that was made and shown stays until somebody corrects the settlement, or the amounts no longer agree.
//     Matches are stored; views only show them.
package settlement
