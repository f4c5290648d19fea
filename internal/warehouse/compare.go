package warehouse

import (
	"strconv"

	"dealhouse/internal/catalog"
)

// countStaged counts what is staged. Staging tables neither merge nor collapse rows, so the count is exact.
func (x script) countStaged() string {
	return x.render("SELECT count(), sum($sum) FROM $staging WHERE run_id = {run:UUID}", parts{"sum": stagedSum(x.Stream)})
}

// countBefore returns, in one row: the warehouse's time; the numbers of staged rows, of their keys, of rows that
// are dated in the future and of rows that differ from the live ones; the sums of staged rows with and without
// their entries; the number of live rows; whether the account has no rows at all. For a run that has read
// everything, the live rows are counted again.
//
// staged is how many rows there should be. If these are few, their keys and contents fit into sets in memory. If they
// are more, all of them count as different from the live ones. Keys alone are counted in a set up to keysInSet. That
// takes a third of the time that it takes to read them in order, which only one processor does.
func (x script) countBefore(scope Scope, staged uint64) string {
	keys, other := "uniqExact($key)", "count()"
	if staged > keysInSet {
		keys = "(SELECT count() FROM $staging FINAL WHERE run_id = {run:UUID})"
	}
	if staged <= fewKeys {
		other = `countIf(($key, _hash) NOT IN
    (
        SELECT $key, _hash FROM $current FINAL
        WHERE account = {account:String} AND _deleted = 0 AND $key IN (SELECT $key FROM $staging WHERE run_id = {run:UUID})
    ))`
	}
	return x.render("SELECT toUnixTimestamp64Micro(now64(6)), count(),\n    "+keys+",\n    countIf($ahead),\n    "+other+`,
    sum($staged), sum($content),
    ($live),
    (SELECT count() = 0 FROM (SELECT 1 FROM $latest WHERE account = {account:String} LIMIT 1))
FROM $staging
WHERE run_id = {run:UUID}`,
		parts{"ahead": stagedAhead, "staged": stagedSum(x.Stream), "content": rowSum(x.names["key"], "_hash"), "live": x.countLive(scope == Whole)})
}

// keysInSet is how many staged keys are counted in a set. Each takes up to 50 bytes of memory in each of the threads.
const keysInSet = 2_000_000

func (x script) dropOldChanges() string { return x.render("DROP TABLE IF EXISTS $changes", nil) }

func (x script) createChanges() string {
	return x.render(`CREATE TABLE IF NOT EXISTS $changes ($key $type, change UInt8, version UInt128, was UInt64, now UInt64$position)
ENGINE = MergeTree ORDER BY $key
COMMENT 'What a run under way will change'`, parts{"type": keyColumns(x.Stream)[0].typ, "position": x.position()})
}

// insertChanges compares the staged rows with the current ones, by key, version and hash alone. Wide columns are read
// later, and only for rows that change. A version is never 0, so a side whose version is 0 is missing. ahead says that
// some staged rows are dated in the future.
func (x script) insertChanges(scope Scope, ahead bool) string {
	join := "LEFT JOIN"
	if scope == Whole {
		join = "FULL JOIN"
	}
	position, where := "", ""
	if x.Stream.OrderedBy != "" {
		position, where = ", position, moved", ",\n    l."+x.Stream.OrderedBy+", moved"
	}
	return x.sqlFile("insert_changes", parts{
		"compared": joined(compared(x.Stream, scope == Whole || x.Present)), "staged": x.comparedRows(ahead), "join": join,
		"current":  x.currentRows(scope),
		"position": position, "where": where, "upstream": upstreamPart("l._version"), "chosen": x.chosenChanges(scope),
		"insert": strconv.Itoa(changeInsert), "update": strconv.Itoa(changeUpdate),
		"delete": strconv.Itoa(changeDelete),
		"older":  strconv.Itoa(changeOlder),
		"was":    rowSum("l."+x.names["key"], "l._hash"), "now": rowSum("s."+x.names["key"], "s._hash"),
	})
}

