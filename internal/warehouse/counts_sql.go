package warehouse

import "strings"

// countKeys counts the rows of deltas and their distinct keys. The rows are read in the order of the key, and each is
// compared with the one before it: a group for each key takes three to seven times as long. No account has an empty
// name, so the first row differs from the default value that it is compared with.
func countKeys(deltas []delta) string {
	return countEach(deltas, `SELECT $table AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple($key) AS this, lagInFrame(this) OVER (ORDER BY $key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM $delta)`)
}

// countFewKeys does the same as countKeys, for the deltas of a small run: planning a window takes longer than
// counting their keys in a set. It also counts the parts. The keys of all deltas are counted together. With one count
// for each delta, the engine would compile the third one, which takes longer than all the counts. A delta without
// rows is left out.
func countFewKeys(deltas []delta) string {
	return "SELECT table, count() AS rows, uniqExact(key) AS keys, uniqExact(part) AS parts\nFROM\n(\n" +
		countEach(deltas, "SELECT $table AS table, toString(tuple($key)) AS key, _part AS part FROM $delta") +
		"\n)\nGROUP BY table"
}

func countEach(deltas []delta, count string) string {
	var all []string
	for _, d := range deltas {
		all = append(all, sql(count, parts{"table": quote(d.table), "delta": d.name, "key": d.key}))
	}
	return strings.Join(all, "\nUNION ALL ")
}

// selectParts lists the parts of deltas and of the tables that they are attached to, with the hash of their content. It
// also lists the deltas that exist, with an empty hash.
func selectParts(d dialect) string {
	return sql(`SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), $local) AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = $local AND name IN ({deltas:Array(String)})`,
		parts{"local": d.runDatabase()})
}

// countOfRun counts the rows of a table that a run has loaded.
func countOfRun(table string) string {
	return sql("SELECT count() FROM $table WHERE account = {account:String} AND _run_id = {run:UUID}",
		parts{"table": table})
}

// countSame counts the rows of a delta that the derived table has. It looks them up by their keys, and reads
// nothing else.
func countSame(t target) string {
	return sql("SELECT uniqExact($row) FROM $table WHERE ($key) IN (SELECT $key FROM $delta) AND $row IN (SELECT $row FROM $delta)",
		parts{"table": t.table, "delta": t.delta, "key": t.key, "row": "sipHash128(toString(tuple(" + t.row + ")))"})
}

// count counts the rows of a target that a run has published.
func (t target) count() string {
	if t.key != "" {
		return countSame(t)
	}
	return countOfRun(t.table)
}
