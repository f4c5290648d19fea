package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// PayoutFilter narrows what is read about payouts. Zero values do not narrow it.
type PayoutFilter struct {
	Account string
	// Since leaves out payouts whose period ended before it, and transactions sold before it. A row without such a time
	// is kept: nobody can tell that it is older.
	Since time.Time
	// Payout is the id of the only payout to read.
	Payout *int64
}

// PayoutTotals returns the names of the totals of a payout, in the order of Payout.Reported.
func PayoutTotals() []string {
	return []string{
		"total_transactions", "total_gmv", "aov", "total_cashback",
		"confirmed_transactions", "declined_transactions", "pending_transactions",
		"confirmed_gmv", "declined_gmv", "pending_gmv",
		"confirmed_cashback", "declined_cashback", "pending_cashback",
	}
}

// Payout is one row of payout_reconciliation, whose columns say what each field means. The totals are in the order of
// PayoutTotals; nil is a total that the service did not send, or that has no value.
type Payout struct {
	Account                                     string
	ID                                          int64
	Start, End                                  *time.Time
	Verdict                                     string
	Mismatches, Currencies                      []string
	MixedCurrency, Altered                      bool
	AlteredColumns, AlteredBefore, AlteredAfter []string
	AlteredAt                                   *time.Time
	FirstSeenAt                                 time.Time
	CompleteTo                                  *time.Time
	TransactionsReported                        *int64
	Loaded, Changed, Moved, Gone, Late          uint64
	AtStake                                     decimal.Decimal
	AtStakeBy                                   []decimal.Decimal
	Reported, Stamped, AsOfNow, Difference      []*decimal.Decimal
}

// Payouts reads the reconciliation of payouts, the newest of each account first.
func (r Reader) Payouts(ctx context.Context, f PayoutFilter) ([]Payout, error) {
	where, args := f.conditions("end_date", "payout_id")
	rows, err := r.retrying.Query(ctx, selectPayouts(where), args...)
	all, err := scanned(rows, err, func(p *Payout) []any {
		into := []any{&p.Account, &p.ID, &p.Start, &p.End, &p.Verdict, &p.Mismatches, &p.Currencies, &p.MixedCurrency,
			&p.Altered, &p.AlteredColumns, &p.AlteredBefore,
			&p.AlteredAfter, &p.AlteredAt, &p.FirstSeenAt, &p.CompleteTo, &p.TransactionsReported,
			&p.Loaded, &p.Changed, &p.Moved, &p.Gone, &p.Late, &p.AtStake}
		p.AtStakeBy = make([]decimal.Decimal, len(StakeStates()))
		for i := range p.AtStakeBy {
			into = append(into, &p.AtStakeBy[i])
		}
		for _, totals := range []*[]*decimal.Decimal{&p.Reported, &p.Stamped, &p.AsOfNow, &p.Difference} {
			*totals = make([]*decimal.Decimal, len(PayoutTotals()))
			for i := range *totals {
				into = append(into, &(*totals)[i])
			}
		}
		return into
	})
	if err != nil {
		return nil, fmt.Errorf("reconciling the payouts: %w", err)
	}
	return all, nil
}

// PayoutTransaction is one row of payout_transactions.
type PayoutTransaction struct {
	Account                            string
	Payout                             int64
	ID                                 uuid.UUID
	SoldAt                             *time.Time
	Retailer, Currency, State          string
	StampedStatus                      string
	StampedOrderValue, StampedCashback *decimal.Decimal
	StampedAt                          *time.Time
	FirstKnown                         bool
	Status                             string
	OrderValue, Cashback               *decimal.Decimal
	PayoutNow                          *int64
	ChangedAt                          *time.Time
	AtStake                            decimal.Decimal
}

// fields are what payoutTransactionColumns are read into.
func (t *PayoutTransaction) fields() []any {
	return []any{&t.Account, &t.Payout, &t.ID, &t.SoldAt, &t.Retailer, &t.Currency, &t.State, &t.StampedStatus,
		&t.StampedOrderValue, &t.StampedCashback,
		&t.StampedAt, &t.FirstKnown, &t.Status, &t.OrderValue, &t.Cashback, &t.PayoutNow, &t.ChangedAt, &t.AtStake}
}

// PayoutTransactions returns the transactions of a payout: those that changed come first, then those that were stamped
// last. Among the changed ones, the largest amounts come first.
func (r Reader) PayoutTransactions(ctx context.Context, f PayoutFilter) (all []PayoutTransaction, err error) {
	err = r.EachPayoutTransaction(ctx, f, func(t PayoutTransaction) error {
		all = append(all, t)
		return nil
	})
	return all, err
}

// EachPayoutTransaction calls do for each transaction that PayoutTransactions returns.
func (r Reader) EachPayoutTransaction(ctx context.Context, f PayoutFilter, do func(PayoutTransaction) error) error {
	where, args := f.conditions("sold_at", "payout_id")
	rows, err := r.retrying.Query(ctx, selectPayoutTransactions(where), args...)
	if err := each(rows, err, (*PayoutTransaction).fields, do); err != nil {
		return fmt.Errorf("reading the transactions of the payout: %w", err)
	}
	return nil
}

// OrphanGroup is what payout_orphans says about one missing payout, in one currency.
type OrphanGroup struct {
	Account      string
	Payout       int64
	Currency     string
	Transactions uint64
	Cashback     decimal.Decimal // of those that are not declined
	WasListed    bool
	Certain      bool
}

// PayoutOrphans returns the payouts that transactions name and that do not exist.
func (r Reader) PayoutOrphans(ctx context.Context, f PayoutFilter) ([]OrphanGroup, error) {
	where, args := f.conditions("sold_at", "payout_id")
	rows, err := r.retrying.Query(ctx, selectPayoutOrphans(where), args...)
	all, err := scanned(rows, err, func(o *OrphanGroup) []any {
		return []any{&o.Account, &o.Payout, &o.Currency, &o.Transactions, &o.Cashback, &o.WasListed, &o.Certain}
	})
	if err != nil {
		return nil, fmt.Errorf("looking for transactions without their payout: %w", err)
	}
	return all, nil
}

// OverdueGroup is what is overdue of the sales of one month in one currency.
type OverdueGroup struct {
	Account      string
	Month        string // of the sales, as 2026-03
	Currency     string
	Transactions uint64
	Cashback     decimal.Decimal
	OldestSale   time.Time
}

// PayoutOverdue reads what should have been paid: sold longer ago than after, by the clock of the service.
func (r Reader) PayoutOverdue(ctx context.Context, f PayoutFilter, after time.Duration) ([]OverdueGroup, error) {
	where, args := f.conditions("sold_at", "")
	args = append(args, named("after", fmt.Sprint(int64(after.Seconds()))))
	rows, err := r.retrying.Query(ctx, selectPayoutOverdue(where), args...)
	all, err := scanned(rows, err, func(o *OverdueGroup) []any {
		return []any{&o.Account, &o.Month, &o.Currency, &o.Transactions, &o.Cashback, &o.OldestSale}
	})
	if err != nil {
		return nil, fmt.Errorf("looking for transactions that should have been paid: %w", err)
	}
	return all, nil
}
