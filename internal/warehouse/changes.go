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

// EachChange calls do for each change of an account's transactions that counts at from or later, but earlier than
// before. The changes come transaction by transaction, then currency by currency, and within these in the order in
// which they count. Age is that of the sale at the end of the period. The changes are not kept in memory, so there may
// be any number of them.
func (r Reader) EachChange(ctx context.Context, account string, from, before time.Time, closes []Close,
	do func(Change) error) error {
	rows, err := r.retrying.Query(ctx, selectEachChange(closes), named("account", account),
		named("from", fmt.Sprint(from.UnixMilli())), named("to", fmt.Sprint(before.UnixMilli())))
	err = each(rows, err, func(c *Change) []any {
		return []any{&c.Currency, &c.Late, &c.Age, &c.Sale, &c.StatusBefore, &c.Status, &c.InPayout, &c.IntoPayout,
			&c.SamePayout, &c.FirstPaid, &c.ListedBefore, &c.Listed,
			&c.CashbackBefore, &c.Cashback, &c.ID, &c.At, &c.SeenAt, &c.SoldAt, &c.Retailer, &c.Payout}
	}, do)
	if err != nil {
		return fmt.Errorf("reading the changes of the transactions of account %s: %w", account, err)
	}
	return nil
}

// ofSales names the stream of the sales, its view and its tables, as statements need them.
var ofSales = func() parts {
	s := catalog.Transactions()
	return parts{"sales": s.Name, "stream": quote(s.Name), "latest": latestTable(s), "versions": versionsTable(s)}
}()

// dueOf returns an expression for the first day of the month in which a sale is paid. At the beginning of a month,
// services pay the sales that are more than 90 days old.
func dueOf(soldAt string) string {
	return "addMonths(toStartOfMonth(" + soldAt + " + toIntervalDay(90)), 1)"
}

// selectChanges selects the changes of an account's transactions that count in a month, in the order in which they
// count. Parameters: account, and from and to in milliseconds.
func selectChanges(closes []Close) string {
	return sql(`SELECT currency_code, late, sale = 1, status_before, status, payout_id_before IS NOT NULL,
    payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN ($since))
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY effective, id, sale DESC`, parts{"effective": effective(closes), "since": changedSince(closes)})
}

// selectPayoutsOf selects the payouts that an account's transactions entered by changes that count in a month, if they
// were in none before: those of the entry "paid out". What was worth nothing is left out, as there. Parameters:
// account, and from and to in milliseconds.
func selectPayoutsOf(closes []Close) string {
	return sql(`SELECT DISTINCT assumeNotNull(payout_id) AS payout
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN ($since))
WHERE effective >= {from:Int64} AND effective < {to:Int64} AND sale = 0 AND late = 0 AND payout_id_before IS NULL AND payout_id IS NOT NULL
    AND status != $declined AND cashback != 0 AND (listed = 1 OR listed_before = 1)
ORDER BY payout`, parts{"effective": effective(closes), "since": changedSince(closes),
		"declined": quote(catalog.StatusDeclined)})
}

// selectPaidBefore adds up what transactions were worth when they first entered payouts, by changes that count before a
// time: finance.Change has the same rule. Parameters: account, and before in milliseconds.
func selectPaidBefore(payouts []int64, closes []Close) string {
	return sql(`SELECT assumeNotNull(payout_id) AS payout, toString(currency_code), sum(cashback)
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND payout_id IN ($ids))
WHERE effective < {before:Int64} AND sale = 0 AND first_paid = 1 AND ifNull(payout_id != payout_id_before, 1)
    AND status != $declined AND (listed = 1 OR listed_before = 1)
GROUP BY payout, currency_code`, parts{"effective": effective(closes), "ids": numbers(payouts),
		"declined": quote(catalog.StatusDeclined)})
}

// selectEachChange selects the same with the age of each sale: transaction by transaction, then currency by currency.
// Parameters: account, and from and to in milliseconds.
func selectEachChange(closes []Close) string {
	return sql(`SELECT currency_code, late, $age AS age, sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, $effective, dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days
    FROM transaction_changes WHERE account = {account:String})
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY id, currency_code, effective, sale DESC`, parts{"effective": effective(closes), "age": ageOfDays()})
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

// selectCloses selects the closed months of an account, the earliest first. Parameter: account.
const selectCloses = `SELECT account, toDateTime64(month, 3, 'UTC'), closed_at, id, seen_to, statement, hash, by, note
FROM statement_closes WHERE account = {account:String} ORDER BY month`

// selectSeenTo returns when the last run of transactions that succeeded ended, and up to which updatedAt they are
// complete. Parameter: account.
var selectSeenTo = sql(`SELECT (SELECT max(finished_at) FROM sync_runs WHERE account = {account:String} AND stream = $stream AND outcome = $success),
    (SELECT max(complete_to) FROM service_clock WHERE account = {account:String})`,
	ofSales.with(parts{"success": quote(OutcomeSuccess)}))

// changedSince selects all transactions with a change that counts at from or later. It may select more.
func changedSince(closes []Close) string {
	return sql("SELECT cityHash64(id) FROM $versions WHERE account = {account:String} AND greatest($changed, $seen) >= {from:Int64}",
		ofSales.with(parts{"changed": changedAt, "seen": maybeSeen(closes, changedAt)}))
}

// maybeSeen returns the time at which a version was loaded, if its changes may count at that time: it is after the
// first close. Else it returns the parameter otherwise.
func maybeSeen(closes []Close, otherwise string) string {
	if len(closes) == 0 {
		return otherwise
	}
	first := closes[0].SeenTo
	for _, c := range closes {
		if c.SeenTo.Before(first) {
			first = c.SeenTo
		}
	}
	return sql("if(toUnixTimestamp64Milli(synced_at) > $first, toUnixTimestamp64Milli(synced_at), $otherwise)",
		parts{"first": fmt.Sprint(first.UnixMilli()), "otherwise": otherwise})
}

// changedBefore selects all transactions with a change that counts before to. It may select more. A sale counts at the
// time of the sale.
func changedBefore(closes []Close) string {
	return sql(`SELECT cityHash64(id) FROM $versions
WHERE account = {account:String} AND least($changed, ifNull(toUnixTimestamp64Milli(sold_at), $changed), $seen) < {to:Int64}`,
		ofSales.with(parts{"changed": changedAt, "seen": maybeSeen(closes, changedAt)}))
}

// changedAt is when a version changed its transaction [ms since 1970], as transaction_changes has it.
const changedAt = "toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at)))"
