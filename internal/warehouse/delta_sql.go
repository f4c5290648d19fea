package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

func (x script) dropOldDelta() string { return dropDelta(x.names["delta"]) }

func (x script) createDelta() string { return createDeltaOf(x.names["latest"], x.names["delta"]) }

func dropDelta(delta string) string { return sql("DROP TABLE IF EXISTS $delta", parts{"delta": delta}) }

func createDeltaOf(table, delta string) string {
	return sql("CREATE TABLE IF NOT EXISTS $delta AS $table COMMENT 'What a run under way is about to publish'", parts{"table": table, "delta": delta})
}

// insertDelta copies what is new or changed from the staging table, in the types that people query. What no list has is
// kept as a deleted row is.
//
// In the first load of an account everything is new, and is not compared. Where no key was staged twice, FINAL is not
// needed, which costs as much as reading the rows six times.
func (x script) insertDelta(c Changes) string {
	version, restriction, join := "c.version", " AND $key IN (SELECT $key FROM $changes WHERE $written)",
		"\nINNER JOIN (SELECT $key, version FROM $changes WHERE $written) AS c ON s.$key = c.$key"
	if c.First {
		version, restriction, join = cappedVersion("s._version"), "", ""
	}
	restriction = x.render(restriction, nil)
	rows := x.stagedRows("*, _version, _hash", restriction, c.Ahead > 0)
	if c.Distinct == c.Staged {
		rows = x.render("SELECT *, _version, _hash\n    FROM $staging\n    WHERE run_id = {run:UUID}$restriction", parts{"restriction": restriction})
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
) AS s$join`, parts{"names": names, "values": values, "version": version, "deleted": deleted, "rows": rows, "join": x.render(join, nil)})
}

// deltaColumns are the columns of a delta that hold what was read, without the key, and their values in the staging
// table.
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
    WHERE account = {account:String} AND $key IN (SELECT $key FROM $changes WHERE $gone)
) AS l
INNER JOIN (SELECT $key, version FROM $changes WHERE $gone) AS c ON l.$key = c.$key`,
		parts{"columns": joinNames(append(keyColumns(x.Stream), dataColumns(x.Stream)...))})
}

// countParts counts the parts of a table that is only there for a run.
const countParts = "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = {delta:String}"

func mergeParts(delta string) string {
	return sql("OPTIMIZE TABLE $delta FINAL", parts{"delta": delta})
}

// attachDelta publishes the delta: all of its parts become visible at once.
func attachDelta(table, delta string) string {
	return sql("ALTER TABLE $table ATTACH PARTITION tuple() FROM $delta", parts{"table": table, "delta": delta})
}

// countAttached counts the rows of a delta, and those of them that the table has already.
func countAttached(table, delta string) string {
	return sql(`SELECT (SELECT count() FROM $delta), (SELECT count() FROM $table WHERE account = {account:String} AND _run_id = {run:UUID})`,
		parts{"table": table, "delta": delta})
}

func dropTable(table string) string {
	return sql("DROP TABLE IF EXISTS $table SYNC", parts{"table": table})
}

func (x script) dropStaged(table string) string {
	return sql("ALTER TABLE $table DROP PARTITION $run", parts{"table": table, "run": quote(x.ID.String())})
}
