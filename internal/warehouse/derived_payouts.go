package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// A transaction of a payout is kept in two states: as stamped, which is the first version that carries the payoutId,
// and as of now. A run has the transactions that it changes as they become, as they were and as they were stamped, so
// it reads no older versions.

// memberValues are the values of payoutTransactionsTable. The view has the same, and also changed_at and at_stake,
// which follow from them. Those after payout_id_now are for these two, and for the views of transactions that no payout
// accounts for.
var memberValues = []column{
	{"sold_at", "Nullable(DateTime64(3, 'UTC'))", "Time of the sale [UTC]"},
	{"retailer_name", "LowCardinality(String)", "Retailer name"},
	{"currency_code", "LowCardinality(String)", "Currency as stamped"},
	{"state", "LowCardinality(String)", "same, changed, moved or gone; empty: the row stands for none"},
	{"stamped_status", "LowCardinality(String)", "Status as stamped"},
	{"stamped_order_value", "Nullable(Decimal(18, 4))", "Order value as stamped"},
	{"stamped_cashback", "Nullable(Decimal(18, 4))", "Cashback as stamped"},
	{"stamped_at", "Nullable(DateTime64(3, 'UTC'))", "updatedAt of the first version that carries the payoutId [UTC]"},
	{"stamped_seen_at", "DateTime64(3, 'UTC')", "When that version was loaded [UTC]"},
	{"stamped_is_first_known", "UInt8", "1 when no earlier version of the transaction is known"},
	{"status", "LowCardinality(String)", "Status as of now"},
	{"order_value", "Nullable(Decimal(18, 4))", "Order value as of now"},
	{"cashback", "Nullable(Decimal(18, 4))", "Cashback as of now"},
	{"payout_id_now", "Nullable(Int64)", "Payout as of now"},
	{"currency_code_now", "LowCardinality(String)", "Currency as of now"},
	{"updated_at", "Nullable(DateTime64(3, 'UTC'))", "updatedAt as of now [UTC]"},
	{"turned_at",
		"Nullable(DateTime64(3, 'UTC'))", "updatedAt of the version since which it stands as it does now [UTC]"},
	{"turned_seen_at", "DateTime64(3, 'UTC')", "When that version was loaded [UTC]"},
}

// payoutTransactionsTable has every transaction of a payout, one row for each payout that it ever carried. Views:
// payout_transactions. Its granules are small, since a run looks up single rows.
func payoutTransactionsTable() keyed {
	t := newKeyed(membersTable, "Storage behind the view payout_transactions", "state = ''",
		[]column{
			{"payout_id", "Int64", "Payout that the transaction carries or carried"},
			{"id", "UUID", "Transaction identifier"},
		}, memberValues)
	t.once = true
	t.fill = func(x script, delta string, first bool) []string {
		if first {
			return []string{t.insertAll(delta, stampedRows(x.names["delta"],
				"transactions.payout_id IS NOT NULL AND _deleted = 0", "1"))}
		}
		return []string{t.changedMembers(x, delta)}
	}
	t.touched = script.countPaid
	t.rebuild = func(x script, into string) []string { return []string{t.insertAll(into, x.wholeMembers())} }
	return t
}

// countPaid counts the changed rows that carry a payout, or that ever did.
func (x script) countPaid(c Changes) []string {
	return append([]string{"countIf(payout_id IS NOT NULL)"}, x.countPayoutMoves(c)...)
}

// countPayoutMoves counts the changed rows that leave a payout, and those that left one before. If there are none, each
// row of payoutTransactionsTable that the run changes belongs to the only payout that its transaction ever carried.
func (x script) countPayoutMoves(Changes) []string {
	return []string{
		x.render(`countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM $changed WHERE sign = 1 AND payout_id IS NOT NULL))`, nil),
		x.render("(SELECT count() FROM $moved FINAL WHERE account = {account:String} AND id IN (SELECT id FROM $delta))",
			parts{"moved": movesTable}),
	}
}

// stampedRows selects transactions of which only the current version carries a payoutId, so that they are as they
// were stamped.
func stampedRows(from, where, firstKnown string) string {
	return sql(`SELECT assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, $same AS state, status AS stamped_status,
        order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
        $first_known AS stamped_is_first_known, status, order_value, cashback, transactions.payout_id AS payout_id_now,
        currency_code AS currency_code_now, updated_at, updated_at AS turned_at, synced_at AS turned_seen_at
    FROM $from AS transactions WHERE $where`,
		stateWords.with(parts{"from": from, "where": where, "first_known": firstKnown}))
}

