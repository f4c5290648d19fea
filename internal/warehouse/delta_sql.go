package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

func (x script) createDelta() string {
	return x.dialect.createDelta(x.names["latest"], x.names["delta"], createLatest(x.Stream))
}

// dropDelta drops tables that exist only for a run, before they are made.
func dropDelta(deltas ...string) string {
	return sql("DROP TABLE IF EXISTS $deltas", parts{"deltas": strings.Join(deltas, ", ")})
}

// readAllUpTo is the number of staged rows up to which insertDelta reads all of them, with all their columns.
const readAllUpTo = 1000

// insertDelta copies what is new or changed from the staging table, in the types that people query. Rows that no list
// has (Changes.Unlisted) are kept in the same way as deleted rows.
//
// In the first load of an account everything is new, so nothing is compared. If no key was staged twice, FINAL is left
// out, since it costs as much as reading the rows six times. If few rows are staged, all of them are read and joined:
// to look first for those that change takes longer.
func (x script) insertDelta(c Changes) string {
	version, restriction, join := "c.version", " AND $key IN (SELECT $key FROM $changes WHERE $written)",
		"\nINNER JOIN (SELECT $key, version FROM $changes WHERE $written) AS c ON s.$key = c.$key"
	switch {
	case c.First:
		version, restriction, join = cappedVersion("s._version"), "", ""
	case c.Staged <= readAllUpTo:
		restriction = ""
	}
	restriction = x.render(restriction, nil)
	rows := x.stagedRows("*, _version, _hash", restriction, c.Ahead > 0)
	if c.Distinct == c.Staged {
		rows = x.render("SELECT *, _version, _hash\n    FROM $staging\n    WHERE run_id = {run:UUID}$restriction",
			parts{"restriction": restriction})
	}
	deleted := "0"
	if c.Unlisted {
		deleted = "1"
	}
	names, values := deltaColumns(x.Stream)
	return x.render(`INSERT INTO $delta (account, $key, $names, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.$key,
    $values,
    $merged_at, _hash, $version, $deleted, {run:UUID}
FROM
(
    $rows
) AS s$join`, parts{"names": names, "values": values, "version": version, "deleted": deleted, "rows": rows,
		"join": x.render(join, nil)})
}

// deltaColumns returns the columns of a delta that hold what was read, without the key, and the expressions for their
// values in the staging table.
func deltaColumns(s *catalog.Stream) (names, values string) {
	var to, from []string
	if s.DerivedKey {
		to, from = append(to, catalog.KeyRuleColumn), append(from, catalog.KeyRuleColumn)
	}
	for i, f := range s.Fields {
		if !f.Key {
			to, from = append(to, f.Column), append(from, fromWire(s.Fields, i))
		}
	}
	return strings.Join(append(to, "_extra"), ", "), joined(append(from, "_extra"))
}

// insertTombstones adds the rows that are gone, with their last content, as deleted.
func (x script) insertTombstones() string {
	return x.render(`INSERT INTO $delta (account, $columns, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, $columns, $merged_at, _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT $columns, _hash
    FROM $latest FINAL
    WHERE account = {account:String} AND $stored
) AS l
INNER JOIN (SELECT $key, version FROM $changes WHERE $gone) AS c ON l.$key = c.$key`,
		parts{"columns": joinNames(append(keyColumns(x.Stream), dataColumns(x.Stream)...)), "stored": x.stored(isGone)})
}

// selectInParts lists the tables of a run, of those that are given, which have more than one part.
func selectInParts(d dialect) string {
	return sql(`SELECT table FROM system.parts
WHERE active AND database = $database AND table IN ({deltas:Array(String)})
GROUP BY table HAVING count() > 1 ORDER BY table`, parts{"database": d.runDatabase()})
}

func mergeParts(delta string) string {
	return sql("OPTIMIZE TABLE $delta FINAL", parts{"delta": delta})
}

// attachDelta publishes the delta: all of its parts become visible at once.
func attachDelta(table, delta string) string {
	return sql("ALTER TABLE $table ATTACH PARTITION tuple() FROM $delta", parts{"table": table, "delta": delta})
}

// attachDerived publishes the delta of a derived table.
func attachDerived(table, delta, account string) string {
	return sql("ALTER TABLE $table ATTACH PARTITION $account FROM $delta",
		parts{"table": table, "delta": delta, "account": quote(account)})
}

func dropTable(tables ...string) string {
	return sql("DROP TABLE IF EXISTS $tables SYNC", parts{"tables": strings.Join(tables, ", ")})
}

func (x script) dropStaged(table string) string {
	return sql("ALTER TABLE $table DROP PARTITION $run", parts{"table": table, "run": quote(x.ID.String())})
}
