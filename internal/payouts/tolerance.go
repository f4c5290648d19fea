package payouts

import (
	"fmt"
	"slices"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
)

// tolerates reports whether a matter of the payout is within the tolerance (a tolerated difference is shown). Amounts
// that are not loaded, a count that differs, and a payout that was altered or has several currencies are never within
// it.
func (p Payout) tolerates(m finance.Matter, t finance.Tolerances) bool {
	switch {
	case m.Kind == Altered, m.Kind == MixedCurrency, m.Kind == string(finance.NotLoaded), p.Verdict == Missing:
		return false
	case p.Verdict == Mismatched && !p.amountsWithin(t):
		return false
	case m.Kind == Mismatched:
		return true
	}
	return !slices.ContainsFunc(p.Explained.Lines,
		func(l finance.Line) bool { return l.Currency == m.Currency && !t.Covers(&l) })
}

// amountsWithin reports whether all totals that differ are amounts, and each differs by no more than the tolerance.
func (p Payout) amountsWithin(t finance.Tolerances) bool {
	for _, name := range p.Mismatches {
		d := total(p.Difference, name)
		if isCount(name) || d == nil || d.Abs().GreaterThan(t.Of(p.Currency())) {
			return false
		}
	}
	return true
}

// within reports whether the payout has a matter within the tolerance, and no open one.
func (p Payout) within() bool {
	some := false
	for _, m := range p.Matters {
		some = some || m.Within
		if m.Open {
			return false
		}
	}
	return some
}

// withinAdvice says what is within the tolerance; it returns "" if nothing is.
func (p Payout) withinAdvice() string {
	var said []string
	for _, m := range p.Matters {
		if text := term.Spaced(m.Kind); m.Within {
			if a := m.Amount(); !a.IsZero() {
				text += " " + withCurrency(m.Currency, a.Abs())
			}
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "within the tolerance, so nothing has to be done: " + term.List(said)
}

// withinText says how many payouts have something within the tolerance, and what it adds up to. The sums by kind
// include it. Each payout is compared with the tolerance separately.
func (r Reconciliation) withinText() string {
	n, together := r.withinSums()
	switch {
	case n == 0:
		return ""
	case len(together.order) == 0:
		return fmt.Sprintf(" Within their tolerance: %s.", term.Plural(n, "payout"))
	}
	return fmt.Sprintf(" Within their tolerance: %s, %s in total.", term.Plural(n, "payout"), together.text())
}

// withinSums adds up what is within the tolerance, without signs, and counts its payouts.
func (r Reconciliation) withinSums() (n uint64, together sums) {
	for _, p := range r.Payouts {
		some := uint64(0)
		for _, m := range p.Matters {
			if !m.Within {
				continue
			}
			some = 1
			for _, amount := range m.Entries {
				if !amount.IsZero() {
					together.add(m.Currency, amount.Abs())
				}
			}
		}
		n += some
	}
	return n, together
}
