package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

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
