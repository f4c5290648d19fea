package warehouse

import "fmt"

// actionFields are the columns of which Action.fields has the values.
const actionFields = "action_id, at, actor, via, action, account, stream, run_id, deletes, reason"

// selectEarlierAction selects the first action under a key, and what it asked for. Parameter: key.
var selectEarlierAction = sql("SELECT $fields, request FROM operator_actions_log WHERE key = {key:String} ORDER BY version LIMIT 1",
	parts{"fields": actionFields})

// selectActions selects the last actions, the newest first.
func selectActions(limit int) string {
	return sql("SELECT $fields FROM operator_actions_log FINAL ORDER BY version DESC LIMIT $limit",
		parts{"fields": actionFields, "limit": fmt.Sprint(limit)})
}

// selectDirectives reads the last requests for each stream and each account: whether it is paused, and what it may
// delete.
func selectDirectives() string {
	return sql(`SELECT $fields, at > now64(3, 'UTC') - toIntervalSecond($age) AND at < now64(3, 'UTC') + toIntervalMinute(1) AS fresh
FROM operator_actions_log
WHERE action IN ($lasting)
ORDER BY version DESC
LIMIT 1 BY account, stream, action IN ($pausing)`, parts{
		"fields": actionFields, "age": fmt.Sprint(int(consentFor.Seconds())),
		"lasting": words([]string{ActionPause, ActionResume, ActionConsent, actionConsentUsed}),
		"pausing": words([]string{ActionPause, ActionResume}),
	})
}

// selectGuardedRuns reads, for each stream, the last run that reached the guard. Most streams were never stopped by it,
// and their runs are not read.
func selectGuardedRuns() string {
	return sqlFile("select_guarded_runs", parts{"success": quote(OutcomeSuccess), "guarded": quote(OutcomeGuarded),
		"whole": wholeModes, "not_ahead": notAhead})
}

// selectStorage asks how many bytes the database takes, and how many are free on its disk.
const selectStorage = `SELECT
    (SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()),
    (SELECT min(free_space) FROM system.disks)`
