package warehouse

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/catalog"
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

// selectLoadedMark returns a loadedMark: how many versions of transactions there are, when the newest version and the
// newest current row were loaded, in milliseconds, and whether all that follows from them is there. Parameter: account.
var selectLoadedMark = sql(`SELECT count(), ifNull(toUnixTimestamp64Milli(max(synced_at)), 0),
    (SELECT ifNull(toUnixTimestamp64Milli(max(synced_at)), 0) FROM $latest WHERE account = {account:String}),
    (SELECT countIf(startsWith(name, $intent)) = 0 AND countIf(name = $derived AND hasAll(splitByChar(' ', value), [$members, $moves])) = 1
        FROM sync_state WHERE account = {account:String} AND stream = $stream)
FROM $versions WHERE account = {account:String}`, ofSales.with(parts{"intent": quote(stateIntent + ":"),
	"derived": quote(stateDerived), "members": quote(membersTable), "moves": quote(movesTable)}))

// irregular selects the transactions that ever were in a payout and whose changes may not add up to the difference
// between what they are worth now and what was paid for them. These are the ones that are gone, that have moved to
// another payout or to another currency, or that were stamped with amounts which could be read only later.
func irregular() string {
	return sql(`SELECT cityHash64(id) FROM $members FINAL WHERE account = {account:String} AND state != '' AND $irregular
        UNION ALL
        SELECT cityHash64(id) FROM $moves FINAL WHERE account = {account:String} AND notEmpty(payout_ids)`,
		parts{"members": membersTable, "moves": movesTable, "irregular": irregularMember})
}

// irregularMember is the condition by which irregular selects rows of payoutTransactionsTable.
var irregularMember = sql(`(state IN ($moved, $gone) OR currency_code != currency_code_now
    OR stamped_cashback IS NOT NULL AND stamped_order_value IS NOT NULL AND cityHash64(id) IN
        (SELECT cityHash64(id) FROM $versions
        WHERE account = {account:String} AND payout_id IS NOT NULL AND (cashback IS NULL OR order_value IS NULL)))`, stateWords.with(ofSales))

// sumsOf groups changes by all fields of ChangeSum that are not sums. It also separates raised amounts from lowered
// ones.
func sumsOf(from string) string {
	return sql(`SELECT currency_code, effective < {from:Int64}, late AND effective >= {from:Int64}, $age AS age,
    toInt8(ifNull(greatest(-1, least(dateDiff('month', fromUnixTimestamp64Milli({to:Int64}, 'UTC'), $due), 99)), $never)) AS due,
    sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1, listed_before = 1, listed = 1,
    toInt64(count()), sum(cashback_before), sum(cashback)
FROM ($from)
WHERE effective < {to:Int64}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, sign(cashback - cashback_before), cashback_before = 0, cashback = 0
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14`,
		parts{"from": from, "age": ageOfDays(), "due": dueOf("sold_at"), "never": fmt.Sprint(NotDue)})
}

// daysOld is the age of a sale at the end of the month, as a column days.
const daysOld = "dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days"

// selectAllChangeSums adds up every change. Parameters: account, and from and to in milliseconds.
func selectAllChangeSums(closes []Close) string {
	return sumsOf(sql("SELECT *, $effective, $days FROM transaction_changes WHERE account = {account:String}",
		parts{"effective": effective(closes), "days": daysOld}))
}

// selectChangeSums adds up the changes of a month, with what the current rows say of all earlier changes. Parameters:
// account, and from and to in milliseconds.
func selectChangeSums(closes []Close) string {
	columns := `currency_code, effective, late, days, sold_at, sale, status_before, status, payout_id_before,
    payout_id, first_paid, listed_before, listed, cashback_before, cashback`
	named := stateWords.with(ofSales).with(parts{"columns": columns, "effective": effective(closes), "days": daysOld,
		"since": changedSince(closes), "before": changedBefore(closes),
		"irregular": irregular(), "irregular_member": irregularMember, "members": membersTable, "moves": movesTable,
		"confirmed": quote(catalog.StatusConfirmed), "pending": quote(catalog.StatusPending)})
	return sumsOf("\n" + sqlFile("changes_since", named))
}
