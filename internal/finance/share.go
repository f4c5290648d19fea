package finance

import (
	"slices"

	"github.com/shopspring/decimal"
)

// line is what a payout paid in one currency, and what has been given to it of payments.
type line struct {
	*Due
	unit    decimal.Decimal // of the currency of the payments that are given to it
	given   decimal.Decimal
	last    int // the last payment that gave to it
	touched bool
}

// left is what is still to be given. What is less than the smallest unit cannot be sent by itself.
func (l *line) left() decimal.Decimal {
	left := l.Paid.Sub(l.given)
	if l.touched && left.Abs().LessThan(l.unit) {
		return decimal.Zero
	}
	return left
}

// fits reports whether an amount is exactly what is left of payouts: rounded each by itself, or their sum.
func fits(amount, unit decimal.Decimal, left []decimal.Decimal) bool {
	digits := -unit.Exponent()
	var sum, rounded, even, truncated decimal.Decimal
	for _, l := range left {
		sum, rounded = sum.Add(l), rounded.Add(l.Round(digits))
		even, truncated = even.Add(l.RoundBank(digits)), truncated.Add(l.Truncate(digits))
	}
	return amount.Sub(sum).Abs().LessThan(unit) || amount.Equal(rounded) || amount.Equal(even) || amount.Equal(truncated)
}

// whole divides an amount that fits: each payout gets what is left of it, rounded down or up. Those with the largest
// parts of a unit are rounded up.
func whole(amount, unit decimal.Decimal, left []decimal.Decimal) []decimal.Decimal {
	shares, order := make([]decimal.Decimal, len(left)), make([]int, len(left))
	for i, l := range left {
		shares[i], order[i] = l.Div(unit).Floor().Mul(unit), i
		amount = amount.Sub(shares[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return left[b].Sub(shares[b]).Cmp(left[a].Sub(shares[a])) })
	for _, i := range order {
		if amount.LessThan(unit) {
			break
		}
		shares[i], amount = shares[i].Add(unit), amount.Sub(unit)
	}
	last := order[len(order)-1]
	shares[last] = shares[last].Add(amount)
	return shares
}

// share divides what a payment brought among payouts, in their order (finance-6). nil is a payout of which it is not
// known what it paid in this currency. The shares add up to the amount.
func share(amount, unit decimal.Decimal, lines []*line) []decimal.Decimal {
	left, unknown := make([]decimal.Decimal, len(lines)), -1
	for i, l := range lines {
		if l != nil {
			left[i] = l.left()
		} else if unknown < 0 {
			unknown = i
		}
	}
	if unknown < 0 && fits(amount, unit, left) {
		return whole(amount, unit, left)
	}
	digits := -unit.Exponent()
	for i := range left {
		left[i] = left[i].Round(digits)
	}
	if unknown >= 0 { // it is not for the others, unless all of them are paid
		shares, rest := left, amount.Sub(decimal.Sum(decimal.Zero, left...))
		if rest.Sign()*amount.Sign() < 0 {
			shares, rest = make([]decimal.Decimal, len(lines)), amount
		}
		shares[unknown] = shares[unknown].Add(rest)
		return shares
	}
	return partly(amount, left, lines)
}

// partly divides an amount that is more or less than what is left. Signs are seen from the payment: what goes its way
// is owed, and the rest, such as a clawback that a payment was netted with, is kept from it.
func partly(amount decimal.Decimal, left []decimal.Decimal, lines []*line) []decimal.Decimal {
	shares, sign := make([]decimal.Decimal, len(left)), decimal.NewFromInt(int64(amount.Sign()))
	amount = amount.Mul(sign)
	var owed, kept decimal.Decimal
	for i := range left {
		left[i] = left[i].Mul(sign)
		owed, kept = owed.Add(decimal.Max(left[i], decimal.Zero)), kept.Add(decimal.Min(left[i], decimal.Zero))
	}
	toOwed, toKept := amount.Sub(kept), kept // all that can be kept is kept
	if amount.GreaterThan(owed.Add(kept)) {
		toOwed, toKept = owed, decimal.Min(amount.Sub(owed), decimal.Zero)
	}
	rest := amount.Sub(toOwed).Sub(toKept)
	for i, l := range left {
		to := &toOwed
		if l.IsNegative() {
			to = &toKept
		}
		shares[i] = l
		if l.Abs().GreaterThan(to.Abs()) {
			shares[i] = *to
		}
		*to = to.Sub(shares[i])
	}
	for i := len(lines) - 1; i >= 0 && rest.IsPositive(); i-- { // the last that went the other way comes back first
		if back := decimal.Min(rest, lines[i].given.Mul(sign).Neg()); back.IsPositive() {
			shares[i], rest = shares[i].Add(back), rest.Sub(back)
		}
	}
	shares[len(shares)-1] = shares[len(shares)-1].Add(rest)
	for i := range shares {
		shares[i] = shares[i].Mul(sign)
	}
	return shares
}