var stateWords = parts{
	"same": quote(TransactionSame), "changed": quote(TransactionChanged), "moved": quote(TransactionMoved),
	"gone":     quote(TransactionGone),
	"declined": quote(catalog.StatusDeclined),
}

// memberState returns an expression for the state of a transaction that was stamped with payout. status, orderValue and
// cashback are as it was stamped, and now names the row as of now.
func memberState(status, orderValue, cashback, now, payout string) string {
	return sql(`multiIf($now._deleted = 1, $gone, ifNull($now.payout_id != $payout, 1), $moved,
        $status != $now.status OR ifNull($order_value, 0) != ifNull($now.order_value, 0) OR ifNull($cashback, 0) != ifNull($now.cashback, 0), $changed,
        $same)`, stateWords.with(parts{"now": now, "payout": payout, "status": status, "order_value": orderValue,
		"cashback": cashback}))
}

// changedMembers fills the delta with what becomes of the transactions that the run changes, one row for each payout
// that they carry now or ever carried. m is the transaction as it was stamped, n as it is now, and o as it was before.
func (t keyed) changedMembers(x script, delta string) string {
	var stamped []string
	for _, c := range memberValues {
		stamped = append(stamped, c.name)
	}
	return t.inserted(delta) + x.sqlFile("changed_members", parts{
		"table": t.table, "moved": movesTable, "stamped": strings.Join(stamped, ", "), "next": versionAfter("m.stored"),
		"state": memberState("as_status", "as_order_value", "as_cashback", "n", "m.payout_id"),
		"new": stampedRows(x.names["changed"], "sign = 1 AND transactions.payout_id IS NOT NULL AND _deleted = 0",
			"1"),
	})
}

// wholeMembers reads the transactions of payouts from all their versions.
//
// Nearly every transaction has a single version with a payoutId, and that is its current one. Only the few others are
// looked up among all versions: this makes millions of transactions fast. They are found by a hash. If two transactions
// have the same hash, both are looked up without need, and the result is the same.
func (x script) wholeMembers() string {
	versions := x.render("SELECT * FROM $versions WHERE account = {account:String}", nil)
	// The maximum of this number is of the newest change upstream. It is odd if a version of that change
	// carries no payoutId.
	changed := sqlFile("changed_payout_keys",
		parts{"versions": versions})
	once := stampedRows("("+versions+")", "transactions.payout_id IS NOT NULL AND _deleted = 0 AND cityHash64(id) NOT IN ("+changed+")",
		"cityHash64(id) NOT IN (SELECT cityHash64(id) FROM ("+versions+") WHERE payout_id IS NULL)")
	return once + "\nUNION ALL\n" + sqlFile("members_again", parts{"versions": versions, "changed": changed,
		"state": memberState("stamped.status", "stamped.order_value", "stamped.cashback", "last", "payout")})
}

// payoutMovesTable has the transactions that carry, or carried, another payoutId than the current one, with all payouts
// of each. By these a run finds their rows in payoutTransactionsTable. They are few. No view reads the table.
func payoutMovesTable() keyed {
	t := newKeyed(movesTable, "Which payouts the transactions carried that do not carry one alone", "empty(payout_ids)", []column{
		{"id", "UUID", "Transaction identifier"},
	}, []column{
		{"payout_ids", "Array(Int64)", "All payouts that it ever carried; empty: the row stands for none"},
	})
	t.after = membersTable
	t.fill = func(x script, delta string, first bool) []string {
		if first {
			return nil // each has one version
		}
		members := x.dialect.ofRun(x.derivedDelta(membersTable))
		return []string{t.inserted(delta) + sql(`SELECT {account:String}, id, if(max(astray), arraySort(groupArrayIf(payout_id, member)), []), $next, {run:UUID}
FROM
(
    SELECT id, payout_id, payout_id_now IS DISTINCT FROM payout_id AS astray, true AS member, toUInt64(0) AS stored FROM $members
    UNION ALL
    SELECT id, 0, false AS astray, false AS member, version FROM $table FINAL WHERE account = {account:String} AND id IN (SELECT id FROM $members)
)
GROUP BY id
HAVING max(astray) OR max(NOT member)`, parts{"next": versionAfter("max(stored)"), "members": members,
			"table": t.table})}
	}
	t.touched = script.countPayoutMoves
	t.rebuild = func(_ script, into string) []string {
		return []string{t.insertAll(into, sql(`SELECT id, arraySort(groupArray(payout_id)) AS payout_ids
FROM $members FINAL
WHERE account = {account:String} AND state != '' AND id IN
(
    SELECT id FROM $members FINAL WHERE account = {account:String} AND state != '' AND (payout_id_now IS DISTINCT FROM payout_id)
)
GROUP BY id`, parts{"members": membersTable}))}
	}
	return t
}

