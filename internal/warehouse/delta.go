package warehouse

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"dealhouse/internal/catalog"
)

func (x script) createDelta() string {
	return x.dialect.createDelta(x.names["latest"], x.names["delta"], createLatest(x.dialect, x.Stream))
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
	rows := x.stagedRows("*, _version", restriction, c.Ahead > 0)
	if c.Distinct == c.Staged {
		rows = x.render("SELECT *, _version\n    FROM $staging\n    WHERE run_id = {run:UUID}$restriction",
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
GROUP BY table HAVING count() > uniqExact(partition_id) ORDER BY table`, parts{"database": d.runDatabase()})
}

func mergeParts(delta string) string {
	return sql("OPTIMIZE TABLE $delta FINAL", parts{"delta": delta})
}

// attachDelta publishes the delta of a stream: all of its parts become visible at once.
func (d dialect) attachDelta(s *catalog.Stream, table, delta string) string {
	return sql("ALTER TABLE $table ATTACH PARTITION $partitions FROM $delta",
		parts{"table": table, "delta": delta, "partitions": d.partitions(s)})
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

// The entries of a child are staged packed, together with their record, and are compared by one hash over all of
// them: most lists have not changed since the record was last read. Only if the hash differs are they unpacked and
// compared one by one.

func (x script) createChildHashesDelta() string {
	return x.dialect.createDelta(x.names["child_hashes"], x.names["child_hashes_delta"], createChildHashes(x.Stream))
}

func (x script) createChildDelta() string {
	return x.dialect.createDelta(x.names["child_latest"], x.names["child_delta"], createChildLatest(x.Stream))
}

// insertChildHashes fills the delta of the hashes with the lists that differ from those that were last loaded. A list
// that was read before the stored one keeps its time of reading, and so does not replace it. A stored time of reading
// that is in the future came from a clock that was wrong, and does not count.
func (x script) insertChildHashes(c Changes) string {
	return x.sqlFile("insert_child_hashes", parts{"hash": hashOfEntries(x.Stream.Child), "lists": x.stagedLists(c)})
}

// stagedLists returns the source of the staged lists, one of each record: that of the row which is loaded of it. FINAL
// takes the same one as stagedRows does. It is applied before any condition on other columns than the key.
func (x script) stagedLists(c Changes) string {
	if c.Distinct == c.Staged {
		return x.render("$staging", nil)
	}
	return x.render("$staging FINAL", nil)
}

// hashOfEntries returns the hash of the packed entries of a staged row. It also covers the values that the entries take
// from their record, and the names of the entries' fields. So when a field is added, every hash differs from the stored
// one. All entries are then compared one by one, once, and only those that really differ are written.
func hashOfEntries(c *catalog.Child) string {
	var names, inherited []string
	for _, f := range c.Fields {
		names = append(names, f.Column)
	}
	for _, f := range c.Inherit {
		inherited = append(inherited, f.Column)
	}
	return hashOf(append([]string{quote(strings.Join(names, " ")), "_entries"}, inherited...))
}

// insertChildDelta fills the delta of the child with the staged entries that are new or differ from the current ones.
// It looks only at the lists that differ. A stored time of reading that is in the future came from a clock that was
// wrong, and does not count.
func (x script) insertChildDelta(c Changes) string {
	fields := x.Stream.Child.AllFields()
	var stored, read, staged, differ []string
	for _, i := range childValues(x.Stream.Child) {
		name := fields[i].Column
		stored, read = append(stored, name), append(read, name+"_read")
		staged = append(staged, fromWire(fields, i)+" AS "+name+"_read")
		differ = append(differ, "NOT (s."+name+"_read <=> l."+name+")")
	}
	day := childKeyField(x.Stream.Child)
	lists := x.render("SELECT $key FROM $child_hashes_delta", nil)
	return x.sqlFile("insert_child_delta", parts{
		"day": fields[day].Column, "day_read": fields[day].Column + "_read", "staged_day": fromWire(fields, day), "stored": strings.Join(stored, ", "),
		"read":   strings.Join(read, ", "),
		"staged": strings.Join(staged, ", "), "differ": strings.Join(differ, " OR "), "lists": lists,
		"unpacked": x.unpacked(c, lists),
	})
}

// unpacked selects the entries of staged lists, one row each, in their wire form (catalog.Child.PackedSize).
func (x script) unpacked(c Changes, lists string) string {
	child := x.Stream.Child
	var inherited []string
	for _, f := range child.Inherit {
		inherited = append(inherited, f.Column)
	}
	repeated := strings.Join(inherited, ", ")
	values := []string{"reinterpret(substring(_entry, 1, 1), 'UInt8') AS _nulls"}
	at := 2
	for _, f := range child.Fields {
		values = append(values, fmt.Sprintf("reinterpret(substring(_entry, %d, %d), '%s') AS %s", at, f.PackedSize(),
			f.Type.Wire(), f.Column))
		at += f.PackedSize()
	}
	return x.render(`SELECT $key, $repeated, read, _entry, $values
        FROM
        (
            SELECT $key, $repeated, toUInt64(_fetched) AS read,
                arrayJoin(arrayMap(i -> substring(_entries, i * $size + 1, $size), range(intDiv(length(_entries), $size)))) AS _entry
            FROM $of
            WHERE run_id = {run:UUID} AND $key IN ($lists)
        )`, parts{"repeated": repeated, "values": strings.Join(values, ", "), "size": fmt.Sprint(child.PackedSize()),
		"lists": lists, "of": x.stagedLists(c)})
}

// selectNewest reads the live rows with the highest updatedAt.
func (x script) selectNewest(limit int) string {
	return x.render(`SELECT toString($key), $updated AS updated, $key IN (SELECT $key FROM $staging WHERE run_id = {run:UUID})
FROM $latest FINAL
WHERE account = {account:String} AND _deleted = 0
ORDER BY updated DESC, $key
LIMIT $limit`, parts{"updated": updatedAt(x.Stream), "limit": strconv.Itoa(limit)})
}

// countAlike counts the live rows of which the run has read a row with the same key and two thirds of their values.
func (x script) countAlike() string {
	var staged, stored, same []string
	for i, f := range x.Stream.Fields {
		if !f.Key {
			staged, stored = append(staged, fromWire(x.Stream.Fields, i)+" AS "+f.Column+"_read"), append(stored, f.Column)
			same = append(same, "(s."+f.Column+"_read <=> l."+f.Column+")")
		}
	}
	return x.render(`SELECT uniqExact($key)
FROM (SELECT $key, $staged FROM $staging WHERE run_id = {run:UUID}) AS s
INNER JOIN (SELECT $key, $stored FROM $latest FINAL WHERE account = {account:String} AND _deleted = 0) AS l ON s.$key = l.$key
WHERE 3 * ($same) >= 2 * $fields`, parts{"staged": strings.Join(staged, ", "), "stored": strings.Join(stored, ", "),
		"same": strings.Join(same, " + "), "fields": strconv.Itoa(len(same))})
}

// updatedAt is the updatedAt of a row of a stream in milliseconds, 0 if there is none.
func updatedAt(s *catalog.Stream) string {
	i := s.VersionField()
	if i < 0 {
		return "toInt64(0)"
	}
	return "ifNull(toUnixTimestamp64Milli(" + s.Fields[i].Column + "), 0)"
}

// selectPlannedDeletes picks random rows among those that the plan deletes.
func (x script) selectPlannedDeletes(limit int) string {
	inside := ""
	if len(x.Within) > 0 {
		inside = " AND $key NOT IN (" + x.selectOutside() + ")"
	}
	return x.render(`SELECT toString($key), $updated, $filtered FROM $latest FINAL
WHERE account = {account:String} AND $stored`,
		parts{"updated": updatedAt(x.Stream), "filtered": filtered(x.Stream, x.Within),
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

func (x script) deleteAllPlanned() string {
	return x.render("ALTER TABLE $changes DELETE WHERE $gone", nil)
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
	return x.sqlFile("count_absence", nil)
}

// delta is a table that holds what a run changes in another table.
type delta struct {
	table string // the table that it is made for, or movesOf
	name  string // in full, as statements need it
	key   string // the columns of the sorting key; each of its values is there once
}

// movesOf is the name of the table that is attached to _latest instead of the delta if rows have moved.
func movesOf(s *catalog.Stream) string { return s.Name + "_moves" }

var orderBy = regexp.MustCompile(`(?m)^ORDER BY (.+)$`)

// sortedBy returns the columns of the sorting key of a table, taken from the statement that creates it.
func sortedBy(create string) string {
	key := orderBy.FindStringSubmatch(create)[1]
	if strings.HasPrefix(key, "(") {
		key = strings.TrimSuffix(key[1:], ")")
	}
	return key
}

// createDelta makes a table with the columns and the engine of another one. If that is replicated, the engine is the
// one for a single server: the place in Keeper is that of the other table.
func (d dialect) createDelta(table, delta, create string) string {
	engine := ""
	if d.localDatabase != "" {
		_, engine, _ = strings.Cut(create, "\nENGINE = ")
		engine, _, _ = strings.Cut("\nENGINE = "+engine, "\nCOMMENT ")
	}
	return sql("CREATE TABLE IF NOT EXISTS $delta AS $table$engine COMMENT 'What a run under way is about to publish'",
		parts{"table": table, "delta": delta, "engine": engine})
}

// scopeCondition returns the condition that stored rows are in a scope. A row without a value for a filter is not.
func scopeCondition(s *catalog.Stream, scope catalog.Scope) string {
	var conditions []string
	for _, c := range scope {
		f := s.Filter(c.Filter)
		normal := func(value string) string {
			switch {
			case f.Lower:
				return "lower(" + value + ")"
			case f.Upper:
				return "upper(" + value + ")"
			}
			return value
		}
		condition := sql("has($values, $value)", parts{"values": stringArray(c.Values), "value": normal(f.Column)})
		if s.Fields[s.Field(f.Column)].Type.List() {
			condition = sql("arrayExists(v -> has($values, $value), $column)",
				parts{"values": stringArray(c.Values), "value": normal("v"), "column": f.Column})
		}
		conditions = append(conditions, condition)
	}
	return strings.Join(conditions, " AND ")
}

// filtered returns the values by which the rows of a scope were selected, as one text (PlannedDelete.Filtered).
func filtered(s *catalog.Stream, scope catalog.Scope) string {
	values := []string{"''"}
	for _, c := range scope {
		f := s.Filter(c.Filter)
		value := "toString(" + f.Column + "), '\\0'"
		if s.Fields[s.Field(f.Column)].Type.List() {
			value = "arrayStringConcat(" + f.Column + ", '\\0'), '\\0'"
		}
		values = append(values, value)
	}
	if len(values) == 1 {
		return values[0]
	}
	return "concat(" + strings.Join(values, ", ") + ")"
}

// selectOutside selects the keys of the account's rows that are outside of the scope of the run. It has no parameters,
// since it is also part of a mutation.
func (x script) selectOutside() string {
	return x.render("SELECT $key FROM $latest FINAL WHERE account = $account AND NOT ($within)",
		parts{"account": quote(x.Account), "within": scopeCondition(x.Stream, x.Within)})
}

// countOutside counts the planned deletes that are outside of the scope of the run.
func (x script) countOutside() string {
	return x.render("SELECT count() FROM $changes WHERE $gone AND $key IN ($outside)",
		parts{"outside": x.selectOutside()})
}
