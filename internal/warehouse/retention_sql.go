package warehouse

import (
	"fmt"
	"time"

	"dealhouse/internal/catalog"
)

// neededRuns selects the runs that must stay: the first and the last of each kind, from which the state of a stream
// follows; those since the last success, which are counted; those under way; those that a state names; and those in
// which rejects were read.
var neededRuns = sqlFile("needed_runs",
	parts{"fresh": freshLooks, "succeeded": succeeded, "running": quote(OutcomeRunning)})

// selectOldRuns selects the streams with runs that began before a time and are not needed. It counts these runs, and
// lists those of that age which are needed. A stream of which a run is being published is left out. Parameter: before,
// in milliseconds.
var selectOldRuns = sql(`SELECT account, stream, countIf(NOT needed) AS runs, groupArrayIf(toString(run_id), needed) AS kept FROM
(
    SELECT account, stream, run_id, run_id IN ($needed) AS needed FROM sync_runs_log FINAL
    WHERE started_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
        AND (account, stream) NOT IN (SELECT account, stream FROM sync_state WHERE startsWith(name, $intent))
)
GROUP BY account, stream
HAVING runs > 0
ORDER BY account, stream`, parts{"needed": neededRuns, "intent": quote(stateIntent + ":")})

// deleteRuns removes the runs of some streams that began before a time, except for those in kept. First it removes the
// rows that say running; with last set, all others.
func deleteRuns(before time.Time, streams, kept []string, last bool) string {
	rows := "outcome = "
	if last {
		rows = "outcome != "
	}
	return sql(`ALTER TABLE sync_runs_log DELETE
WHERE started_at < fromUnixTimestamp64Milli($before, 'UTC') AND $rows AND (account, stream) IN ($streams)
    AND toString(run_id) NOT IN ($kept)`,
		parts{"before": fmt.Sprint(before.UnixMilli()), "rows": rows + quote(OutcomeRunning),
			"streams": joinedRights(streams), "kept": literals(kept)})
}

// rejectID and findingID identify the rows of one key.
const (
	rejectID  = "hex(sipHash128(account, stream, key, field, reason, raw_hash))"
	findingID = "hex(sipHash128(account, kind, subject, detail_hash))"
)

// selectOldRejects selects rejects of transactions that are settled and were last met before a time. Those of other
// streams have a TTL. Parameters: before, in milliseconds, and limit.
var selectOldRejects = sqlFile("select_old_rejects", parts{"id": rejectID, "stream": quote(catalog.Transactions().Name),
	"open": quote(string(RejectOpen))})

// deleteRejects removes rejects by their ids, unless one was met again meanwhile.
func deleteRejects(before time.Time, ids []string) string {
	return sql("ALTER TABLE rejects_log DELETE WHERE stream = $stream AND written_at < toDateTime($before, 'UTC') AND $id IN ($ids)",
		parts{"stream": quote(catalog.Transactions().Name), "before": fmt.Sprint(before.Unix()), "id": rejectID,
			"ids": literals(ids)})
}

// selectOldFindings selects findings that were resolved before a time. Parameters: before, in milliseconds, and limit.
var selectOldFindings = sql(`SELECT $id AS id FROM payout_findings_log FINAL
WHERE isNotNull(resolved_at) AND resolved_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
ORDER BY id LIMIT {limit:UInt64}`, parts{"id": findingID})

// deleteFindings removes findings by their ids: the rows in which they are open, or those in which they are resolved.
// One that was found again meanwhile stays.
func deleteFindings(before time.Time, ids []string, resolved bool) string {
	rows := "isNull(resolved_at)"
	if resolved {
		rows = "isNotNull(resolved_at)"
	}
	return sql("ALTER TABLE payout_findings_log DELETE WHERE $rows AND last_seen < fromUnixTimestamp64Milli($before, 'UTC') AND $id IN ($ids)",
		parts{"rows": rows, "before": fmt.Sprint(before.UnixMilli()), "id": findingID, "ids": literals(ids)})
}

// dealHistories returns the streams of which every version is kept, and whose earlier versions only show the past: no
// sums, payouts or decisions are made of them.
func dealHistories() (all []*catalog.Stream) {
	for _, s := range catalog.All() {
		if s.History && !s.Payouts && !s.NamesPayouts() {
			all = append(all, s)
		}
	}
	return all
}

// versionID identifies a version of a row of a stream.
func versionID(s *catalog.Stream) string {
	return "hex(sipHash128(account, " + keyNames(s) + ", _version))"
}

// selectOldVersions selects versions of records that others had replaced before a time. The version that was in force
// then stays. If versions of equal content lead up to it, all of them stay, since they are shown as one. So the newest
// version stays as well, which may be a deletion. The oldest are removed first: of A, B and A again, the first A never
// comes directly before the last. Parameters: before, in milliseconds, and limit.
func selectOldVersions(s *catalog.Stream) string {
	return sqlFile("select_old_versions", parts{
		"id": versionID(s), "key": keyNames(s), "stream": quote(s.Name), "table": versionsTable(s),
		"intent": quote(stateIntent + ":"),
		"old":    "synced_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')",
		"versions": "PARTITION BY account, " + keyNames(s) +
			" ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
	})
}

// deleteVersions removes versions of a stream by their ids.
func deleteVersions(s *catalog.Stream, before time.Time, ids []string) string {
	return sql("ALTER TABLE $table DELETE WHERE synced_at < fromUnixTimestamp64Milli($before, 'UTC') AND $id IN ($ids)",
		parts{"table": versionsTable(s), "before": fmt.Sprint(before.UnixMilli()), "id": versionID(s), "ids": literals(ids)})
}

// selectRetired asks when old rows were removed last, and for the time.
const selectRetired = "SELECT max(at), now64(3, 'UTC') FROM retention_log"
