package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// The statements of a merge, as pure functions of the stream and the run. Parameters: account, run, started (of the run,
// in microseconds since 1970), latest (the latest time of reading that a stored row can have, in microseconds), cap (the
// time of the service, in milliseconds: nothing has changed there later) and merged_at (in milliseconds).

// Values of the column change.
const (
	changeInsert = 1
	changeUpdate = 2
	changeDelete = 3
	changeOlder  = 4 // nothing changes: what was read has other content, but is dated before what is stored
)

// Conditions on the column change: the rows that are written with what was staged, and those with their last content.
var (
	isWritten = fmt.Sprintf("change IN (%d, %d)", changeInsert, changeUpdate)
	isGone    = fmt.Sprintf("change = %d", changeDelete)
)

func createChanges(r Run) string {
	key := keyColumns(r.Stream)[0]
	return "CREATE TABLE IF NOT EXISTS " + r.changes() + " (" + key.name + " " + key.typ +
		", change UInt8, version UInt128) ENGINE = MergeTree ORDER BY " + key.name + " COMMENT 'What a run under way will change'"
}

// readPart masks the time of reading in a version.
const readPart = "toUInt128(18446744073709551615)"

func upstreamPart(version string) string {
	return "bitShiftLeft(bitShiftRight(" + version + ", 64), 64)"
}

// cappedVersion is the version of a staged row with an updatedAt that is not after the service's own time.
func cappedVersion(version string) string {
	return "least(" + version + ", bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(" + version + ", " + readPart + ")))"
}

// datedAhead says of a time upstream, in milliseconds, that it lies after the one it is compared with: so far that no
// clocks which differ a little explain it. It is wrong, and says nothing of when the row changed.
func datedAhead(upstream, of string) string {
	return fmt.Sprintf("%s > %s + %d", upstream, of, clockTolerance.Milliseconds())
}

// stagedAhead is datedAhead of staged rows.
var stagedAhead = datedAhead("bitShiftRight(_version, 64)", "{cap:UInt64}")

// stagedRows are the rows that a run has staged, the newest of each key. FINAL takes the highest version, which is not
// the newest row where one of a key is dated ahead: then the one that was read last is.
func stagedRows(r Run, columns, condition string, ahead bool) string {
	from, newest := "\n FROM "+r.Stream.Name+"_staging", " WHERE run_id = {run:UUID}"+condition
	if !ahead {
		return "SELECT " + columns + from + " FINAL" + newest
	}
	key := keyNames(r.Stream)
	return "SELECT " + columns + from + newest + " ORDER BY " + key + ", if(max(" + stagedAhead + ") OVER (PARTITION BY " + key +
		"), toUInt128(_fetched), _version) DESC, _version DESC, _hash LIMIT 1 BY " + key
}

// compared names what insertChanges compares (warehouse-6): of a staged row s and the stored one l, when each changed
// upstream and when it was read, and the version that s gets.
//
// Upstream times are in milliseconds. That of a stored row is the lowest of what is known of it: its version may have
// been lifted, and its updatedAt may be after the service's time. In four cases the staged row is held to be at least as
// new upstream as the stored one, so that the time of reading decides: it came without a usable updatedAt; the stored
// row is dated ahead; it is deleted, and what is listed again is live again; or the run has read the whole list, so that
// what it read is what there is, even where an updatedAt was set back.
//
// A time of reading that lies ahead came from a clock that was wrong: whatever is read now was read later.
func compared(s *catalog.Stream, scope Scope) string {
	names := []string{
		"bitShiftRight(" + cappedVersion("s._version") + ", 64) AS s_own",
		"least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped",
	}
	switch {
	case s.VersionField() < 0:
		names = append(names, "l_capped AS l_changed", "s_own AS s_changed")
	case scope == Whole:
		names = append(names, "least(l_capped, toUInt128(l._updated)) AS l_changed", "greatest(s_own, l_changed) AS s_changed")
	default:
		names = append(names, "least(l_capped, toUInt128(l._updated)) AS l_changed",
			"if(s._undated OR l._deleted OR "+datedAhead("l._updated", "l_capped")+", greatest(s_own, l_changed), s_own) AS s_changed")
	}
	return strings.Join(append(names,
		"bitAnd(s._version, "+readPart+") AS s_read",
		"if(bitAnd(l._version, "+readPart+") > {latest:UInt64}, 0, bitAnd(l._version, "+readPart+")) AS l_read",
		"s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer",
		"greatest("+cappedVersion("s._version")+", if(l._version = 0, 0, bitOr("+upstreamPart("l._version")+", s_read)), if(l._version = 0, 0, l._version + 1)) AS s_version",
	), ",\n    ")
}

