package warehouse

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// UnpaidCohort sums up transactions of one currency that were unpaid at the beginning of a month, had the same status
// and were due in the same payout. A cohort with ToGo -1 is different: it sums up everything that was paid in the month
// Due, whatever it was.
type UnpaidCohort struct {
	Currency     string
	Due          time.Time // first day of the month in which the payout is made
	ToGo         int8      // months from the beginning of that month to Due
	Confirmed    bool
	Count        int64
	Unpaid, Paid decimal.Decimal // cashback: what was unpaid, and how much of that was paid until a month after Due
}

// UnpaidCohorts returns what was unpaid at the beginnings of months, as it was loaded, and what was paid of it, for
// sales at from or later and before to. Transactions that were not loaded yet are not in it. horizon is how many months
// before a payout the cohorts begin. The same cohort may come several times, in parts.
func (r Reader) UnpaidCohorts(ctx context.Context, account string, from, to time.Time,
	horizon int) ([]UnpaidCohort, error) {
	var versions uint64
	err := r.retrying.QueryRow(ctx, selectSomeVersions, named("account", account),
		named("from", fmt.Sprint(from.UnixMilli())),
		named("to", fmt.Sprint(to.UnixMilli())), named("limit", fmt.Sprint(cohortVersions+1))).Scan(&versions)
	if err != nil {
		return nil, fmt.Errorf("reading how many transactions account %s had in the past: %w", account, err)
	}
	if versions > cohortVersions {
		return r.unpaidCohorts(ctx, account, from, to, horizon, cohortMonths)
	}
	return r.unpaidCohorts(ctx, account, from, to, horizon, math.MaxInt16)
}

// unpaidCohorts looks at the sales of the given number of months at a time.
func (r Reader) unpaidCohorts(ctx context.Context, account string, from, to time.Time,
	horizon, months int) (all []UnpaidCohort, err error) {
	for ; from.Before(to); from = from.AddDate(0, months, 0) {
		until := from.AddDate(0, months, 0)
		if until.After(to) {
			until = to
		}
		rows, err := r.retrying.Query(ctx, selectUnpaidCohorts(horizon), named("account", account),
			named("from", fmt.Sprint(from.UnixMilli())), named("to", fmt.Sprint(until.UnixMilli())))
		part, err := scanned(rows, err, func(c *UnpaidCohort) []any {
			return []any{&c.Currency, &c.Due, &c.ToGo, &c.Confirmed, &c.Count, &c.Unpaid, &c.Paid}
		})
		if err != nil {
			return nil, fmt.Errorf("reading how the transactions of account %s were paid in the past: %w", account, err)
		}
		all = append(all, part...)
	}
	return all, nil
}

// The memory for cohorts grows with the number of sales that one statement looks at. If there are more versions of them
// than cohortVersions, each statement looks at the sales of cohortMonths. With fewer versions it looks at all, because
// it takes longer to plan than to run.
const (
	cohortMonths   = 6
	cohortVersions = 100_000
)

// LoadedDays returns the days, by the clock of the service, on which an account's transactions were brought up to date.
func (r Reader) LoadedDays(ctx context.Context, account string) ([]time.Time, error) {
	rows, err := r.retrying.Query(ctx, selectLoadedDays(), named("account", account))
	all, err := scanned(rows, err, only[time.Time])
	if err != nil {
		return nil, fmt.Errorf("reading when the transactions of account %s were loaded: %w", account, err)
	}
	return all, nil
}

// DueTransaction is a transaction that was unpaid at the end of a month, with the payout in which it is due.
type DueTransaction struct {
	ID                 uuid.UUID
	Currency, Retailer string
	SoldAt             *time.Time
	Due                *time.Time // first day of the month in which the payout is made; nil: no time of sale
	Pending, Confirmed decimal.Decimal
}

