package warehouse

import (
	"fmt"
	"strings"
)

// selectState reads one state of a stream, and selectStates all of them in the order of writing.
const (
	selectState = `SELECT value, version FROM sync_state_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND name = {name:String}`

	selectStates = `SELECT name, value, version FROM sync_state_log FINAL
WHERE account = {account:String} AND stream = {stream:String} ORDER BY version`
)

// selectLease returns, in one row: the warehouse's time; the highest version of all states of a stream; its lease,
// with the version of that; and, with run, the highest version of that run's row. It needs no FINAL, since it asks
// for the newest value of one state. Two values are equally new only if a clock stands still. Then everyone sees the
// same one of them.
func selectLease(run bool) string {
	row := "toUInt64(0)"
	if run {
		row = "(SELECT max(version) FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID})"
	}
	return sql(`SELECT toUnixTimestamp64Micro(now64(6)), max(version), argMaxIf(value, (version, value), name = $lease), maxIf(version, name = $lease), $row
FROM sync_state_log WHERE account = {account:String} AND stream = {stream:String}`,
		parts{"lease": quote(stateLease), "row": row})
}

// deleteCleared drops rows of states of a stream that were cleared: those from before, or with cleared those
// that clear them.
func deleteCleared(account, stream string, names []string, cleared bool) string {
	what := "value != ''"
	if cleared {
		what = "value = ''"
	}
	return sql("ALTER TABLE sync_state_log DELETE WHERE account = $account AND stream = $stream AND name IN ($names) AND $what",
		parts{"account": quote(account), "stream": quote(stream), "names": literals(names), "what": what})
}

// selectInterrupted selects the streams of which a run had begun to publish and did not finish.
var selectInterrupted = sql("SELECT DISTINCT account, stream FROM sync_state WHERE startsWith(name, $intent) ORDER BY account, stream",
	parts{"intent": quote(stateIntent + ":")})

// selectOutcome, like all statements of the program about runs, reads the log of runs, and not its view: to plan a view
// of 26 columns takes longer than to read it.
const selectOutcome = `SELECT outcome FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID}`

// insertKilled marks the runs of a stream that never ended as killed, except for one. The condition is in a subquery:
// beside REPLACE, outcome would be the new value. Parameters: account, stream, alive, and now in microseconds.
var insertKilled = sql(`INSERT INTO sync_runs_log
SELECT * REPLACE ($killed AS outcome, fromUnixTimestamp64Milli(intDiv({now:Int64}, 1000), 'UTC') AS finished_at,
    $error AS error,
    greatest(toUInt64({now:Int64}), version + 1) AS version)
FROM
(
    SELECT * FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND outcome = $running AND run_id != {alive:UUID}
)`, parts{"killed": quote(OutcomeKilled), "running": quote(OutcomeRunning), "error": quote(diedEarly)})

// selectLeases selects the leases that were not given back, of all streams.
var selectLeases = sql("SELECT account, stream, value FROM sync_state_log FINAL WHERE name = $lease AND value != ''",
	parts{"lease": quote(stateLease)})

var selectLoadedFrom = sql("SELECT account, stream, value FROM sync_state_log FINAL WHERE name = $from",
	parts{"from": quote(StateFrom)})

// selectStillRunning selects those of some runs that have not ended. Parameter: runs.
var selectStillRunning = sql("SELECT account, stream, run_id FROM sync_runs_log FINAL WHERE outcome = $running AND has({runs:Array(String)}, toString(run_id))",
	parts{"running": quote(OutcomeRunning)})

// selectAliveRuns are the queries for the runs that may be alive, in the order in which to ask: a run whose row no
// longer says that it is running has stored its intent before that.
var selectAliveRuns = []string{
	`SELECT toString(run_id) FROM sync_runs_log FINAL
WHERE stream = {stream:String} AND account != {account:String} AND outcome = ` + quote(OutcomeRunning),

	sql(`SELECT JSONExtractString(value, 'run_id') FROM sync_state
WHERE stream = {stream:String} AND name != $watermark
    AND (name != $lease OR abs(dateDiff('second', updated_at, now())) < 86400)
    AND (NOT startsWith(name, $backfill) OR updated_at > now() - toIntervalSecond($seconds))`,
		parts{"watermark": quote(stateWatermark), "lease": quote(stateLease), "backfill": quote(BackfillPrefix),
			"seconds": fmt.Sprint(int(backfillLife.Seconds()))}),
}

// selectStagedRuns selects the runs that have a staging partition or a table of their own.
func selectStagedRuns(d dialect) string {
	return sqlFile("select_staged_runs", parts{"database": d.runDatabase(), "end": "$"})
}

// insertInto is the statement of a block of rows.
func insertInto(table string, cols []column) string {
	return sql("INSERT INTO $table ($columns)", parts{"table": table, "columns": joinNames(cols)})
}

const selectVersion = "SELECT version()"

// selectTime asks for the warehouse's clock in microseconds, and selectTimeAfter also for the newest version of some
// rows.
const selectTime = "SELECT toUnixTimestamp64Micro(now64(6))"

func selectTimeAfter(newest, from string) string {
	return sql("SELECT toUnixTimestamp64Micro(now64(6)), toUInt64($newest) FROM $from",
		parts{"newest": newest, "from": from})
}

// literals writes strings as a list of SQL literals that is never empty.
func literals(values []string) string {
	var text strings.Builder
	text.WriteString("''")
	for _, v := range values {
		text.WriteString(", " + quote(v))
	}
	return text.String()
}
