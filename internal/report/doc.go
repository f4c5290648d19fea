// Package report shows people what the warehouse knows about payouts: the same numbers as CSV, JSON and a printable
// HTML page, in words what to do about them, and once each what is new.
//
// The sums are the warehouse's, in the views payout_reconciliation, payout_transactions and transaction_changes. What
// they mean is worked out by internal/finance. This package selects, words and draws.
//
// Invariants, cited in the code as report-N:
//
//  1. Amounts are decimals from the warehouse to the page. Only the length of a bar in a chart is a float.
//  2. Amounts of different currencies are never added up. A payout whose own totals do that stands for itself.
//  3. All outputs are made from one Reconciliation, by one function that writes an amount.
//  4. Text of the service is data: it is escaped in HTML, cannot become a formula in a spreadsheet, and steers no
//     terminal.
//  5. A finding is logged when it is new, and not again while it stands. What is new is known by its words. Those of
//     the first reconciliation of an account are logged as one line, which names the command that lists them.
//  6. What a person has acknowledged is no finding until its amounts move. Acknowledgements and closed months are added
//     and never changed.
//  7. The statement of a closed month stays as it is: what was loaded after the close counts in the month in which it
//     was loaded.
//  8. What is within a tolerance is shown like all else, and said to be: it only asks nobody to look.
//  9. What is acknowledged or closed is what was looked at, where the one who asks says what that was.
//  10. Rows of single transactions and changes are written as they are read, and not kept, however many there are.
//     Where reading them breaks off, the writer's caller gets the error.
package report
