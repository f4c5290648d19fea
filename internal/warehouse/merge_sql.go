package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// The statements of a merge, as pure functions of the stream and the run. Parameters: account, run, started (of the
// run) and merged_at, the last two in microseconds and milliseconds since 1970.

// Values of the column change.
const (
	changeInsert = 1
	changeUpdate = 2
	changeDelete = 3
)

func createChanges(r Run) string {
	key := keyColumns(r.Stream)[0]
	return "CREATE TABLE IF NOT EXISTS " + r.changes() + " (" + key.name + " " + key.typ +
		", change UInt8, version UInt128) ENGINE = MergeTree ORDER BY " + key.name + " COMMENT 'What a run under way will change'"
}

// stagedVersion is the version of a staged row s next to the current row l. In three cases the row is held to be at
// least as new upstream as the current one, so that the time of reading decides: it came without a usable updatedAt;
// the current row is deleted, and what is listed again is live again; or the run has read the whole list, so that what
// it read is what there is, even where an updatedAt was set back.
func stagedVersion(s *catalog.Stream, scope Scope) string {
	lifted := "greatest(s._version, bitOr(" + upstreamPart("l._version") + ", bitAnd(s._version, " + readPart + ")))"
	switch {
	case s.VersionField() < 0:
		return "s._version"
	case scope == Whole:
		return lifted
	}
	return "if(s._undated OR l._deleted, " + lifted + ", s._version)"
}

// readPart masks the time of reading in a version.
const readPart = "toUInt128(18446744073709551615)"

func upstreamPart(version string) string {
	return "bitShiftLeft(bitShiftRight(" + version + ", 64), 64)"
}

// insertChanges compares the staged rows with the current ones, by key, version and hash alone: wide columns are read
// only for what changes.
func insertChanges(r Run, scope Scope) string {
	s, key := r.Stream, keyNames(r.Stream)
	undated := ""
	if i := s.VersionField(); i >= 0 {
		undated = ", " + absent(s.Fields, i) + " AS _undated"
	}
	staged := "SELECT " + key + ", _version, _hash" + undated + " FROM " + s.Name + "_staging FINAL WHERE run_id = {run:UUID}"
	current := "SELECT " + key + ", _version, _hash, _deleted FROM " + s.Name + "_latest FINAL WHERE account = {account:String}"
	join := "FULL JOIN"
	if scope != Whole {
		current += " AND " + key + " IN (SELECT " + key + " FROM " + s.Name + "_staging WHERE run_id = {run:UUID})"
		join = "LEFT JOIN"
	}
	// A version is never 0: a side whose version is 0 is the default of a missing one.
	changed := "s._version != 0 AND (l._version = 0 OR staged_version > l._version AND (s._hash != l._hash OR l._deleted))"
	// What is listed and cannot be loaded is there all the same: its row stays as it is. Of one reject the last reading is
	// kept, and another worker may have made that since the run began: then it was listed as well.
	gone := "s._version = 0 AND l._deleted = 0 AND bitAnd(l._version, " + readPart + ") < {started:UInt64} AND toString(l." + key + ") NOT IN" +
		" (SELECT key FROM rejects_log WHERE account = {account:String} AND stream = " + quote(s.Name) + " AND field = ''" +
		" AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64}))"
	where := changed
	switch scope {
	case Whole:
		where = "(" + changed + ") OR (" + gone + ")"
	case Unlisted:
		where = "s._version != 0 AND l._version = 0"
	}
	return "INSERT INTO " + r.changes() + " (" + key + ", change, version)\n" +
		"WITH " + stagedVersion(s, scope) + " AS staged_version\n" +
		"SELECT if(s._version = 0, l." + key + ", s." + key + ")," +
		" multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, 2)," +
		" if(s._version = 0, bitOr(" + upstreamPart("l._version") + ", toUInt128({started:UInt64})), staged_version)\n" +
		"FROM (" + staged + ") AS s\n" + join + " (" + current + ") AS l ON s." + key + " = l." + key + "\n" +
		"WHERE " + where
}

// insertDelta copies what is new or changed from the staging table, in the types that people query. all says that
// every staged row is: then no comparison is needed. once says that no key was staged twice: then FINAL, which costs
// as much as reading the rows six times, is not needed. What no list has is kept as a deleted row is.
func insertDelta(r Run, all, once, unlisted bool) string {
	s, key := r.Stream, keyNames(r.Stream)
	names := []string{"account", key}
	values := []string{"{account:String}", "s." + key}
	if s.DerivedKey {
		names, values = append(names, catalog.KeyRuleColumn), append(values, catalog.KeyRuleColumn)
	}
	for i, f := range s.Fields {
		if !f.Key {
			names, values = append(names, f.Column), append(values, fromWire(s.Fields, i))
		}
	}
	version, join := "s._version", ""
	if !all {
		version = "c.version"
		join = "\nINNER JOIN (SELECT " + key + ", version FROM " + r.changes() + " WHERE change != 3) AS c ON s." + key + " = c." + key
	}
	names = append(names, "_extra", "synced_at", "_hash", "_version", "_deleted", "_run_id")
	deleted := "0"
	if unlisted {
		deleted = "1"
	}
	values = append(values, "_extra", mergedAt, "_hash", version, deleted, "{run:UUID}")
	restrict := ""
	if !all {
		restrict = " AND " + key + " IN (SELECT " + key + " FROM " + r.changes() + " WHERE change != 3)"
	}
	final := " FINAL"
	if once {
		final = ""
	}
	return "INSERT INTO " + r.delta() + " (" + strings.Join(names, ", ") + ")\nSELECT " + strings.Join(values, ", ") +
		"\nFROM (SELECT *, _version, _hash FROM " + s.Name + "_staging" + final + " WHERE run_id = {run:UUID}" + restrict + ") AS s" + join
}

const mergedAt = "fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC')"

// insertTombstones adds the rows that are gone, with their last content, as deleted.
func insertTombstones(r Run) string {
	s, key := r.Stream, keyNames(r.Stream)
	kept := joinNames(append(keyColumns(s), dataColumns(s)...))
	return "INSERT INTO " + r.delta() + " (account, " + kept + ", synced_at, _hash, _version, _deleted, _run_id)\n" +
		"SELECT {account:String}, " + kept + ", " + mergedAt + ", _hash, c.version, 1, {run:UUID}\n" +
		"FROM (SELECT " + kept + ", _hash FROM " + s.Name + "_latest FINAL WHERE account = {account:String}" +
		" AND " + key + " IN (SELECT " + key + " FROM " + r.changes() + " WHERE change = 3)) AS l\n" +
		"INNER JOIN (SELECT " + key + ", version FROM " + r.changes() + " WHERE change = 3) AS c ON l." + key + " = c." + key
}

func createDelta(table, like string) string {
	return "CREATE TABLE IF NOT EXISTS " + table + " AS " + like + " COMMENT 'What a run under way is about to publish'"
}

// attachDelta publishes the delta: all of its parts become visible at once.
func attachDelta(table, delta string) string {
	return "ALTER TABLE " + table + " ATTACH PARTITION tuple() FROM " + delta
}