// EachDueTransaction calls do for each transaction that is unpaid at the end of a month, which ends before to. They are
// those that ChangeSums adds up. They come by currency, and those that are due first come first.
func (r Reader) EachDueTransaction(ctx context.Context, account string, to time.Time, closes []Close,
	do func(DueTransaction) error) error {
	rows, err := r.retrying.Query(ctx, selectDueTransactions(closes), named("account", account),
		named("to", fmt.Sprint(to.UnixMilli())))
	err = each(rows, err, func(d *DueTransaction) []any {
		return []any{&d.ID, &d.Currency, &d.Retailer, &d.SoldAt, &d.Due, &d.Pending, &d.Confirmed}
	}, do)
	if err != nil {
		return fmt.Errorf("reading what is unpaid of account %s: %w", account, err)
	}
	return nil
}

// selectSomeVersions counts the versions of sales of some time, as far as limit. Parameters: account, from and to, both
// in milliseconds, and limit.
var selectSomeVersions = sql(`SELECT count() FROM
(
    SELECT 1 FROM $versions
    WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    LIMIT {limit:UInt64}
)`, ofSales)

// selectUnpaidCohorts looks at each transaction at the beginning of each month before its payout. The last version with
// an earlier updatedAt counts. What was paid for it is its cashback in the first version with a payout.
//
// There may be millions of transactions. To find the last value of each is fast, and takes little memory, only if the
// value is a number. So what counts of a version is packed into one number: its cashback, whether it is confirmed, and
// whether it is unpaid.
func selectUnpaidCohorts(horizon int) string {
	var seen, cells []string
	for k := range horizon {
		seen = append(seen, fmt.Sprintf("argMaxIf(packed, _version, "+
			"changed < toUnixTimestamp(toDateTime(addMonths(month_due, -%d), 'UTC')) * 1000) AS seen_%[1]d", k))
		cells = append(cells, fmt.Sprintf("(%d, seen_%[1]d)", k))
	}
	return sqlFile("select_unpaid_cohorts", ofSales.with(parts{
		"confirmed": quote(catalog.StatusConfirmed), "declined": quote(catalog.StatusDeclined),
		"cells": strings.Join(cells, ", "), "seen": strings.Join(seen, ",\n            "),
		"due": dueOf("assumeNotNull(sold_at)"), "until": "toUnixTimestamp(toDateTime(addMonths(due, 1), 'UTC')) * 1000",
		"changed": changedAt,
		"amount":  unpacked("c.2"), "paid": unpacked("stamped"),
	}))
}

// unpacked returns the cashback in what selectUnpaidCohorts packs: the bits above the lowest three, with the sign. A
// packed number is never 0.
func unpacked(packed string) string {
	return "reinterpret(bitShiftRight(" + packed + ", 3), 'Decimal(18, 4)')"
}

// selectLoadedDays selects the days on which the transactions of an account were loaded. Parameter: account.
func selectLoadedDays() string {
	return sql(`SELECT DISTINCT toStartOfDay(ifNull(server_time, started_at)) AS day
FROM sync_runs WHERE account = {account:String} AND stream = $stream AND outcome = $success AND $fresh
ORDER BY day`, ofSales.with(parts{"success": quote(OutcomeSuccess), "fresh": freshModes}))
}

// selectDueTransactions selects the transactions that are unpaid at a time. closes are the months that were closed
// before. Parameters: account, and to in milliseconds.
func selectDueTransactions(closes []Close) string {
	unpaid := func(suffix string) string {
		return sql("listed$s AND payout_id$s IS NULL AND status$s != $declined",
			parts{"s": suffix, "declined": quote(catalog.StatusDeclined)})
	}
	return sql(`SELECT id, currency_code AS currency, any(retailer_name), any(sold_at) AS sold, toDateTime64($due, 3, 'UTC') AS due,
    sumIf(cashback, $after AND status != $confirmed) - sumIf(cashback_before, $before AND status_before != $confirmed) AS pending,
    sumIf(cashback, $after AND status = $confirmed) - sumIf(cashback_before, $before AND status_before = $confirmed) AS confirmed
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String})
WHERE effective < {to:Int64}
GROUP BY id, currency_code
HAVING countIf($after) != countIf($before)
ORDER BY currency, due, sold, id`, parts{
		"due": dueOf("sold"), "after": unpaid(""), "before": unpaid("_before"),
		"confirmed": quote(catalog.StatusConfirmed),
		"effective": effective(closes),
	})
}
