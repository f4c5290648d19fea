package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// ofSales names the stream of the sales, its view and its tables, as statements need them.
var ofSales = func() parts {
	name := catalog.Transactions().Name
	return parts{"sales": name, "stream": quote(name), "latest": name + "_latest", "versions": name + "_versions"}
}()

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

// dueOf returns an expression for the first day of the month in which a sale is paid. At the beginning of a month,
// services pay the sales that are more than 90 days old.
func dueOf(soldAt string) string {
	return "addMonths(toStartOfMonth(" + soldAt + " + toIntervalDay(90)), 1)"
}

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
	rows, err := r.conn.Query(ctx, selectChanges(closes), named("account", account),
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

func selectChanges(closes []Close) string {
	return sql(`SELECT currency_code, late, sale = 1, status_before, status, payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN ($since))
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY effective, id, sale DESC`, parts{"effective": effective(closes), "since": changedSince(closes)})
}

// effective returns two columns for a change: late, and effective, the time at which the change counts
// (see ChangeSums).
func effective(closes []Close) string {
	seen := "9999999999999" // milliseconds: never
	for _, c := range closes {
		seen += fmt.Sprintf(", if(at < fromUnixTimestamp64Milli(%d, 'UTC'), %d, 9999999999999)",
			c.Month.AddDate(0, 1, 0).UnixMilli(), c.SeenTo.UnixMilli())
	}
	return sql("toUnixTimestamp64Milli(seen_at) > arrayMin([$seen]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective", parts{"seen": seen})
}

// ageOfDays returns an expression for ChangeSum.Age that reads a column days.
func ageOfDays() string {
	var ages []string
	for i, days := range Ages() {
		ages = append(ages, fmt.Sprintf("days <= %d, %d", days, i))
	}
	return sql("multiIf(isNull(days), $unknown, $ages, $more)",
		parts{"ages": strings.Join(ages, ", "), "more": fmt.Sprint(len(ages)), "unknown": fmt.Sprint(len(ages) + 1)})
}

// Closes returns the closed months of an account, the earliest first.
func (r Reader) Closes(ctx context.Context, account string) ([]Close, error) {
	rows, err := r.conn.Query(ctx, `SELECT account, toDateTime64(month, 3, 'UTC'), closed_at, id, seen_to, statement, hash, by, note
FROM statement_closes WHERE account = {account:String} ORDER BY month`, named("account", account))
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
	err = r.conn.QueryRow(ctx, sql(`SELECT (SELECT max(finished_at) FROM sync_runs WHERE account = {account:String} AND stream = $stream AND outcome = $success),
    (SELECT max(complete_to) FROM service_clock WHERE account = {account:String})`,
		ofSales.with(parts{"success": quote(OutcomeSuccess)})), named("account", account)).Scan(&s, &c)
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
