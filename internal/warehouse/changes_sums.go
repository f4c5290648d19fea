package warehouse

import (
	"context"
	"fmt"
	"time"
)

// A statement adds up all changes of all transactions until the end of a month. Most transactions changed for the last
// time long before it. So only these are added up change by change:
//
//   - transactions that changed both since the beginning of the month and before its end,
//   - transactions of payouts about which the tables of payouts do not say everything: see irregular.
//
// The changes of any other transaction add up to what it is now. If it is in a payout, that is the difference between
// what it is worth and what was paid for it. Otherwise it is the amount that is still unpaid. Both are read from the
// current rows.

// ChangeSums adds up the changes of an account's transactions until the end of a month, which begins at from and ends
// before to. A change that belongs to a closed month, but was seen after the month was closed, counts at the time when
// it was seen. Transactions that have not changed since from may be added up as one sale with their last status.
func (r Reader) ChangeSums(ctx context.Context, account string, from, to time.Time,
	closes []Close) ([]ChangeSum, error) {
	args := []any{named("account", account), named("from", fmt.Sprint(from.UnixMilli())),
		named("to", fmt.Sprint(to.UnixMilli()))}
	for range sumsTries {
		before, err := r.loadedMark(ctx, account)
		if err != nil {
			return nil, err
		}
		if !before.whole() {
			continue
		}
		all, err := r.changeSums(ctx, account, selectChangeSums(closes), args)
		if err != nil {
			return nil, err
		}
		if after, err := r.loadedMark(ctx, account); err != nil || after == before {
			return all, err
		}
	}
	return r.changeSums(ctx, account, selectAllChangeSums(closes), args)
}

// sumsTries is how often the sums are read if runs publish meanwhile. After that, everything is added up from the
// versions alone. One query reads them, so they agree, but it takes long.
const sumsTries = 3

func (r Reader) changeSums(ctx context.Context, account, query string, args []any) ([]ChangeSum, error) {
	rows, err := r.retrying.Query(ctx, query, args...)
	all, err := scanned(rows, err, func(c *ChangeSum) []any {
		return []any{&c.Currency, &c.Before, &c.Late, &c.Age, &c.Due, &c.Sale, &c.StatusBefore, &c.Status, &c.InPayout,
			&c.IntoPayout, &c.SamePayout, &c.FirstPaid, &c.ListedBefore, &c.Listed,
			&c.Count, &c.CashbackBefore, &c.Cashback}
	})
	if err != nil {
		return nil, fmt.Errorf("adding up the transactions of account %s: %w", account, err)
	}
	return all, nil
}

// loadedMark shows whether transactions were loaded between two looks. A run publishes the same rows to the versions,
// to the current rows and to the tables of payouts, one after the other. While it does, its intent is stored.
type loadedMark struct {
	versions          uint64
	newest, newestNow int64 // when the newest version and the newest current row were loaded [ms since 1970]
	settled           bool  // no run is publishing, and the tables of payouts are up to date
}

// whole reports whether all tables agree.
func (m loadedMark) whole() bool { return m.newest == m.newestNow && m.settled }

func (r Reader) loadedMark(ctx context.Context, account string) (m loadedMark, err error) {
	err = r.retrying.QueryRow(ctx, selectLoadedMark, named("account", account)).
		Scan(&m.versions, &m.newest, &m.newestNow, &m.settled)
	if err != nil {
		return m, fmt.Errorf("looking whether transactions of account %s are being loaded: %w", account, err)
	}
	return m, nil
}
