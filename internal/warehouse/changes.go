package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Close is a row of statement_closes: a month that was closed.
type Close struct {
	Account   string
	Month     time.Time // its first day
	ClosedAt  time.Time
	ID        uuid.UUID
	SeenTo    time.Time
	Statement string // as CSV
	Hash      string
	By, Note  string
}

// ChangeSum sums up equal changes of transactions in one currency. Its fields are columns of transaction_changes.
type ChangeSum struct {
	Currency     string
	Before, Late bool // Before: it counts before the month. Late: it is of a closed month, and was seen in this one
	Age          uint8
	// Due is the month of the payout in which the sale is due, counted from the end of the month: -1 is any earlier
	// payout, 99 also any later one, and NotDue means that there is no time of sale.
	Due                      int8
	Sale                     bool
	StatusBefore, Status     string
	InPayout, IntoPayout     bool
	SamePayout, FirstPaid    bool
	ListedBefore, Listed     bool
	Count                    int64
	CashbackBefore, Cashback decimal.Decimal
}

// Ages returns the upper bounds of the age groups, in days from the sale to the end of the month. ChangeSum.Age is
// the index of the group. After the groups with a bound come one for older sales and one for changes without a
// time of sale.
func Ages() []int { return []int{30, 60, 90, 120} }

// NotDue is ChangeSum.Due of transactions without a time of sale. It is above all other values.
const NotDue = 100

// Change is a row of transaction_changes.
type Change struct {
	ChangeSum
	ID         uuid.UUID
	At, SeenAt time.Time
	SoldAt     *time.Time
	Retailer   string
	Payout     *int64
}

// Changes returns the changes of an account's transactions that count in a month, in the order in which they count.
// ChangeSums says when a change counts, and adds up the same changes.
func (r Reader) Changes(ctx context.Context, account string, from, to time.Time,
	closes []Close) (all []Change, err error) {
	err = r.EachChangeInOrder(ctx, account, from, to, closes, func(c Change) error {
		all = append(all, c)
		return nil
	})
	return all, err
}

// EachChangeInOrder calls do for each row of Changes.
func (r Reader) EachChangeInOrder(ctx context.Context, account string, from, to time.Time, closes []Close,
	do func(Change) error) error {
	rows, err := r.retrying.Query(ctx, selectChanges(closes), named("account", account),
		named("from", fmt.Sprint(from.UnixMilli())), named("to", fmt.Sprint(to.UnixMilli())))
	err = each(rows, err, func(c *Change) []any {
		return []any{&c.Currency, &c.Late, &c.Sale, &c.StatusBefore, &c.Status, &c.InPayout,
			&c.IntoPayout, &c.SamePayout, &c.FirstPaid, &c.ListedBefore, &c.Listed,
			&c.CashbackBefore, &c.Cashback, &c.ID, &c.At, &c.SeenAt, &c.SoldAt, &c.Retailer, &c.Payout}
	}, do)
	if err != nil {
		return fmt.Errorf("reading the changes of the transactions of account %s: %w", account, err)
	}
	return nil
}

// PayoutsOf returns the payouts that the statement of a month pays out: those of the changes of finance.PaidOut.
func (r Reader) PayoutsOf(ctx context.Context, account string, from, to time.Time, closes []Close) ([]int64, error) {
	rows, err := r.retrying.Query(ctx, selectPayoutsOf(closes), named("account", account),
		named("from", fmt.Sprint(from.UnixMilli())), named("to", fmt.Sprint(to.UnixMilli())))
	all, err := scanned(rows, err, only[int64])
	if err != nil {
		return nil, fmt.Errorf("reading which payouts of account %s were paid out in a month: %w", account, err)
	}
	return all, nil
}

// PayoutCurrency is a payout in one currency.
type PayoutCurrency struct {
	Payout   int64
	Currency string
}

// PayoutPaid is what transactions were worth when they entered a payout.
type PayoutPaid struct {
	PayoutCurrency
	Paid decimal.Decimal
}

// PaidBefore reads what payouts paid by changes that count before a time.
func (r Reader) PaidBefore(ctx context.Context, account string, payouts []int64, before time.Time,
	closes []Close) ([]PayoutPaid, error) {
	if len(payouts) == 0 {
		return nil, nil
	}
	rows, err := r.retrying.Query(ctx, selectPaidBefore(payouts, closes), named("account", account),
		named("before", fmt.Sprint(before.UnixMilli())))
	all, err := scanned(rows, err, func(p *PayoutPaid) []any { return []any{&p.Payout, &p.Currency, &p.Paid} })
	if err != nil {
		return nil, fmt.Errorf("reading what payouts of account %s paid before a month: %w", account, err)
	}
	return all, nil
}

// Closes returns the closed months of an account, the earliest first.
func (r Reader) Closes(ctx context.Context, account string) ([]Close, error) {
	rows, err := r.retrying.Query(ctx, selectCloses, named("account", account))
	all, err := scanned(rows, err, func(c *Close) []any {
		return []any{&c.Account, &c.Month, &c.ClosedAt, &c.ID, &c.SeenTo, &c.Statement, &c.Hash, &c.By, &c.Note}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which months are closed: %w", err)
	}
	return all, nil
}

// SeenTo returns two times, which are zero if they are not known. Everything that was loaded of an account's
// transactions up to seen is published: it is the end of the last run that succeeded. The transactions are complete up
// to the updatedAt completeTo.
func (r Reader) SeenTo(ctx context.Context, account string) (seen, completeTo time.Time, err error) {
	var s, c *time.Time
	err = r.retrying.QueryRow(ctx, selectSeenTo, named("account", account)).Scan(&s, &c)
	if err != nil {
		return seen, completeTo, fmt.Errorf("reading until when the transactions of account %s are loaded: %w", account,
			err)
	}
	if s != nil {
		seen = s.UTC()
	}
	if c != nil {
		completeTo = c.UTC()
	}
	return seen, completeTo, nil
}

var closeColumns = columns("account String, month Date, closed_at DateTime64(3), id UUID, seen_to DateTime64(3), statement String, hash String, by String, note String")

// CloseMonth stores a close. It sets its ID, and its ClosedAt by the clock of the warehouse.
func (w *Warehouse) CloseMonth(ctx context.Context, c *Close) error {
	w = w.At(c.Account)
	now, err := w.Now(ctx)
	if err != nil {
		return err
	}
	if c.ID, err = uuid.NewV7(); err != nil {
		return fmt.Errorf("making the ID of a close: %w", err)
	}
	c.ClosedAt = now
	err = w.insert(ctx, "statement_closes_log", closeColumns, func(b driver.Batch) error {
		return b.Append(c.Account, c.Month, c.ClosedAt, c.ID, c.SeenTo, c.Statement, c.Hash, c.By, c.Note)
	})
	if err != nil {
		return fmt.Errorf("closing %s of account %s: %w", c.Month.Format("2006-01"), c.Account, err)
	}
	return nil
}
