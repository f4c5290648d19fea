package payouts

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
)

// Match finds out which payouts the settlements of an account settle, and stores what has changed (a match stays). It
// is to be called whenever settlements were imported, or payouts or their transactions loaded.
func Match(ctx context.Context, w *warehouse.Warehouse, account string) error {
	revisions, err := w.SettlementRevisions(ctx, account)
	if err != nil || len(revisions) == 0 {
		return err
	}
	rows, err := w.PayoutsDue(ctx, account)
	if err != nil {
		return err
	}
	until, err := w.PayoutsReadAt(ctx, account)
	if err != nil {
		return err
	}
	matches, err := w.SettlementMatches(ctx, account)
	if err != nil {
		return err
	}
	dues := make([]finance.Due, len(rows))
	for i, d := range rows {
		dues[i] = finance.Due{Payout: d.Payout, Currency: d.Currency, Paid: d.Paid, Stamped: d.Stamped, End: d.End}
	}
	before := map[string]warehouse.SettlementMatch{}
	for _, m := range matches { // the last one counts
		before[m.Reference] = m
	}
	settlements := warehouse.LastRevisions(revisions)
	payments := make([]finance.Payment, len(settlements))
	for i, s := range settlements {
		payments[i] = payment(s)
		if m, is := before[s.Reference]; is && sameSent(revisions, s, m) {
			payments[i].Kept = &finance.Kept{At: m.At, By: m.MatchedBy, Payouts: m.Payouts}
		}
	}
	var changed []warehouse.SettlementMatch
	for i, match := range finance.Pair(dues, payments, until) {
		s := settlements[i]
		now := warehouse.SettlementMatch{Account: account, Reference: s.Reference, Revision: s.Revision, Hash: s.Hash,
			MatchedBy: match.By, Payouts: match.Payouts, Shares: match.Shares, Fees: match.Fees, Rounding: match.Rounding}
		if !same(now, before[s.Reference]) {
			changed = append(changed, now)
		}
	}
	return w.AddSettlementMatches(ctx, account, changed)
}

// payment returns what matters of a settlement when it is matched.
func payment(s warehouse.SettlementRevision) finance.Payment {
	p := finance.Payment{Reference: s.Reference, On: s.ReceivedOn, Currency: s.PayoutCurrency, Amount: s.PayoutAmount,
		Named: s.Payouts}
	if s.Currency == s.PayoutCurrency {
		p.Fee = s.Fee
	}
	p.Words, p.Doubtful = payoutsInWords(s.Reference + " | " + s.Text)
	return p
}

// sameSent reports whether a match was made for what a settlement says was sent, now or before it was corrected.
func sameSent(revisions []warehouse.SettlementRevision, s warehouse.SettlementRevision, m warehouse.SettlementMatch) bool {
	return slices.ContainsFunc(revisions, func(r warehouse.SettlementRevision) bool {
		return r.Reference == m.Reference && r.Revision == m.Revision && r.Hash == m.Hash &&
			r.PayoutCurrency == s.PayoutCurrency && r.PayoutAmount.Equal(s.PayoutAmount)
	})
}

// same reports whether a match is stored already. What was never matched needs no row.
func same(now, before warehouse.SettlementMatch) bool {
	return now.MatchedBy == before.MatchedBy && slices.Equal(now.Payouts, before.Payouts) &&
		(now.MatchedBy == "" || now.Revision == before.Revision && now.Hash == before.Hash) &&
		slices.EqualFunc(now.Shares, before.Shares, decimal.Decimal.Equal) &&
		slices.EqualFunc(now.Fees, before.Fees, decimal.Decimal.Equal) &&
		slices.EqualFunc(now.Rounding, before.Rounding, decimal.Decimal.Equal)
}
