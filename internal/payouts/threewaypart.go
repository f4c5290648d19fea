package payouts

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// PayoutThreeWay returns the part of NewThreeWay that is about one payout.
func PayoutThreeWay(ctx context.Context, w *warehouse.Warehouse, account string, payout int64) (ThreeWay, error) {
	t := ThreeWay{Account: account}
	var err error
	if t.MadeAt, err = w.Now(ctx); err != nil {
		return t, err
	}
	imported, err := w.CountSettlements(ctx, account)
	if err != nil {
		return t, err
	}
	t.Imported = int(imported)
	if t.Payouts, err = w.ThreeWaysOfPayout(ctx, account, payout); err != nil {
		return t, err
	}
	if t.Settlements, err = w.SettlementsOfPayout(ctx, account, payout); err != nil || len(t.Settlements) == 0 {
		return t, err
	}
	var references []string
	for _, s := range t.Settlements {
		references = append(references, s.Reference)
	}
	t.Revisions, err = w.RevisionsOfSettlements(ctx, account, references)
	return t, err
}

// MonthThreeWay returns the part of NewThreeWay that is about a month: the payouts that its statement pays out, with
// all their settlements, and the settlements of this month that belong to no known payout.
func MonthThreeWay(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time) (ThreeWay, error) {
	end := month.AddDate(0, 1, 0)
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return ThreeWay{}, err
	}
	ids, err := w.PayoutsOf(ctx, account, month, end, closes)
	if err != nil {
		return ThreeWay{}, err
	}
	t, err := NewThreeWay(ctx, w, account)
	return t.of(ids, func(s warehouse.Settlement) bool {
		return (s.MatchedBy == "" || len(s.NotLoaded) > 0) && !s.ReceivedOn.Before(month) && s.ReceivedOn.Before(end)
	}), err
}

// of returns the part about some payouts, with their settlements and those for which others returns true.
func (t ThreeWay) of(payouts []int64, others func(warehouse.Settlement) bool) ThreeWay {
	one := ThreeWay{MadeAt: t.MadeAt, Account: t.Account, Imported: t.Imported}
	for _, p := range t.Payouts {
		if slices.Contains(payouts, p.Payout) {
			one.Payouts = append(one.Payouts, p)
		}
	}
	references := map[string]bool{}
	for _, s := range t.Settlements {
		if others(s) || slices.ContainsFunc(s.Payouts, func(id int64) bool { return slices.Contains(payouts, id) }) {
			one.Settlements = append(one.Settlements, s)
			references[s.Reference] = true
		}
	}
	for _, s := range t.Revisions {
		if references[s.Reference] {
			one.Revisions = append(one.Revisions, s)
		}
	}
	return one
}

// AlignThreeWay returns the alignment of a table of what payouts earned, what they paid out, and what arrived.
func AlignThreeWay(in Medium, all []warehouse.ThreeWay) *Alignment {
	a := NewAlignment(in)
	for _, p := range all {
		for column, amount := range ThreeWayAmounts(p) {
			a.Note(column, p.Currency, amount)
		}
	}
	return a
}

// AlignSettlements returns the alignment of a table of settlements.
func AlignSettlements(in Medium, all []warehouse.Settlement) *Alignment {
	a := NewAlignment(in)
	for _, s := range all {
		a.Note("amount", s.Currency, s.Amount)
		a.Note("fee", s.Currency, s.Fee)
	}
	return a
}

// ThreeWayAmounts returns the amounts of a payout by the names of their columns.
func ThreeWayAmounts(p warehouse.ThreeWay) map[string]decimal.Decimal {
	return map[string]decimal.Decimal{"earned": p.Earned, "paid out": p.PaidOut, "received": p.Received, "fees": p.Fees,
		"converted": p.Converted, "rounding": p.Rounding, "outstanding": p.Outstanding}
}

// Arrived returns what reached the bank with a settlement, in words: EUR 63.50, of USD 70.00, after EUR 0.50 of fees.
func Arrived(s warehouse.Settlement) string {
	text := s.Currency + " " + term.Grouped(MoneyIn(s.Currency, s.Amount))
	if sent := Sent(s); sent != "" {
		text += ", of " + sent
	}
	if !s.Fee.IsZero() {
		text += ", after " + withCurrency(s.Currency, s.Fee) + " of fees"
	}
	return text
}
