package payouts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Matter is something about a payout that finance has to look at, until it is acknowledged.
type Matter struct {
	finance.Matter
	Acknowledged *warehouse.Acknowledgement // the last one; nil if there is none
	Open         bool                       // it exceeds the tolerance, and was not acknowledged or has moved since
	Within       bool                       // it is within the tolerance: see finance.Tolerances
	Moved        decimal.Decimal            // by how much the amount has moved since it was acknowledged
}

// Reasons returns the codes of the reasons for which a matter is acknowledged, with their meanings.
func Reasons() [][2]string {
	return [][2]string{
		{"expected", "as it should be; the service will take it off, or add it, by itself"},
		{"disputed", "the service was asked"},
		{"claimed", "the service was asked to pay"},
		{"settled", "the money has come, or has gone back"},
		{"written_off", "not worth the effort"},
		{otherReason, "as the note says"},
	}
}

// otherReason is the code of a reason that only a note gives.
const otherReason = "other"

// NeedsNote reports whether a reason says nothing without a note.
func NeedsNote(reason string) bool { return reason == otherReason }

// readAcknowledgements sets the matters of each payout, with what was acknowledged of them.
func (r *Reconciliation) readAcknowledgements(ctx context.Context, w *warehouse.Warehouse) error {
	all, err := w.Acknowledgements(ctx, r.Filter.Account)
	if err != nil {
		return err
	}
	type subject struct {
		account        string
		payout         int64
		kind, currency string
	}
	last := map[subject]*warehouse.Acknowledgement{}
	for i, a := range slices.Backward(all) { // the newest is first, and counts
		last[subject{a.Account, a.Payout, a.Kind, a.Currency}] = &all[i]
	}
	for i := range r.Payouts {
		p := &r.Payouts[i]
		for _, m := range p.allMatters() {
			matter := Matter{Matter: m, Open: true}
			if a := last[subject{p.Account, p.ID, m.Kind, m.Currency}]; a != nil {
				matter.Acknowledged = a
				matter.Open, matter.Moved = m.Since(acknowledgedMatter(a), a.Tolerance)
			}
			matter.Within = p.tolerates(m, r.Filter.Tolerances)
			matter.Open = matter.Open && !matter.Within
			p.Matters = append(p.Matters, matter)
		}
	}
	return nil
}

func acknowledgedMatter(a *warehouse.Acknowledgement) finance.Matter {
	m := finance.Matter{Kind: a.Kind, Currency: a.Currency, Entries: map[string]decimal.Decimal{}}
	for i, name := range a.Entries {
		m.Entries[name] = a.Amounts[i]
	}
	return m
}

// matters returns the matters of the payout. Before acknowledgements have been read, all are open.
func (p Payout) matters() []Matter {
	if p.Matters != nil {
		return p.Matters
	}
	var all []Matter
	for _, m := range p.allMatters() {
		all = append(all, Matter{Matter: m, Open: true})
	}
	return all
}

// allMatters returns the matters with amounts, and then those about the payout itself. A payout without loaded
// transactions has no matters with amounts, because nothing is known about its transactions.
func (p Payout) allMatters() []finance.Matter {
	var all []finance.Matter
	if p.Verdict != NoTransactions {
		all = p.Explained.Matters()
	}
	remark := func(kind, words string) {
		all = append(all, finance.Matter{Kind: kind, Entries: map[string]decimal.Decimal{words: {}}})
	}
	if len(all) == 0 && (p.Verdict == Missing || p.Verdict == Mismatched) {
		remark(p.Verdict, p.verdictAdvice())
	}
	if p.Altered {
		remark(Altered, p.alterations())
	}
	if p.MixedCurrency {
		remark(MixedCurrency, strings.Join(p.Currencies, " and "))
	}
	return all
}

// Kinds returns the kinds of findings of the payout that a person has to look at. What was acknowledged and has not
// changed is no finding (what is acknowledged stays so).
func (p Payout) Kinds() []string {
	var kinds []string
	for _, m := range p.matters() {
		kind := p.Verdict
		if m.Kind == Altered || m.Kind == MixedCurrency {
			kind = m.Kind
		}
		if m.Open && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// quiet reports whether the payout has no open matter, and at least one that was acknowledged and is
// not within the tolerance.
func (p Payout) quiet() bool {
	none := !slices.ContainsFunc(p.Matters, func(m Matter) bool { return m.Open })
	return none && slices.ContainsFunc(p.Matters, func(m Matter) bool { return m.Acknowledged != nil && !m.Within })
}

// acknowledged describes the acknowledgements of the payout.
func (p Payout) acknowledged() []string {
	var all []string
	for _, m := range p.Matters {
		a := m.Acknowledged
		if a == nil {
			continue
		}
		what := "the " + term.Spaced(a.Kind) + " of " + withCurrency(a.Currency, a.Amount.Abs())
		if a.Amount.IsZero() {
			what = "that it is " + term.Spaced(a.Kind)
		}
		text := fmt.Sprintf("%s acknowledged %s as %s on %s", a.By, what, term.Spaced(a.Reason),
			a.At.UTC().Format(time.DateOnly))
		if a.Note != "" {
			text += " (" + a.Note + ")"
		}
		switch {
		case !m.Open:
		case m.Moved.IsZero():
			text += ", and it has changed since"
		default:
			text += ", and it has moved by " + withCurrency(a.Currency, m.Moved) + " since"
		}
		all = append(all, text)
	}
	return all
}
