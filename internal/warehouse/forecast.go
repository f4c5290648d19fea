package warehouse

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
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
