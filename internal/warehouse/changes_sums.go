package warehouse

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/catalog"
)

// A statement adds up all changes of all transactions until the end of a month, and most of them were over long before
// it. So only these are added up change by change:
//
//   - transactions that changed both since the beginning of the month and before its end,
//   - transactions of payouts of which the tables of payouts do not tell all: see deviating.
//
// Of each of the others, all changes together come to what it is now: in a payout to what it is worth more, or less,
// than was paid for it, and else to what is unpaid of it. That is read from the rows as they are now.

// ChangeSums adds up the changes of an account's transactions until the end of a month that begins at from and ends
// before to. What belongs to a closed month and was seen after it was closed counts when it was seen. Transactions that
// did not change any more since from may be added up as one sale at their last status.
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

// sumsTries is how often the sums are read again when a run publishes meanwhile. After that, all is added up from the
// versions alone, which are read at once and take long.
const sumsTries = 3

func (r Reader) changeSums(ctx context.Context, account, query string, args []any) ([]ChangeSum, error) {
	rows, err := r.conn.Query(ctx, query, args...)
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

// loadedMark tells whether transactions were loaded between two looks. A run publishes the same rows as versions, as
// what stands now and in the tables of payouts, one after the other: in between, its intent is there.
type loadedMark struct {
	versions          uint64
	newest, newestNow int64 // when they were loaded [ms since 1970]
	settled           bool  // no run is publishing, and the tables of payouts are up to date
}

// whole reports whether all tables agree.
func (m loadedMark) whole() bool { return m.newest == m.newestNow && m.settled }

func (r Reader) loadedMark(ctx context.Context, account string) (m loadedMark, err error) {
	err = r.conn.QueryRow(ctx, sql(`SELECT count(), ifNull(toUnixTimestamp64Milli(max(synced_at)), 0), (SELECT ifNull(toUnixTimestamp64Milli(max(synced_at)), 0) FROM $latest WHERE account = {account:String}),
    (SELECT countIf(startsWith(name, $intent)) = 0 AND countIf(name = $derived AND hasAll(splitByChar(' ', value), [$members, $moves])) = 1
        FROM sync_state WHERE account = {account:String} AND stream = $stream)
FROM $versions WHERE account = {account:String}`, ofSales.with(parts{"intent": quote(stateIntent + ":"),
		"derived": quote(stateDerived), "members": quote(membersTable), "moves": quote(movesTable)})),
		named("account", account)).Scan(&m.versions, &m.newest, &m.newestNow, &m.settled)
	if err != nil {
		return m, fmt.Errorf("looking whether transactions of account %s are being loaded: %w", account, err)
	}
	return m, nil
}

// changedAt is when a version changed its transaction [ms since 1970], as transaction_changes has it.
const changedAt = "toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at)))"

// maybeSeen is when a version was loaded, where that may be when its changes count: after the first close.
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

// changedSince returns all transactions with a change that counts since from, and perhaps more.
func changedSince(closes []Close) string {
	return sql("SELECT cityHash64(id) FROM $versions WHERE account = {account:String} AND greatest($changed, $seen) >= {from:Int64}",
		ofSales.with(parts{"changed": changedAt, "seen": maybeSeen(closes, changedAt)}))
}

// changedBefore returns all transactions with a change that counts before to, and perhaps more: a sale counts at the
// time of the sale.
func changedBefore(closes []Close) string {
	return sql("SELECT cityHash64(id) FROM $versions WHERE account = {account:String} AND least($changed, ifNull(toUnixTimestamp64Milli(sold_at), $changed), $seen) < {to:Int64}",
		ofSales.with(parts{"changed": changedAt, "seen": maybeSeen(closes, changedAt)}))
}

// deviating are the transactions that ever were in a payout, and whose changes may come to something else than what
// they are worth more now than was paid for them: those that are gone, in another payout or in another currency since,
// and those that were stamped with amounts that could be read later only.
func deviating() string {
	return sql(`SELECT cityHash64(id) FROM $members FINAL WHERE account = {account:String} AND state != '' AND $deviating
        UNION ALL
        SELECT cityHash64(id) FROM $moves FINAL WHERE account = {account:String} AND notEmpty(payout_ids)`,
		parts{"members": membersTable, "moves": movesTable, "deviating": deviatingMember})
}

// deviatingMember is a row of payoutTransactionsTable as deviating reads it.
var deviatingMember = sql(`(state IN ($moved, $gone) OR currency_code != currency_code_now OR stamped_cashback IS NOT NULL AND stamped_order_value IS NOT NULL AND cityHash64(id) IN
        (SELECT cityHash64(id) FROM $versions WHERE account = {account:String} AND payout_id IS NOT NULL AND (cashback IS NULL OR order_value IS NULL)))`, stateWords.with(ofSales))

// sumsOf groups changes by all fields of ChangeSum that are not sums. It also separates raised amounts from lowered
// ones.
func sumsOf(from, more string) string {
	return sql(`SELECT currency_code, effective < {from:Int64}, late AND effective >= {from:Int64}, $age AS age,
    toInt8(ifNull(greatest(-1, least(dateDiff('month', fromUnixTimestamp64Milli({to:Int64}, 'UTC'), $due), 99)), $never)) AS due, sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1, listed_before = 1, listed = 1,
    toInt64(count()), sum(cashback_before), sum(cashback)
FROM ($from)
WHERE effective < {to:Int64}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, sign(cashback - cashback_before), cashback_before = 0, cashback = 0
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14`,
		parts{"from": from + more, "age": ageOfDays(), "due": dueOf("sold_at"), "never": fmt.Sprint(NotDue)})
}

// daysOld is the age of a sale at the end of the month.
const daysOld = "dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days"

// selectAllChangeSums adds up every change.
func selectAllChangeSums(closes []Close) string {
	return sumsOf(sql("SELECT *, $effective, $days FROM transaction_changes WHERE account = {account:String}",
		parts{"effective": effective(closes), "days": daysOld}), "")
}

func selectChangeSums(closes []Close) string {
	columns := `currency_code, effective, late, days, sold_at, sale, status_before, status, payout_id_before, payout_id, first_paid, listed_before, listed, cashback_before, cashback`
	named := stateWords.with(ofSales).with(parts{"columns": columns, "effective": effective(closes), "days": daysOld,
		"since": changedSince(closes), "before": changedBefore(closes),
		"deviating": deviating(), "deviating_member": deviatingMember, "members": membersTable, "moves": movesTable,
		"confirmed": quote(catalog.StatusConfirmed), "pending": quote(catalog.StatusPending)})
	return sumsOf(sql(`
    SELECT $columns
    FROM (SELECT *, $effective, $days FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN
    (
        $before AND cityHash64(id) IN ($since)
        UNION ALL
        $deviating
    ))`, named), sql(`
    UNION ALL
    SELECT currency_code, {from:Int64} - 1 AS effective, 0 AS late, $days, sold_at, payout_id IS NULL AS sale, status_before, status, payout_id AS payout_id_before, payout_id,
        0 AS first_paid, payout_id IS NOT NULL AS listed_before, 1 AS listed, cashback_before, cashback
    FROM
    (
        SELECT id, currency_code, sold_at, payout_id, $pending AS status_before, if(t.status = $confirmed, $confirmed, $pending) AS status, ifNull(t.cashback, 0) AS cashback_before, cashback_before AS cashback
        FROM $sales AS t
        WHERE account = {account:String} AND payout_id IS NULL AND t.status != $declined AND cityHash64(id) NOT IN
            (SELECT cityHash64(id) FROM $moves FINAL WHERE account = {account:String} AND notEmpty(payout_ids))
        UNION ALL
        SELECT id, currency_code, sold_at, toNullable(payout_id), toString(stamped_status), toString(status), ifNull(stamped_cashback, 0), ifNull(m.cashback, 0)
        FROM $members AS m FINAL
        WHERE account = {account:String} AND state = $changed AND NOT $deviating_member AND cityHash64(id) NOT IN
            (SELECT cityHash64(id) FROM $moves FINAL WHERE account = {account:String} AND notEmpty(payout_ids))
    )
    WHERE cityHash64(id) NOT IN ($since)`, named))
}
