package warehouse

import "strings"

// countKeys counts the rows of deltas and the values of their keys.
func countKeys(deltas []delta) string {
	var all []string
	for _, d := range deltas {
		all = append(all, sql("SELECT $table AS table, toUInt64(sum(n)) AS rows, count() AS keys FROM (SELECT count() AS n FROM $delta GROUP BY $key)",
			parts{"table": quote(d.table), "delta": d.name, "key": d.key}))
	}
	return strings.Join(all, "\nUNION ALL ")
}

// countAttachedParts counts the rows of deltas, and the rows of the parts of each target that have the content of a
// part of its delta.
func countAttachedParts(d dialect, targets []target) string {
	var all []string
	for _, t := range targets {
		all = append(all, sql(`SELECT $table AS table, (SELECT count() FROM $delta) AS delta,
    (SELECT toUInt64(sum(rows)) FROM
    (
        SELECT any(rows) AS rows FROM system.parts
        WHERE active AND database = currentDatabase() AND table = $table AND hash_of_all_files IN
        (
            SELECT hash_of_all_files FROM system.parts WHERE active AND database = $local AND table = $bare
        )
        GROUP BY hash_of_all_files
    )) AS attached`,
			parts{"table": quote(t.table), "delta": t.delta, "local": d.runDatabase(), "bare": quote(strings.TrimPrefix(t.delta, d.localDatabase))}))
	}
	return strings.Join(all, "\nUNION ALL ")
}

// countOfRun counts the rows of a table that a run has loaded.
func countOfRun(table string) string {
	return sql("SELECT count() FROM $table WHERE account = {account:String} AND _run_id = {run:UUID}", parts{"table": table})
}

// countSame counts the rows of a delta that the derived table has. It looks at their keys, and reads nothing else.
func countSame(table, delta, key string) string {
	return sql("SELECT uniqExact($row) FROM $table WHERE ($key) IN (SELECT $key FROM $delta) AND $row IN (SELECT $row FROM $delta)",
		parts{"table": table, "delta": delta, "key": key, "row": "sipHash128(toString(tuple(*)))"})
}

// count counts the rows of a target that a run has published.
func (t target) count() string {
	if t.key != "" {
		return countSame(t.table, t.delta, t.key)
	}
	return countOfRun(t.table)
}
