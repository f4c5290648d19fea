// Package finance explains payouts: what was paid, what it is worth now, and what the difference is made of.
//
// It is arithmetic on decimals alone. It asks no warehouse, knows no clock and imports nothing of ours.
//
// The services this is for pay pending transactions too, and never change a payout. So the cashback of a payout and
// that of its transactions drift apart, for reasons that an accountant keeps apart: some of it is to be expected back,
// some can be claimed, some is a mistake in the payout, some belongs to transactions that are not loaded, and some to
// transactions that the service no longer lists.
//
// Invariants, cited in the code as finance-N:
//
//  1. Amounts are exact. No float is involved.
//  2. Amounts of different currencies are never added up. What a payout says in the sum of several currencies, and its
//     transactions do not account for, is an amount in no currency.
//  3. In each currency the items of a payout add up to what was paid less what it is worth now, exactly.
//  4. Items are never netted: two that cancel each other are both there.
//  5. A status when paid is known when it was seen, and deduced when the counts of the payout allow one answer only.
//     Otherwise it is not claimed. The deduction takes for granted that the payout counts right, and that changes of
//     amounts between being paid and being loaded show in its totals. Where there is too much to try, it also takes for
//     granted that what was declined when it was paid is declined still when it is loaded, and says so.
package finance