// payoutSumsTable has sums over payoutTransactionsTable. Views: payout_sums, payout_reconciliation.
func payoutSumsTable() keyed {
	t := newKeyed("payout_sums_latest", "Storage behind the view payout_sums", "stamped_n = 0", []column{
		{"payout_id", "Int64", "Payout"},
		{"quarters",
			"Int64", "Quarters of an hour from 1970 to stamped_at; the lowest number there is: it is not known"},
		{"currency_code", "LowCardinality(String)", "Currency as stamped"},
		{"state", "LowCardinality(String)", "As in payout_transactions"},
		{"stamped_status", "LowCardinality(String)", "Status as stamped"},
		{"now_status", "LowCardinality(String)", "Status as of now"},
	}, []column{
		{"stamped_n", "Int64", "Number of transactions, as stamped; 0: the row stands for none"},
		{"stamped_gmv", "Decimal(38, 4)", "Sum of their order_value as stamped"},
		{"stamped_cashback", "Decimal(38, 4)", "Sum of their cashback as stamped"},
		{"now_n", "Int64", "Number of those that carry the payoutId as of now"},
		{"now_gmv", "Decimal(38, 4)", "Sum of their order_value as of now"},
		{"now_cashback", "Decimal(38, 4)", "Sum of their cashback as of now"},
		{"at_stake", "Decimal(38, 4)", "Cashback as stamped less cashback as of now"},
	})
	t.after = membersTable
	t.fill = func(x script, delta string, first bool) []string {
		members := x.dialect.ofRun(x.derivedDelta(membersTable))
		if first {
			return []string{t.changedSums(delta, memberSums(members, "1"), "", first)}
		}
		rows := sql(`
        (
            SELECT 1 AS sign, * FROM $members
            UNION ALL
            SELECT -1, * FROM $table FINAL
            WHERE account = {account:String} AND state != '' AND (payout_id, id) IN (SELECT payout_id, id FROM $members)
        )`, parts{"members": members, "table": membersTable})
		return []string{t.changedSums(delta, memberSums(rows, "sign"),
			"payout_id IN (SELECT payout_id FROM "+members+")", first)}
	}
	t.touched = script.countPaid
	t.rebuild = func(_ script, into string) []string {
		return []string{t.wholeSums(into, memberSums("(SELECT * FROM "+membersTable+
			" FINAL WHERE account = {account:String} AND state != '')", "1"))}
	}
	return t
}

// memberSums selects single transactions of payouts in the form in which payoutSumsTable counts them.
func memberSums(from, sign string) string {
	return sql(`SELECT payout_id, ifNull(toInt64(floor(toUnixTimestamp64Milli(stamped_at) / 900000)), toInt64(-9223372036854775808)) AS quarters,
        currency_code, state, stamped_status, status AS now_status, toInt64($sign) AS stamped_n,
        $sign * toDecimal128(ifNull(stamped_order_value, 0), 4) AS stamped_gmv, $sign * toDecimal128(ifNull(m.stamped_cashback, 0), 4) AS stamped_cashback,
        if(state IN ($same, $changed), $sign, 0) AS here, toInt64(here) AS now_n,
        here * toDecimal128(ifNull(m.order_value, 0), 4) AS now_gmv, here * toDecimal128(ifNull(m.cashback, 0), 4) AS now_cashback,
        $sign * if(stamped_status = $declined, 0, toDecimal128(ifNull(m.stamped_cashback, 0), 4))
            - if(status = $declined, 0, here) * toDecimal128(ifNull(m.cashback, 0), 4) AS at_stake
    FROM $from AS m`, stateWords.with(parts{"sign": sign, "from": from}))
}

