package payouts

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Counts is what a reconciliation found, in numbers: metrics show them for each account.
type Counts struct {
	ByVerdict     map[string]int // payouts; it has every verdict, even if no payout has it
	Altered       int            // payouts
	MixedCurrency int            // payouts
	Orphans       int            // transactions that are certainly orphans
	Overdue       int            // transactions
}

// AfterSync reconciles an account, stores what it found, and logs and returns each new finding (a finding is logged
// once). The findings of the first time are logged as one line, because they may have accumulated over years. of names
// the account and the rules.
func AfterSync(ctx context.Context, w *warehouse.Warehouse, log *slog.Logger,
	of Filter) (Reconciliation, []warehouse.Finding, error) {
	account := of.Account
	w = w.At(account)
	r, err := Reconcile(ctx, w, of)
	if err != nil {
		return r, nil, err
	}
	known, err := w.HasFindings(ctx, account)
	if err != nil {
		return r, nil, err
	}
	fresh, err := w.RecordFindings(ctx, account, r.findings())
	if !known && len(fresh) > 1 {
		log.Warn("payouts: "+summaryOf(fresh)+"; `dealhouse reconcile --account "+account+"` lists them", "account", account,
			"findings", len(fresh))
		return r, fresh, err
	}
	for _, f := range fresh {
		log.Warn("payouts: "+f.Detail, "account", f.Account, "finding", f.Kind, "subject", f.Subject)
	}
	return r, fresh, err
}

// summaryOf counts findings by kind, in the order in which the kinds occur: "3 findings: 2 drifted and 1 overdue".
func summaryOf(all []warehouse.Finding) string {
	var kinds []string
	times := map[string]int{}
	for _, f := range all {
		if times[f.Kind]++; times[f.Kind] == 1 {
			kinds = append(kinds, f.Kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", times[kind], term.Spaced(kind))
	}
	return term.Plural(uint64(len(all)), "finding") + ": " + term.List(kinds)
}

// Counts counts what was found.
func (r Reconciliation) Counts() Counts {
	c := Counts{ByVerdict: map[string]int{}}
	for _, v := range Verdicts() {
		c.ByVerdict[v] = 0
	}
	for _, p := range r.Payouts {
		c.ByVerdict[p.Verdict]++
		c.Altered += count(p.Altered)
		c.MixedCurrency += count(p.MixedCurrency)
	}
	for _, o := range r.Orphans {
		if o.Certain {
			c.Orphans += int(o.Transactions)
		}
	}
	for _, o := range r.Overdue {
		c.Overdue += int(o.Transactions)
	}
	return c
}

// Unsettled reports whether something is uncertain that the next run of payouts may decide.
func (r Reconciliation) Unsettled() bool {
	return slices.ContainsFunc(r.Orphans, func(o warehouse.OrphanGroup) bool { return !o.Certain })
}

// findings returns what a person should know, one finding for each reason. A transaction whose payout may come with the
// next sync is no finding yet. Numbers that grow every day are left out of the text, because a different text would
// make the finding new (a finding is logged once).
func (r Reconciliation) findings() []warehouse.Finding {
	var all []warehouse.Finding
	for _, p := range r.Payouts {
		for _, kind := range p.Kinds() {
			all = append(all, warehouse.Finding{Account: p.Account, Kind: kind, Subject: strconv.FormatInt(p.ID, 10),
				Detail: p.detail(kind)})
		}
	}
	for _, o := range r.Orphans {
		if o.Certain {
			all = append(all, warehouse.Finding{Account: o.Account, Kind: Orphan, Subject: strconv.FormatInt(o.Payout, 10),
				Detail: transactionsIn(o.Currency) + " carry " + orphanWords(o)})
		}
	}
	for _, o := range r.Overdue {
		all = append(all, warehouse.Finding{Account: o.Account, Kind: Overdue, Subject: o.Month,
			Detail: transactionsIn(o.Currency) + " sold in " + o.Month + " are " + r.overdueWords()})
	}
	return all
}

// detail returns a finding about a payout in words.
func (p Payout) detail(kind string) string {
	text := "payout " + strconv.FormatInt(p.ID, 10) + " "
	switch kind {
	case Altered:
		return text + "is altered: " + p.alterations()
	case MixedCurrency:
		return text + "adds up " + strings.Join(p.Currencies, " and ")
	}
	return text + "is " + p.Verdict + ": " + p.verdictAdvice()
}
