package payouts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Verdicts of a payout, as the view payout_reconciliation gives them.
const (
	Matched        = "matched"
	Drifted        = "drifted"
	Missing        = "missing"
	Mismatched     = "mismatched"
	NoTransactions = "no_transactions"
)

// Kinds of findings, in addition to the verdicts missing, mismatched and drifted.
const (
	Altered       = "altered"
	MixedCurrency = "mixed_currency"
	Orphan        = "orphan"
	Overdue       = "overdue"
)

// Verdicts returns all verdicts, from the best to the worst.
func Verdicts() []string { return []string{Matched, Drifted, NoTransactions, Missing, Mismatched} }

// Filter says what a reconciliation is about. A zero value leaves nothing out.
type Filter struct {
	Account string
	// Since leaves out payouts whose period ended before it, and transactions sold before it. Those
	// without such a time are kept.
	Since time.Time
	// Payout is the id of the only payout to look at, with its transactions.
	Payout *int64
	// WithoutTransactions leaves the transactions of that payout to WriteTransactionsCSV.
	WithoutTransactions bool
	// OverdueAfter is the age from which on a sale should have been paid; default catalog.DefaultOverdueAfter.
	OverdueAfter time.Duration
	// Tolerances says how much a payout and its transactions may differ before somebody has to look; default none.
	Tolerances finance.Tolerances
}

// Reconciliation is what is known about payouts at a time.
type Reconciliation struct {
	MadeAt       time.Time // by the clock of the warehouse
	Filter       Filter
	Payouts      []Payout // by account, newest first
	Orphans      []warehouse.OrphanGroup
	Overdue      []warehouse.OverdueGroup
	Transactions []warehouse.PayoutTransaction // of Filter.Payout
}

// Payout is one payout, compared with its transactions.
type Payout struct {
	warehouse.Payout
	Explained finance.Explanation // what it paid, and what that is worth now
	Matters   []Matter            // what a person has to look at, or has acknowledged

	exceptions   []warehouse.PaidTransaction
	paid         map[uuid.UUID]warehouse.PaidTransaction // the same by their ids
	currencySums []finance.CurrencySums
	found        []Exception
	foundBy      map[uuid.UUID]int    // the index of each in found
	unsure       bool                 // for some transactions it is not known what was paid
	told         map[uuid.UUID]string // status of transactions when they were paid, if not as first loaded
}

// Reconcile compares payouts with their transactions.
func Reconcile(ctx context.Context, w *warehouse.Warehouse, f Filter) (Reconciliation, error) {
	if f.OverdueAfter <= 0 {
		f.OverdueAfter = catalog.DefaultOverdueAfter
	}
	r := Reconciliation{Filter: f}
	narrow := warehouse.PayoutFilter{Account: f.Account, Since: f.Since, Payout: f.Payout}
	var err error
	if r.MadeAt, err = w.Now(ctx); err != nil {
		return r, err
	}
	payouts, err := w.Payouts(ctx, narrow)
	if err != nil {
		return r, err
	}
	for _, p := range payouts {
		r.Payouts = append(r.Payouts, Payout{Payout: p})
	}
	if err := r.explainAll(ctx, w); err != nil {
		return r, err
	}
	if err := r.readAcknowledgements(ctx, w); err != nil {
		return r, err
	}
	// Orphans have the id of a payout that does not exist, so a payout that exists has none.
	if there := f.Payout != nil && f.Account != "" && len(payouts) > 0; !there {
		if r.Orphans, err = w.PayoutOrphans(ctx, narrow); err != nil {
			return r, err
		}
	}
	if f.Payout != nil {
		if !f.WithoutTransactions {
			r.Transactions, err = w.PayoutTransactions(ctx, r.paidTransactions())
		}
		return r, err
	}
	r.Overdue, err = w.PayoutOverdue(ctx, narrow, f.OverdueAfter)
	return r, err
}

// paidTransactions returns the transactions of the requested payout, whenever they were sold.
func (r Reconciliation) paidTransactions() warehouse.PayoutFilter {
	return warehouse.PayoutFilter{Account: r.Filter.Account, Payout: r.Filter.Payout}
}

// total returns a total of a payout by its name.
func total(totals []*decimal.Decimal, name string) *decimal.Decimal {
	for i, n := range warehouse.PayoutTotals() {
		if n == name {
			return totals[i]
		}
	}
	return nil
}

// ReportedCashback returns total_cashback as the payout has it; nil if it has none.
func (p Payout) ReportedCashback() *decimal.Decimal { return total(p.Reported, "total_cashback") }

// RecomputedCashback returns total_cashback of its transactions as first loaded with the payout's id.
func (p Payout) RecomputedCashback() *decimal.Decimal { return total(p.Stamped, "total_cashback") }

// NeedsWork reports whether a person has something to do.
func (r Reconciliation) NeedsWork() bool { return len(r.findings()) > 0 }

// NoPayout says that there is no payout of an id. It is a *RefusedError.
func NoPayout(id int64) error {
	return refused(NotThere, "there is no payout %d in the warehouse: `dealhouse reconcile` lists those there are", id)
}

// One returns the payout of a reconciliation of one id. If there is none, or several accounts have one, the error
// is a *RefusedError.
func (r Reconciliation) One(id int64) (Payout, error) {
	switch len(r.Payouts) {
	case 0:
		return Payout{}, NoPayout(id)
	case 1:
		return r.Payouts[0], nil
	}
	return Payout{}, refused(Unreadable, "%s have a payout %d: say which account is meant", term.List(r.Accounts()), id)
}

// Accounts returns the accounts that it knows something about, sorted.
func (r Reconciliation) Accounts() []string {
	all := map[string]bool{}
	for _, p := range r.Payouts {
		all[p.Account] = true
	}
	for _, o := range r.Orphans {
		all[o.Account] = true
	}
	for _, o := range r.Overdue {
		all[o.Account] = true
	}
	return sorted(all)
}

// Of returns the part that is about one account.
func (r Reconciliation) Of(account string) Reconciliation {
	part := Reconciliation{MadeAt: r.MadeAt, Filter: r.Filter}
	part.Filter.Account = account
	for _, p := range r.Payouts {
		if p.Account == account {
			part.Payouts = append(part.Payouts, p)
		}
	}
	for _, o := range r.Orphans {
		if o.Account == account {
			part.Orphans = append(part.Orphans, o)
		}
	}
	for _, o := range r.Overdue {
		if o.Account == account {
			part.Overdue = append(part.Overdue, o)
		}
	}
	for _, t := range r.Transactions {
		if t.Account == account {
			part.Transactions = append(part.Transactions, t)
		}
	}
	return part
}

// Count returns the number of payouts with a verdict.
func (r Reconciliation) Count(verdict string) int {
	n := 0
	for _, p := range r.Payouts {
		if p.Verdict == verdict {
			n++
		}
	}
	return n
}

// sums adds up amounts by currency (currencies are never added up), in the order in which the currencies first
// occurred.
type sums struct {
	order []string
	by    map[string]decimal.Decimal
}

func (s *sums) add(currency string, amount decimal.Decimal) {
	if s.by == nil {
		s.by = map[string]decimal.Decimal{}
	}
	if _, known := s.by[currency]; !known {
		s.order = append(s.order, currency)
	}
	s.by[currency] = s.by[currency].Add(amount)
}
