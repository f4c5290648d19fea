package warehouse

import "strconv"

// selectPlannedDeletes picks random rows among those that the plan deletes.
func (x script) selectPlannedDeletes(limit int) string {
	updated := "toInt64(0)"
	if i := x.Stream.VersionField(); i >= 0 {
		updated = "ifNull(toUnixTimestamp64Milli(" + x.Stream.Fields[i].Column + "), 0)"
	}
	inside := ""
	if len(x.Within) > 0 {
		inside = " AND $key NOT IN (" + x.selectOutside() + ")"
	}
	return x.render(`SELECT toString($key), $updated, $filtered FROM $latest FINAL
WHERE account = {account:String} AND $stored`,
		parts{"updated": updated, "filtered": filtered(x.Stream, x.Within),
			"stored": x.stored(x.render("$gone AND $key IN (SELECT $key FROM $changes WHERE $gone$inside ORDER BY cityHash64($key, $run) LIMIT $limit)",
				parts{"run": quote(x.ID.String()), "limit": strconv.Itoa(limit), "inside": x.render(inside, nil)}))})
}

// deletePlanned cancels the planned deletes whose key, as text, is not in the list or query. Rows outside of the scope
// stay planned: they may exist at the API, but are deleted anyway.
func (x script) deletePlanned(confirmed string) string {
	text := "ALTER TABLE $changes DELETE WHERE $gone AND toString($key) NOT IN ($confirmed)"
	if len(x.Within) > 0 {
		text += " AND $key NOT IN (" + x.selectOutside() + ")"
	}
	return x.render(text, parts{"confirmed": confirmed})
}

// selectAbsent returns the keys of rows that were missing from at least the given number of complete lists in a row.
func (x script) selectAbsent(lists int) string {
	return x.render("SELECT key FROM absent_rows_log FINAL WHERE account = $account AND stream = '$stream' AND lists >= $lists",
		parts{"account": quote(x.Account), "lists": strconv.Itoa(lists)})
}

// countUnconfirmed counts the planned deletes that deletePlanned would cancel.
func (x script) countUnconfirmed(confirmed string) string {
	return x.render("SELECT count() FROM $changes WHERE $gone AND toString($key) NOT IN ($confirmed)",
		parts{"confirmed": confirmed})
}

// countAbsence adds 1 to the count of each row that the run's plan deletes, unless this run was counted before. It sets
// the counts of all other rows back to 0.
func (x script) countAbsence() string {
	return x.render(`INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString($key) AS key FROM $changes WHERE $gone) AS gone
FULL JOIN
(
    SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL
    WHERE account = {account:String} AND stream = {stream:String}
) AS before ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0)`, nil)
}
