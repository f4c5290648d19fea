package finance

import "github.com/shopspring/decimal"

// Tolerances are how much a payout and its transactions may differ before somebody has to look, by currency, in its
// smallest unit. A currency that is not listed has no tolerance.
type Tolerances map[string]int64

// Of returns the tolerance of a currency as an amount.
func (t Tolerances) Of(currency string) decimal.Decimal { return FromMinor(t[currency], currency) }

// Covers reports whether all items of a line together are within the tolerance of its currency. Each counts without its
// sign: an amount to expect back does not cancel an amount to claim (finance-4).
func (t Tolerances) Covers(l *Line) bool {
	all := decimal.Zero
	for _, item := range l.Items {
		all = all.Add(item.Amount.Abs())
	}
	return all.LessThanOrEqual(t.Of(l.Currency))
}
