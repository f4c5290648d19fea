package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// selectLatestChecks selects the newest outcome of each check of each stream: by stream, those that do not hold first.
// It takes the newest of each by itself, and so needs no FINAL.
const selectLatestChecks = `SELECT account, stream, check, max(checked_at), argMax(run_id, checked_at), argMax(ok, checked_at) AS holds,
    argMax(found, checked_at), argMax(expected, checked_at), argMax(detail, checked_at)
FROM quality_checks_log GROUP BY account, stream, check ORDER BY account, stream, holds, check`

// selectChecksBefore returns, in one row: the warehouse's time, when a check of the stream was last made and when its
// rows were last counted, all in microseconds; how many checks fail; what is known of the fields.
var selectChecksBefore = sql(`SELECT toUnixTimestamp64Micro(now64(6)), toUInt64($newest),
    toInt64(ifNull(maxIf(toUnixTimestamp64Micro(toDateTime64(checked_at, 6, 'UTC')), check = $rows), 0)),
    countIf(NOT holds), ($presence)
FROM (SELECT check, max(checked_at) AS checked_at, argMax(ok, quality_checks_log.checked_at) AS holds
    FROM quality_checks_log WHERE account = {account:String} AND stream = {stream:String} GROUP BY check)`,
	parts{"newest": newestTime("checked_at"), "rows": quote(CheckRowsMatch), "presence": selectPresence})

// ofRun is the condition for the rows that the run has written. A backfill is several runs, so their time is compared.
const ofRun = `account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC')`

// countSeen returns how many rows readers see of a stream, and how many rows were loaded after a run. Parameters:
// account, and to in milliseconds.
func countSeen(s *catalog.Stream) string {
	return sql(`SELECT (SELECT count() FROM $view WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM $latest WHERE account = {account:String})`,
		parts{"view": s.Name, "latest": latestTable(s)})
}

// countTwice counts the rows of a view that have a key which another row has, among those with some keys. Parameter:
// account.
func countTwice(s *catalog.Stream, keys []string) string {
	return sql("SELECT toUInt64(count() - uniqExact($key)) FROM $view WHERE account = {account:String} AND $key IN ($keys)",
		parts{"view": s.Name, "key": keyNames(s), "keys": words(keys)})
}

// mostUnknown is how many missing payouts are looked up at most.
const mostUnknown = 1000

// selectUnknownPayouts returns when the last run of payouts began, and which payouts had been named by then and are
// missing. Parameter: account.
var selectUnknownPayouts = sql(`WITH
    (SELECT max(started_at) FROM sync_runs
    WHERE account = {account:String} AND stream = $to AND outcome = $success AND $whole) AS loaded
SELECT loaded, groupArray($most)(key) FROM
(
    SELECT n.key AS key FROM $names AS n
    WHERE account = {account:String} AND n.stream = $to AND n.key NOT IN (SELECT toString($key) FROM $table WHERE account = {account:String})
    GROUP BY n.key HAVING min(n.named_at) < loaded
)`, parts{
	"to": quote(catalog.Payouts().Name), "success": quote(OutcomeSuccess), "whole": wholeLooks,
	"names": namedTable(catalog.Transactions()),
	"key":   catalog.Payouts().KeyColumn(), "table": catalog.Payouts().Name, "most": fmt.Sprint(mostUnknown),
})

// countNaming counts the transactions that name one of some payouts and were loaded before a time. It also returns one
// of these payouts. Parameters: account, and loaded in milliseconds.
func countNaming(payouts []string) string {
	return sql(`SELECT count(), ifNull(any($payout), 0)
FROM $view
WHERE account = {account:String} AND $payout IN ($ids) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC')`,
		parts{"view": catalog.Transactions().Name, "ids": strings.Join(payouts, ", "),
			"payout": catalog.Transactions().Reference(catalog.Payouts()).Column})
}

// countOtherPrices counts the products whose price differs from their price history of the same day, if it has that
// day, among those that a run has written. It also returns the key of one of them. serverTime says that the time of the
// service is known. Parameters: account; from, to and, with serverTime, server, all in milliseconds.
func countOtherPrices(s *catalog.Stream, serverTime bool) string {
	today := "toDate32(now64(3, 'UTC'))"
	if serverTime {
		today = "toDate32(fromUnixTimestamp64Milli({server:Int64}, 'UTC'))"
	}
	return sql(`SELECT count(), any(toString(p.$key)) FROM (SELECT $key, price FROM $latest WHERE $of_run AND _deleted = 0) AS p
INNER JOIN (SELECT $key, argMax(price, _version) AS price FROM $prices WHERE account = {account:String} AND day = $today GROUP BY $key) AS h ON p.$key = h.$key
WHERE p.price != h.price`, parts{"key": keyNames(s), "latest": latestTable(s), "prices": childLatest(s), "of_run": ofRun,
		"today": today})
}
