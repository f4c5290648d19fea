package report

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/wording"
)

// Verdicts of a payout, as the view payout_reconciliation gives them.
const (
	Matched        = "matched"
	Drifted        = "drifted"
	Missing        = "missing"
	Mismatched     = "mismatched"
	NoTransactions = "no_transactions"
)

// Kinds of findings beside the verdicts missing, mismatched and drifted.
const (
	Altered       = "altered"
	MixedCurrency = "mixed_currency"
	Orphan        = "orphan"
	Overdue       = "overdue"
)

// Verdicts are all verdicts, from the best to the worst.
func Verdicts() []string { return []string{Matched, Drifted, NoTransactions, Missing, Mismatched} }

// Filter says what a reconciliation is about; zero values do not narrow it.
type Filter struct {
	Account string
	// Since leaves out payouts whose period ended before it, and transactions sold before it. What has no such time is
	// kept.
	Since time.Time
	// Payout is the id of the only payout to look at, with its transactions.
	Payout *int64
	// WithoutTransactions leaves the transactions of that payout to WriteTransactionsCSV.
	WithoutTransactions bool
	// OverdueAfter is how old a sale is that should have been paid; default catalog.DefaultOverdueAfter.
	OverdueAfter time.Duration
	// Tolerances are how much a payout and its transactions may differ before somebody has to look; default none.
	Tolerances finance.Tolerances
}

// Reconciliation is what there is to know about payouts at a time.
type Reconciliation struct {
	MadeAt       time.Time // by the clock of the warehouse
	Filter       Filter
	Payouts      []Payout // by account, newest first
	Orphans      []warehouse.OrphanGroup
	Overdue      []warehouse.OverdueGroup
	Transactions []warehouse.PayoutTransaction // of Filter.Payout
}

// Payout is one payout against its transactions.
type Payout struct {
	warehouse.Payout
	Explained finance.Explanation // what it paid, and what became of that
	Matters   []Matter            // what there is to look at, or was

	exceptions   []warehouse.PaidTransaction
	paid         map[uuid.UUID]warehouse.PaidTransaction // the same, by their ids
	currencySums []finance.CurrencySums
	found        []Exception
	foundBy      map[uuid.UUID]int    // where each is in found
	unsure       bool                 // how much was paid is not known for all transactions
	told         map[uuid.UUID]string // how transactions stood when they were paid, if not as they were first loaded
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
	// A payout that is there has none: they carry the id of one that is not.
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

// total finds a total of a payout by its name.
func total(totals []*decimal.Decimal, name string) *decimal.Decimal {
	for i, n := range warehouse.PayoutTotals() {
		if n == name {
			return totals[i]
		}
	}
	return nil
}

// ReportedCashback is total_cashback as the payout has it; nil when it has none.
func (p Payout) ReportedCashback() *decimal.Decimal { return total(p.Reported, "total_cashback") }

// RecomputedCashback is total_cashback of its transactions as first loaded with the payout's id.
func (p Payout) RecomputedCashback() *decimal.Decimal { return total(p.Stamped, "total_cashback") }

// CashbackDifference is how much the payout reports more than its transactions had.
func (p Payout) CashbackDifference() *decimal.Decimal { return total(p.Difference, "total_cashback") }

// NeedsWork reports whether finance has something to do.
func (r Reconciliation) NeedsWork() bool { return len(r.findings()) > 0 }

// NoPayout says that there is no payout of an id. It is a *RefusedError.
func NoPayout(id int64) error {
	return refused(NotThere, "there is no payout %d in the warehouse: `dealhouse reconcile` lists those there are", id)
}

// One is the payout of a reconciliation of one id. It is refused if there is none, or one of several accounts: its error
// is a *RefusedError.
func (r Reconciliation) One(id int64) (Payout, error) {
	switch len(r.Payouts) {
	case 0:
		return Payout{}, NoPayout(id)
	case 1:
		return r.Payouts[0], nil
	}
	return Payout{}, refused(Unreadable, "%s have a payout %d: say which account is meant", wording.List(r.Accounts()), id)
}

// Accounts are the accounts that it knows something about, sorted.
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

// Of is the part of it that is about one account.
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

// Count is the number of payouts with a verdict.
func (r Reconciliation) Count(verdict string) int {
	n := 0
	for _, p := range r.Payouts {
		if p.Verdict == verdict {
			n++
		}
	}
	return n
}

// sums adds up amounts by currency (report-2), in the order in which the currencies came.
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
