package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// notAhead leaves out runs that began after now: they were dated by a wrong clock, and would be the last ones
// until that time.
const notAhead = "started_at <= now64(3, 'UTC') + toIntervalMinute(1)"

// wholeLooks is the condition for runs that bring a stream in step with the API. The others load single records of it,
// and say nothing about the rest.
var wholeLooks = inStepModes + " AND " + notAhead

// freshLooks is the condition for runs that say how fresh a stream is. A backfill of a range that was asked for does
// not, however it ends: it is about the past, and a person is there to see.
var freshLooks = freshModes + " AND " + notAhead

// succeeded is the condition for a run that brought the stream in step with the API. Of the runs of a first load only
// the last one has a watermark: by then everything is loaded.
const succeeded = "(outcome = '" + OutcomeSuccess + "' AND (mode != '" + ModeInitial + "' OR isNotNull(watermark)))"

// selectStandings reads the state of each stream, from the bookkeeping alone. It reads the runs once: there may be a
// million. If there are few, planning takes longer than running. So expressions are made columns of a subquery, which
// are planned once. A name that stands for an expression is planned again wherever it is used.
func selectStandings() string {
	return sqlFile("select_standings", parts{
		"succeeded": succeeded, "fresh": freshLooks, "faulty": faulty, "published": publishedSomething, "held": deletesHeld,
		"whole":   wholeModes,
		"running": quote(OutcomeRunning), "stopped": quote(OutcomeStopped),
		"initial": quote(ModeInitial), "watermark": quote(stateWatermark), "scope": quote(StateScope), "clock": quote(StateClock),
		"streams": stringArray(catalog.Names()),
	})
}

// selectAnyOfAccount says whether there is anything of an account: it counts 1 row or none. Parameter: account.
const selectAnyOfAccount = `SELECT count() FROM
(
    SELECT 1 FROM sync_runs_log WHERE account = {account:String}
    UNION ALL
    SELECT 1 FROM settlements_log WHERE account = {account:String}
    LIMIT 1
)`

// selectLiveRows counts the rows of the view of each stream.
func selectLiveRows() string {
	var counts []string
	for _, s := range catalog.All() {
		counts = append(counts, sql("SELECT account, $name AS stream, count() AS live FROM $view GROUP BY account",
			parts{"name": quote(s.Name), "view": s.Name}))
	}
	return strings.Join(counts, "\nUNION ALL\n")
}

// askedStream selects the rows of the account and the stream that are asked for, or all.
const askedStream = "({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})"

// rowsOfRun is the largest number of rows that a run has before they are merged: its beginning, its end, and that it
// was found dead or finished by another.
const rowsOfRun = 4

// selectRuns lists the runs that a filter selects, the newest first. Parameters: account and stream. If a few of each
// stream are asked for, it first finds out since when these are: to order a million runs takes long.
func selectRuns(f RunFilter) string {
	modes, recent, each := "", "", ""
	columns := `account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause`
	if f.Brief {
		columns = "account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, rows_read"
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
FROM sync_runs_log AS r FINAL$recent
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
