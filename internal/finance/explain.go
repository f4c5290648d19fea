package finance

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Kind says what a part of the difference between the paid amount and its present worth means for an accountant.
type Kind string

// The kinds. They are never netted (finance-4).
const (
	Clawback    Kind = "expected_clawback" // declined or lowered after it was paid: expect it back
	Claimable   Kind = "claimable"         // raised, or accepted again, after it was paid: claim it; its amounts are below zero
	PayoutError Kind = "payout_error"      // the payout's own sums are wrong; below zero if it says too little
	NotLoaded   Kind = "not_loaded"        // in transactions that the payout counts and that are not loaded yet
	Vanished    Kind = "vanished"          // in transactions that the service no longer lists
)

// Kinds returns all kinds, in the order in which people read them.
func Kinds() []Kind { return []Kind{Clawback, Claimable, PayoutError, NotLoaded, Vanished} }

// Reason says what has caused a part of the difference.
type Reason string

// The reasons.
const (
	WasDeclined   Reason = "declined"       // after it was paid
	WasLowered    Reason = "lowered"        // its cashback, after it was paid
	WasRaised     Reason = "raised"         // its cashback, after it was paid
	WasReinstated Reason = "accepted again" // it was declined when it was paid
	LeftPayout    Reason = "left the payout"
	LeftList      Reason = "no longer listed"
	BeforeLoaded  Reason = "before it was loaded" // transactions that were not seen as they were paid; it is not certain which
	OwnSums       Reason = "own sums"             // the payout's total is not the sum of its parts
	OtherAmounts  Reason = "its transactions"     // the payout differs from its transactions, as they were seen when they were paid
	Uncounted     Reason = "not loaded"
)

// Item is one part of the difference.
type Item struct {
	Kind        Kind
	Reason      Reason
	Amount      decimal.Decimal // what was paid beyond what it is worth now; never zero
	Transaction *Transaction    // nil if no single transaction is known
	PaidAs      Standing        // of the transaction
	Deduced     bool            // PaidAs was not seen, but is the only answer (finance-5)
	Count       int64           // of the transactions that are not loaded, if that is the reason
}

// Line compares what was paid in one currency with what that is worth now (finance-2).
type Line struct {
	Currency    string
	Paid, Worth decimal.Decimal
	Items       []Item
}

// Difference returns what was paid minus what that is worth now: the sum of the items (finance-3).
func (l *Line) Difference() decimal.Decimal { return l.Paid.Sub(l.Worth) }

// Sum adds up the items of a kind.
func (l *Line) Sum(kind Kind) decimal.Decimal {
	sum := decimal.Zero
	for _, item := range l.Items {
		if item.Kind == kind {
			sum = sum.Add(item.Amount)
		}
	}
	return sum
}

// Explanation says why what a payout paid differs from what that is worth now.
type Explanation struct {
	// Said is whether the payout itself says what it paid. Otherwise the amount comes from its transactions.
	Said     bool
	Lines    []Line // at least one
	Culprits Culprits
}

// Items returns the items of all lines.
func (e *Explanation) Items() []Item {
	var all []Item
	for _, l := range e.Lines {
		all = append(all, l.Items...)
	}
	return all
}

// Explain splits the difference between what a payout paid and what that is worth now.
//
// Sometimes only an error in the payout would explain the difference, although all loaded transactions add up to the
// payout and only the split by status differs. Then transactions without a known earlier version count as unseen too:
// statuses change often, and a service rarely adds up wrongly.
func Explain(p *Payout, budget *Budget) Explanation {
	e := p.explain(budget)
	wrong := slices.ContainsFunc(e.Items(), func(i Item) bool { return i.Kind == PayoutError })
	if !wrong || !p.amountsAgree() || !p.sumsUp() {
		return e
	}
	other := *p
	other.Transactions = slices.Clone(p.Transactions)
	for i := range other.Transactions {
		t := &other.Transactions[i]
		t.Unseen = t.Unseen || t.Doubtful
	}
	if again := other.explain(budget); len(again.Culprits.Sets) > 0 || again.Culprits.GaveUp {
		return again
	}
	return e
}

func (p *Payout) explain(budget *Budget) Explanation {
	paid, said := p.paid()
	e := Explanation{Said: said}
	if said {
		e.Culprits = p.culprits(budget)
	}
	lines := p.lines()
	// The rest of what was paid, beyond what the transactions were worth when they were paid.
	rest, shift := paid.Sub(p.Stamped.undeclined()), decimal.Zero
	var shifted Sums
	for i := range p.Transactions {
		t := &p.Transactions[i]
		as, deduced := e.Culprits.paidAs(t)
		l := lineOf(lines, t.Currency)
		if deduced {
			by := as.Worth().Sub(t.Stamped.Worth())
			shift, l.Paid = shift.Add(by), l.Paid.Add(by)
			if as.Status == Declined {
				shifted = shifted.sub(t.Stamped.sums())
			} else {
				shifted = shifted.add(t.Stamped.sums())
			}
		}
		if amount := as.Worth().Sub(t.WorthNow()); !amount.IsZero() {
			kind, reason := became(t, as, amount)
			l.Items = append(l.Items, Item{Kind: kind, Reason: reason, Amount: amount, Transaction: t, PaidAs: as,
				Deduced: deduced})
		}
	}
	if rest = rest.Sub(shift); !rest.IsZero() {
		l := &lines[0]
		if len(p.Lines) > 0 { // nobody knows which currency it is in (finance-2)
			lines = append(lines, Line{})
			l = &lines[len(lines)-1]
		}
		l.Paid = l.Paid.Add(rest)
		l.Items = append(l.Items, p.residual(rest, shifted, &e.Culprits)...)
	}
	e.Lines = lines
	return e
}

// lines returns one line for each currency, with what the transactions were worth when they were first loaded.
func (p *Payout) lines() []Line {
	if len(p.Lines) == 0 {
		return []Line{{Currency: p.Currency, Paid: p.Stamped.undeclined(), Worth: p.Now.undeclined()}}
	}
	var lines []Line
	for _, l := range p.Lines {
		lines = append(lines, Line{Currency: l.Currency, Paid: l.Stamped, Worth: l.Now})
	}
	return lines
}

// lineOf returns the line of a currency. In a payout of one currency, all transactions share one line.
func lineOf(lines []Line, currency string) *Line {
	for i := range lines {
		if lines[i].Currency == currency {
			return &lines[i]
		}
	}
	return &lines[0]
}

// became returns the kind and the reason for a transaction whose worth now differs from what was paid for it.
func became(t *Transaction, paid Standing, amount decimal.Decimal) (Kind, Reason) {
	switch {
	case t.State == Gone:
		return Vanished, LeftList
	case t.State == Moved && amount.IsPositive():
		return Clawback, LeftPayout
	case t.State == Moved:
		return Claimable, LeftPayout
	case amount.IsNegative() && paid.Status == Declined:
		return Claimable, WasReinstated
	case amount.IsNegative():
		return Claimable, WasRaised
	case t.Now.Status == Declined:
		return Clawback, WasDeclined
	}
	return Clawback, WasLowered
}