// insertChanges compares the staged rows with the current ones, by key, version and hash alone: wide columns are read
// only for what changes.
func insertChanges(r Run, scope Scope, ahead bool) string {
	s, key := r.Stream, keyNames(r.Stream)
	undated, updated := "", ""
	if i := s.VersionField(); i >= 0 {
		undated = ", " + absent(s.Fields, i) + " AS _undated"
		updated = fmt.Sprintf(", ifNull(toUInt64(greatest(toUnixTimestamp64Milli(%s), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated", s.Fields[i].Column)
	}
	staged := stagedRows(r, key+", _version, _hash"+undated, "", ahead)
	current := "SELECT " + key + ", _version, _hash, _deleted" + updated + " FROM " + s.Name + "_latest FINAL WHERE account = {account:String}"
	join := "FULL JOIN"
	if scope != Whole {
		current += " AND " + key + " IN (SELECT " + key + " FROM " + s.Name + "_staging WHERE run_id = {run:UUID})"
		join = "LEFT JOIN"
	}
	// A version is never 0: a side whose version is 0 is the default of a missing one.
	changed := "s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted))"
	// What is listed and cannot be loaded is there all the same: its row stays as it is. Of one reject the last reading is
	// kept, and another worker may have made that since the run began: then it was listed as well.
	gone := "s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l." + key + ") NOT IN" +
		" (SELECT key FROM rejects_log WHERE account = {account:String} AND stream = " + quote(s.Name) + " AND field = ''" +
		" AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64}))"
	where := ""
	switch scope {
	case Whole:
		where = "(" + changed + ") OR (" + gone + ")"
	case Part:
		where = "(" + changed + ") OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash)"
	case Unlisted:
		where = "s._version != 0 AND l._version = 0"
	}
	return "INSERT INTO " + r.changes() + " (" + key + ", change, version)\n" +
		"WITH " + compared(s, scope) + "\n" +
		"SELECT if(s._version = 0, l." + key + ", s." + key + ")," +
		fmt.Sprintf(" multiIf(s._version = 0, %d, l._version = 0 OR l._deleted, %d, newer, %d, %d),", changeDelete, changeInsert, changeUpdate, changeOlder) +
		" if(s._version = 0, greatest(bitOr(" + upstreamPart("l._version") + ", toUInt128({started:UInt64})), l._version + 1), s_version)\n" +
		"FROM (" + staged + ") AS s\n" + join + " (" + current + ") AS l ON s." + key + " = l." + key + "\n" +
		"WHERE " + where
}

// insertDelta copies what is new or changed from the staging table, in the types that people query. In the first load
// of an account all is: then no comparison is needed. Where no key was staged twice, FINAL, which costs as much as reading
// the rows six times, is not needed. What no list has is kept as a deleted row is.
func insertDelta(r Run, c Changes) string {
	all, once := c.First, c.Distinct == c.Staged // the first load of an account has nothing to be compared with
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
	version, join := cappedVersion("s._version"), ""
	if !all {
		version = "c.version"
		join = "\nINNER JOIN (SELECT " + key + ", version FROM " + r.changes() + " WHERE " + isWritten + ") AS c ON s." + key + " = c." + key
	}
	names = append(names, "_extra", "synced_at", "_hash", "_version", "_deleted", "_run_id")
	deleted := "0"
	if c.Unlisted {
		deleted = "1"
	}
	values = append(values, "_extra", mergedAt, "_hash", version, deleted, "{run:UUID}")
	restrict := ""
	if !all {
		restrict = " AND " + key + " IN (SELECT " + key + " FROM " + r.changes() + " WHERE " + isWritten + ")"
	}
	rows := stagedRows(r, "*, _version, _hash", restrict, c.Ahead > 0)
	if once {
		rows = "SELECT *, _version, _hash FROM " + s.Name + "_staging WHERE run_id = {run:UUID}" + restrict
	}
	return "INSERT INTO " + r.delta() + " (" + strings.Join(names, ", ") + ")\nSELECT " + strings.Join(values, ", ") +
		"\nFROM (" + rows + ") AS s" + join
}

const mergedAt = "fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC')"

// insertTombstones adds the rows that are gone, with their last content, as deleted.
func insertTombstones(r Run) string {
	s, key := r.Stream, keyNames(r.Stream)
	kept := joinNames(append(keyColumns(s), dataColumns(s)...))
	return "INSERT INTO " + r.delta() + " (account, " + kept + ", synced_at, _hash, _version, _deleted, _run_id)\n" +
		"SELECT {account:String}, " + kept + ", " + mergedAt + ", _hash, c.version, 1, {run:UUID}\n" +
		"FROM (SELECT " + kept + ", _hash FROM " + s.Name + "_latest FINAL WHERE account = {account:String}" +
		" AND " + key + " IN (SELECT " + key + " FROM " + r.changes() + " WHERE " + isGone + ")) AS l\n" +
		"INNER JOIN (SELECT " + key + ", version FROM " + r.changes() + " WHERE " + isGone + ") AS c ON l." + key + " = c." + key
}

func createDelta(table, like string) string {
	return "CREATE TABLE IF NOT EXISTS " + table + " AS " + like + " COMMENT 'What a run under way is about to publish'"
}

// attachDelta publishes the delta: all of its parts become visible at once.
func attachDelta(table, delta string) string {
	return "ALTER TABLE " + table + " ATTACH PARTITION tuple() FROM " + delta
}