// compared returns the names that insertChanges compares by (warehouse-6). Of a staged row s and the stored row l, they
// say when each changed upstream and when it was read, and which version s gets.
//
// Upstream times are in milliseconds. That of a stored row is the lowest of the times known for it: its version may
// have been raised, and its updatedAt may be after the service's time. In four cases the staged row counts as at least
// as new upstream as the stored one, so that the time of reading decides:
//
//   - The staged row has no usable updatedAt.
//   - The stored row is dated in the future.
//   - The stored row is deleted: what is listed again is live again.
//   - present: the run has read the whole list, or Run.Present. What it read is the state now, even if an updatedAt was
//     set back.
//
// A stored time of reading that is in the future came from a clock that was wrong: whatever is read now was read later.
//
// A row that moves gets a version that leaves room for the mark at its old position.
func compared(s *catalog.Stream, present bool) []string {
	names := []string{
		"bitShiftRight(" + cappedVersion("s._version") + ", 64) AS s_own",
		"least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped",
	}
	switch {
	case s.VersionField() < 0:
		names = append(names, "l_capped AS l_changed", "s_own AS s_changed")
	case present:
		names = append(names, "least(l_capped, toUInt128(l._updated)) AS l_changed",
			"greatest(s_own, l_changed) AS s_changed")
	default:
		names = append(names, "least(l_capped, toUInt128(l._updated)) AS l_changed",
			"if(s._undated OR l._deleted OR "+datedAhead("l._updated", "l_capped")+
				", greatest(s_own, l_changed), s_own) AS s_changed")
	}
	step := "1"
	if s.OrderedBy != "" {
		names = append(names,
			sql("s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.$ordered_by) AS moved",
				parts{"ordered_by": s.OrderedBy}))
		step = "if(moved, 2, 1)"
	}
	return append(names,
		"bitAnd(s._version, "+readPart+") AS s_read",
		"if(bitAnd(l._version, "+readPart+") > {latest:UInt64}, 0, bitAnd(l._version, "+readPart+")) AS l_read",
		"s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer",
		sql(`greatest(
        $capped,
        if(l._version = 0, 0, bitOr($upstream, s_read)),
        if(l._version = 0, 0, l._version + $step)) AS s_version`,
			parts{"step": step, "capped": cappedVersion("s._version"), "upstream": upstreamPart("l._version")}),
	)
}

// comparedRows is side s of the comparison.
func (x script) comparedRows(ahead bool) string {
	columns := x.names["key"] + ", _version, _hash"
	if i := x.Stream.VersionField(); i >= 0 {
		columns += ", " + absent(x.Stream.Fields, i) + " AS _undated"
	}
	if i := x.Stream.OrderField(); i >= 0 {
		columns += ", " + fromWire(x.Stream.Fields, i) + " AS _position"
	}
	return x.stagedRows(columns, "", ahead)
}

// stagedRows selects the rows that a run has staged, the newest of each key. FINAL takes the row with the highest
// version. If a row of a key is dated in the future, that row need not be the newest. Then the row that was read
// last is taken.
func (x script) stagedRows(columns, condition string, ahead bool) string {
	text := "SELECT $columns\n    FROM $staging FINAL\n    WHERE run_id = {run:UUID}$condition"
	if ahead {
		text = `SELECT $columns
    FROM $staging
    WHERE run_id = {run:UUID}$condition
    ORDER BY $key, if(max($ahead) OVER (PARTITION BY $key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY $key`
	}
	return x.render(text, parts{"columns": columns, "condition": condition, "ahead": stagedAhead})
}

// currentRows is side l of the comparison: all rows of the account, or those with a staged key.
func (x script) currentRows(scope Scope) string {
	text := "SELECT $key, _version, _hash, _deleted$more\n    FROM $current FINAL\n    WHERE account = {account:String}"
	if scope != Whole {
		text += " AND $key IN (SELECT $key FROM $staging WHERE run_id = {run:UUID})"
	}
	more := ""
	switch i := x.Stream.VersionField(); {
	case x.Stream.OrderedBy != "":
		more = sql(", toUInt64($time + _ahead) AS _updated, $ordered_by",
			parts{"time": upstreamTime, "ordered_by": x.Stream.OrderedBy})
	case i >= 0:
		more = sql(", ifNull(toUInt64(greatest(toUnixTimestamp64Milli($updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated",
			parts{"updated_at": x.Stream.Fields[i].Column})
	}
	return x.render(text, parts{"more": more})
}