// priceChangesTable has the days on which the price of a product changed: a few days of a history that has a row for
// each day. View: product_price_changes. It is sorted for questions about the last days.
//
// A change joins a day with the day before it that has a price in the same currency. So when a day is corrected, the
// change on the next day may be different too, and a run looks at the whole history of each product of which it changes
// an entry. Most have had a single price, and then there is nothing to look at.
func priceChangesTable(s *catalog.Stream) keyed {
	t := newKeyed("product_price_changes_latest", "Storage behind the view product_price_changes", "price = previous_price", []column{
		{"day", "Date", "First day of the new price"},
		keyColumns(s)[0],
	}, []column{
		{"currency_code", "LowCardinality(String)", "Currency of the prices"},
		{"price", "Decimal(18, 4)", "New price; equal to the old one: the row stands for no change"},
		{"previous_day", "Date", "Last day of the old price of which there is a record"},
		{"previous_price", "Decimal(18, 4)", "Old price"},
		{"views", "Nullable(Int64)", "Views on the first day of the new price"},
		{"previous_views", "Nullable(Int64)", "Views on previous_day"},
	})
	t.ofChild = true
	t.fill = func(x script, delta string, first bool) []string {
		if first {
			return []string{t.insertAll(delta,
				x.priceChanges(x.render("$child_delta WHERE price IS NOT NULL AND $moving",
					parts{"moving": x.moving(x.names["child_delta"])})))}
		}
		return []string{t.changedPrices(x, delta)}
	}
	t.touched = func(x script, _ Changes) []string { return []string{"(" + countRows(x.names["child_delta"]) + ")"} }
	t.rebuild = func(x script, into string) []string {
		return []string{t.insertAll(into, x.priceChanges(x.render(
			"$child_latest FINAL WHERE account = {account:String} AND price IS NOT NULL AND $moving",
			parts{"moving": x.moving(x.render("$child_latest WHERE account = {account:String}", nil))})))}
	}
	return t
}

// moving returns a condition for the products that have two prices among the entries. Entries that are no longer
// current do no harm.
func (x script) moving(entries string) string {
	return x.render("$key IN (SELECT $key FROM $entries GROUP BY $key HAVING min(price) != max(price))",
		parts{"entries": entries})
}

// priceChanges selects the changes of price among entries that have a price.
func (x script) priceChanges(entries string) string {
	return "\n" + x.sqlFile("price_changes", parts{"entries": entries}) + "\n"
}

// onlyAppends is a condition on all entries of a product, the fresh ones of the run and the stored ones. It is true if
// the run only adds days after the last stored one, at the price of that day, so that no change is made or altered.
// Nearly every product is like this every day.
const onlyAppends = `minIf(day, fresh) > maxIf(day, NOT fresh) AND min(cityHash64(currency_code)) = max(cityHash64(currency_code))
                    AND minIf(price, fresh) = maxIf(price, fresh) AND minIf(price, fresh) = argMaxIf(price, day, NOT fresh)`

// changedPrices fills the delta with the changes that the run makes or alters. A change that the run takes back becomes
// a row that means no change. To find these, the changes that follow from the entries of its products are compared with
// the stored ones.
func (t keyed) changedPrices(x script, delta string) string {
	known := x.render(`
            (
                SELECT account, day, $key, currency_code, price, views, _version, false AS fresh FROM $child_latest FINAL
                WHERE account = {account:String} AND $key IN (SELECT $key FROM $child_delta)
                UNION ALL
                SELECT account, day, $key, currency_code, price, views, _version, true FROM $child_delta
            )`, nil)
	altered := x.render(`$key IN
            (
                SELECT $key FROM $known
                GROUP BY $key
                HAVING min(price) != max(price) AND NOT ifNull($only_appends, false)
            )`, parts{"known": known, "only_appends": onlyAppends})
	entries := x.render(`
        (
            SELECT *, leadInFrame(true) OVER (PARTITION BY account, $key, day ORDER BY _version ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS replaced
            FROM $known
            WHERE $altered
        )
        WHERE NOT replaced AND price IS NOT NULL`, parts{"known": known, "altered": altered})
	var values, becomes []string
	for _, c := range t.values {
		values = append(values, c.name)
		becomes = append(becomes, "anyIf(r."+c.name+", becomes)")
	}
	return t.inserted(delta) + x.sqlFile("changed_prices", parts{
		"becomes": strings.Join(becomes, ", "), "values": strings.Join(values, ", "), "columns": t.columns(),
		"changes": x.priceChanges(entries), "next": versionAfter("max(stored)"), "table": t.table, "nothing": t.nothing,
		"altered": altered,
	})
}
