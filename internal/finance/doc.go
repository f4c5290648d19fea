// Package finance explains payouts: what was paid, what it is worth now, and what makes up the difference.
//
// It only computes with decimals. It queries no warehouse, reads no clock and imports no other package of this project.
//
// The services that this is written for also pay pending transactions, and never change a payout. So the cashback of a
// payout and that of its transactions drift apart, for reasons that an accountant keeps apart: some of the difference
// will be taken back, some can be claimed, some is an error in the payout, some belongs to transactions that are not
// loaded, and some to transactions that the service no longer lists.
//
// Invariants, cited in the code as finance-N:
//
//  1. Amounts are exact. No floats are used.
//  2. Amounts of different currencies are never added up. If a payout gives a sum over several currencies, the part
//     that its transactions do not explain is an amount without a currency.
//  3. In each currency, the items of a payout add up exactly to what was paid minus what it is worth now.
//  4. Items are never netted: if two items cancel each other, both are shown.
//  5. The status of a transaction when it was paid is known if it was seen, and deduced if the counts of the payout
//     allow only one answer. Otherwise nothing is claimed. The deduction assumes that the counts of the payout are
//     right, and that amounts which changed between payment and loading show in its totals. If there are too many
//     combinations to try, it also assumes that what was declined when it was paid was still declined when it was
//     loaded, and says so.
//  6. A payment is given to payouts only if a person says so, or if it can be for no others. What is given to the
//     payouts of a payment adds up to it exactly, and what is named is never given to another.
package finance
