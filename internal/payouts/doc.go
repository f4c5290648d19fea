// Package payouts shows people what the warehouse knows about payouts: the same numbers as tables, CSV, JSON and a
// printable HTML page, with sentences that say what to do about them. It also imports what reached the bank, from a CSV
// file or from a table of the user's own.
//
// The sums are computed in the warehouse, in the views payout_reconciliation, payout_transactions and
// transaction_changes. Package finance works out what they mean. This package selects, describes and draws.
//
// A settlement is one entry of a bank account. Its reference identifies it. An imported settlement stays: importing the
// same one again changes nothing, and a different one with the same reference is refused, or recorded as a correction.
//
// # Amounts are decimals
//
// From the file or the warehouse to the page. Only the length of a bar in a chart is a float.
//
// # Currencies are never added up
//
// A payout whose own totals do that is shown separately. For a settlement that was converted, both the amount that was
// sent and the amount that arrived are given.
//
// # One reconciliation makes all outputs
//
// And one function writes all amounts.
//
// # Text from the service is data
//
// It is escaped in HTML, cannot become a formula in a spreadsheet, and cannot control a terminal.
//
// # A finding is logged once
//
// When it is new, and not again while it remains. Its text decides whether it is new. The findings of an account's
// first reconciliation are logged as one line, which names the command that lists them.
//
// # What is acknowledged stays so
//
// It is not a finding again until its amounts change. Acknowledgements and closed months are added and never changed.
//
// # A closed month does not change
//
// What is loaded after the close counts in the month in which it is loaded.
//
// # A tolerated difference is shown
//
// Like any other, and marked, but nobody has to look at it.
//
// # A person answers what was seen
//
// An acknowledgement or a close applies to what the person looked at, if the request says what that was.
//
// # Rows are written while they are read
//
// Single transactions and changes are not kept in memory, however many there are. If reading them fails halfway, the
// caller of the writer gets the error.
//
// # Nothing of the bank is guessed
//
// Anything that cannot be understood is refused, with its line and what to do, and a file with a mistake is not
// imported at all.
//
// # Importing twice changes nothing
//
// Rows are added and never changed.
//
// # A match stays
//
// One that was made and shown stays until somebody corrects the settlement, or the amounts no longer agree. Matches are
// stored; views only show them.
package payouts
