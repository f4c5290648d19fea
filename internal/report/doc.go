// Package report shows people what the warehouse knows about payouts: the same numbers as CSV, JSON and a printable
// HTML page, with sentences that say what to do about them. New findings are logged once.
//
// The sums are computed in the warehouse, in the views payout_reconciliation, payout_transactions and
// transaction_changes. Package finance works out what they mean. This package selects, describes and draws.
//
// Invariants, cited in the code as report-N:
//
//  1. Amounts are decimals from the warehouse to the page. Only the length of a bar in a chart is a float.
//  2. Amounts of different currencies are never added up. A payout whose own totals do that is shown separately.
//  3. All outputs are made from one Reconciliation, and one function writes all amounts.
//  4. Text from the service is data: it is escaped in HTML, cannot become a formula in a spreadsheet, and cannot
//     control a terminal.
//  5. A finding is logged when it is new, and not again while it remains. Its text decides whether it is new. The
//     findings of an account's first reconciliation are logged as one line, which names the command that lists them.
//  6. What a person has acknowledged is not a finding again until its amounts change. Acknowledgements and closed
//     months are added and never changed.
//  7. The statement of a closed month does not change: what is loaded after the close counts in the
//     month in which it is loaded.
//  8. A difference within a tolerance is shown like any other, and marked, but nobody has to look at it.
//  9. An acknowledgement or a close applies to what the person looked at, if the request says what that was.
//  10. Rows of single transactions and changes are written while they are read, and not kept in memory, however many
//     there are. If reading them fails halfway, the caller of the writer gets the error.
package report
