package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// notAhead leaves out runs that began after now: a wrong clock timed them, and they would stay the last ones until that
// time.
const notAhead = "started_at <= now64(3, 'UTC') + toIntervalMinute(1)"

// wholeLooks are the runs that bring a stream in step with the API. The others load single records of it, and say
// nothing of the rest.
var wholeLooks = inStepModes + " AND " + notAhead

// freshLooks are the runs that say how fresh a stream is. A backfill of a range that was asked for does not, however it
// ends: it is about the past, and a person is there to see.
var freshLooks = freshModes + " AND " + notAhead

// succeeded is a run that brought the stream in step with the API. Of the loads of a first sync only the last one has a
// watermark, and with it all is loaded.
const succeeded = "(outcome = '" + OutcomeSuccess + "' AND (mode != '" + ModeInitial + "' OR isNotNull(watermark)))"

// selectStandings reads the state of each stream, from the bookkeeping alone. It reads the runs once for all but what
// has failed since the last success: there may be a million. What has failed is read without FINAL. A row that was
// replaced by that of a success began with it, and so does not count.
func selectStandings() string {
	return sql(`SELECT r.account, r.stream, r.last_success, r.looked_at, r.last_full, r.last_failure, r.last_run, r.last_outcome, r.last_error, r.last_waiting,
    ifNull(f.faults, 0), if(ifNull(f.faults, 0) = 0, NULL, f.since), ifNull(f.fault, ''), ifNull(f.fault_error, ''),
    parseDateTime64BestEffortOrNull(nullIf(w.value, ''), 3, 'UTC'), ifNull(c.value, ''), now64(3, 'UTC')
FROM
(
    SELECT account, stream, maxIf(finished_at, good) AS last_success,
        minIf(started_at, mode = $initial) AS first_load, countIf(good AND mode = $initial) > 0 AS loaded_first,
        maxIf(started_at, good AND mode != $initial) AS last_look, minIf(toNullable(started_at), good AND mode != $initial) AS first_look,
        nullIf(if(loaded_first, greatest(last_look, first_load), last_look), toDateTime64(0, 3, 'UTC')) AS looked_at,
        if(loaded_first, least(first_load, ifNull(first_look, first_load)), first_look) AS looked_first,
        ifNull(maxIf(toNullable(started_at), good AND $whole), looked_first) AS last_full,
        maxIf(finished_at, $faulty) AS last_failure, toNullable(max(started_at)) AS last_run,
        argMax(outcome, started_at) AS last_outcome, argMax(error, started_at) AS last_error,
        argMaxIf(waiting, started_at, $published AND $whole) AS last_waiting
    FROM (SELECT account, stream, started_at, finished_at, outcome, mode, error, waiting, $succeeded AS good FROM sync_runs WHERE $fresh)
    GROUP BY account, stream
) AS r
LEFT JOIN
(
    SELECT b.account AS account, b.stream AS stream, uniqExact(b.run_id) AS faults, min(b.started_at) AS since,
        argMax(b.outcome, (b.started_at, b.version)) AS fault, argMax(b.error, (b.started_at, b.version)) AS fault_error
    FROM (SELECT account, stream, run_id, started_at, outcome, error, version FROM sync_runs_log WHERE $fresh AND $faulty) AS b
    LEFT JOIN (SELECT account, stream, max(started_at) AS began FROM sync_runs_log WHERE $fresh AND $succeeded GROUP BY account, stream) AS good
        ON b.account = good.account AND b.stream = good.stream
    WHERE b.started_at > ifNull(good.began, toDateTime64(0, 3, 'UTC'))
    GROUP BY b.account, b.stream
) AS f ON r.account = f.account AND r.stream = f.stream
LEFT JOIN (SELECT account, stream, value FROM sync_state WHERE name = 'watermark') AS w ON r.account = w.account AND r.stream = w.stream
LEFT JOIN (SELECT account, stream, value FROM sync_state WHERE name = $scope) AS c ON r.account = c.account AND r.stream = c.stream
ORDER BY r.account, indexOf($streams, r.stream)`, parts{
		"succeeded": succeeded, "fresh": freshLooks, "faulty": faulty, "published": publishedSomething, "whole": wholeModes,
		"initial": quote(ModeInitial), "scope": quote(StateScope),
		"streams": stringArray(catalog.Names()),
	})
}

// selectLiveRows counts the rows of the view of each stream.
func selectLiveRows() string {
	var counts []string
	for _, s := range catalog.All() {
		counts = append(counts, sql("SELECT account, $name AS stream, count() AS live FROM $view GROUP BY account",
			parts{"name": quote(s.Name), "view": s.Name}))
	}
	return strings.Join(counts, "\nUNION ALL\n")
}

// askedStream lets rows of the account and the stream through that are asked for, or of all.
const askedStream = "({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})"

// rowsOfRun is how many rows a run has at most before they are merged: its beginning, its end, and that it was found
// dead or finished by another.
const rowsOfRun = 4

// selectRuns lists the runs that a filter lets through, the newest first. Parameters: account and stream. Where a few
// of each stream are asked for, it first looks since when these are: to order a million runs takes long.
func selectRuns(f RunFilter) string {
	modes, recent, each := "", "", ""
	columns := `account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error`
	if f.Brief {
		columns = "account, stream, mode, started_at, finished_at, outcome, requested_after, rows_read"
	}
	if f.WholeLooks {
		modes = " AND " + wholeLooks
	}
	if f.PerStream > 0 {
		each = fmt.Sprintf("LIMIT %d BY account, stream ", f.PerStream)
		recent = sql(`
INNER JOIN
(
    SELECT account, stream, -groupArraySorted($versions)(-toUnixTimestamp64Milli(started_at))[-1] AS since FROM sync_runs_log
    WHERE $mine$modes GROUP BY account, stream
) AS recent ON recent.account = r.account AND recent.stream = r.stream`,
			parts{"versions": fmt.Sprint(rowsOfRun * f.PerStream), "mine": askedStream, "modes": modes})
		modes += " AND toUnixTimestamp64Milli(started_at) >= recent.since"
	}
	return sql(`SELECT $columns
FROM sync_runs AS r$recent
WHERE $mine$modes
ORDER BY started_at DESC, account, stream ${each}LIMIT $limit`,
		parts{"columns": columns, "mine": askedStream, "modes": modes, "recent": recent, "each": each,
			"limit": fmt.Sprint(f.Limit)})
}

// stringArray writes strings as an array of SQL.
func stringArray(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