// chosenChanges returns the condition for what the comparison keeps.
//
// A record that is listed but cannot be loaded still exists: its stored row stays as it is. Of each reject only the
// last reading is kept. If another worker has made that reading since the run began, the record was listed as well.
func (x script) chosenChanges(scope Scope) string {
	text := ""
	switch scope {
	case Whole:
		text = `($changed)
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.$key) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = '$stream' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ))`
	case Part:
		text = "($changed)\n    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash)"
	case Unlisted:
		text = "s._version != 0 AND l._version = 0"
	}
	return x.render(text,
		parts{"changed": "s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted))"})
}

func (x script) countChanges() string {
	moved := "0"
	if x.Stream.OrderedBy != "" {
		moved = "countIf($written AND moved)"
	}
	return x.render("SELECT change, count(), toUInt64("+moved+") FROM $changes GROUP BY change", nil)
}

func (x script) selectPlannedKeys() string {
	return x.render("SELECT toString($key) FROM $changes WHERE $written", nil)
}

func (x script) selectStagedKeys() string {
	return x.render("SELECT toString($key) FROM $staging WHERE run_id = {run:UUID}", nil)
}

// A stream may be ordered by a time of its rows before their key (catalog-10), so that a query for some days reads no
// others. Two stored rows are then the same only if their times are equal, too. If the time of a row changes, the row
// moves: the run that loads it leaves a mark at its old position, in the same part as the new row, and so readers see
// one of the two.

// position returns the columns position and moved of a table of changes. position is where the stored row is, if
// there is one.
func (x script) position() string {
	if x.Stream.OrderedBy == "" {
		return ""
	}
	return ", position " + x.Stream.Fields[x.Stream.OrderField()].ColumnType() + ", moved UInt8"
}

// stored returns a condition on rows of the account in _latest: that their keys are in the table of changes, and
// condition is true there. It reads only the positions at which these rows are. NULL is never IN a list, so rows
// without a time need a condition of their own.
func (x script) stored(condition string) string {
	if x.Stream.OrderedBy == "" {
		return x.render("$key IN (SELECT $key FROM $changes WHERE $condition)", parts{"condition": condition})
	}
	return x.render(`(($ordered_by, $key) IN (SELECT position, $key FROM $changes WHERE $condition AND position IS NOT NULL)
        OR $ordered_by IS NULL AND $key IN (SELECT $key FROM $changes WHERE $condition AND position IS NULL))`,
		parts{"ordered_by": x.Stream.OrderedBy, "condition": condition})
}

// createMoves makes the table that is attached to _latest instead of the delta if rows have moved.
func (x script) createMoves() string {
	return x.dialect.createDelta(x.names["latest"], x.names["moves"], createLatest(x.dialect, x.Stream))
}

func (x script) copyDelta() string {
	return x.render("INSERT INTO $moves SELECT * FROM $delta", nil)
}

// insertMarks marks the positions that rows have left. A mark replaces the row that was there. The row at its new
// position has a version above that of the mark.
func (x script) insertMarks() string {
	return x.render(`INSERT INTO $moves (account, $key, $ordered_by, synced_at, _version, _deleted, _run_id)
SELECT account, $key, $ordered_by, $merged_at, _version + 1, $moved, {run:UUID}
FROM $latest FINAL
WHERE account = {account:String} AND $stored`,
		parts{"ordered_by": x.Stream.OrderedBy, "moved": markedMoved, "stored": x.stored(isMoved)})
}

// fewKeys is how many rows of a stream a run may stage or change at most for its keys to be counted in sets, which are
// in memory. Streams with a child are left out (few), since a price history has many more rows than its stream.
const fewKeys = 10_000

// upstreamTime is the time at which a row changed upstream, taken from its version, in milliseconds. updatedAhead
// returns by how much its updatedAt differs from that.
const upstreamTime = "toInt64(bitShiftRight(_version, 64))"

// countLive counts the rows that readers see. Of a stream that is ordered by a time it reads the count that the last
// run has left in the state (Intent.live). If exact is set, it counts the rows again, which a run that compares
// everything can afford.
func (x script) countLive(exact bool) string {
	switch {
	case x.Stream.OrderedBy == "":
		return x.render("SELECT count() FROM $latest FINAL WHERE account = {account:String} AND _deleted = 0", nil)
	case exact:
		return x.render("SELECT count() FROM $current FINAL WHERE account = {account:String} AND _deleted = 0", nil)
	}
	return x.render("SELECT toUInt64OrZero(argMax(value, version)) FROM sync_state_log WHERE account = {account:String} AND stream = '$stream' AND name = $live",
		parts{"live": quote(stateLive)})
}
