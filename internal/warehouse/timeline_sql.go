package warehouse

import "fmt"

// selectRunSpans reads the rows of runs that began in the time in question, or in the month before.
func selectRunSpans(most int) string {
	return sql(`SELECT account, stream, mode, outcome, started_at, finished_at, run_id FROM sync_runs
WHERE started_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND started_at > fromUnixTimestamp64Milli({from:Int64}, 'UTC') - toIntervalDay(31)
    AND (isNull(finished_at) AND outcome = $running OR finished_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC'))
ORDER BY started_at DESC, account, stream LIMIT $limit`,
		parts{"limit": fmt.Sprint(most + 1), "running": quote(OutcomeRunning)})
}
