package warehouse

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// script renders the statements of one run. Its methods are pure functions.
// testdata shows what each statement looks like for a stream.
//
// Their parameters: account, run, started (when the run began, in microseconds since 1970), latest (the latest time of
// reading that a stored row can have, in microseconds), cap (the service's time, in milliseconds: no row changed later)
// and merged_at (in milliseconds).
type script struct {
	Run
	dialect dialect
	names   parts
}

func (d dialect) script(r Run) script {
	s := r.Stream
	names := parts{
		"stream": s.Name, "latest": latestTable(s), "versions": versionsTable(s), "staging": stagingTable(s),
		"changes": d.ofRun(r.changes()), "delta": d.ofRun(r.delta()), "moves": d.ofRun(r.moves()),
		"changed": d.ofRun(r.changed()), "current": cmp.Or(keysTable(s), latestTable(s)),
		"key": keyNames(s), "written": isWritten, "gone": isGone, "read_part": readPart, "merged_at": mergedAt,
	}
	if s.Child != nil {
		names["child_latest"], names["child_hashes"] = childLatest(s), childHashes(s)
		names["child_hashes_delta"] = d.ofRun(r.derivedDelta(childHashes(s)))
		names["child_delta"], names["child_key"] = d.ofRun(r.childDelta()), childKeyNames(s)
	}
	return script{r, d, names}
}

// render fills in the names of the run's tables, and more.
func (x script) render(text string, more parts) string { return sql(text, x.names.with(more)) }

// sqlFile does the same for a statement of a file.
func (x script) sqlFile(name string, more parts) string {
	return sqlFile(name, x.names.with(more))
}

// Values of the column change of a table of changes.
const (
	changeInsert = 1
	changeUpdate = 2
	changeDelete = 3
	changeOlder  = 4 // nothing is written: what was read has other content, but is dated before what is stored
)

// Conditions on that column: the rows that get the staged content, and those that keep their last one.
var (
	isWritten = fmt.Sprintf("change IN (%d, %d)", changeInsert, changeUpdate)
	isGone    = fmt.Sprintf("change = %d", changeDelete)
	isChanged = fmt.Sprintf("change != %d", changeOlder)
	isMoved   = isWritten + " AND moved"
)

// readPart masks the time of reading in a version.
const readPart = "toUInt128(18446744073709551615)"

const mergedAt = "fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC')"

func upstreamPart(version string) string {
	return "bitShiftLeft(bitShiftRight(" + version + ", 64), 64)"
}

// cappedVersion returns the version of a staged row, with its updatedAt limited to the service's own time.
func cappedVersion(version string) string {
	return sql("least($v, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd($v, $read_part)))",
		parts{"v": version, "read_part": readPart})
}

// datedAhead returns the condition that an upstream time, in milliseconds, is so much later than the one it is compared
// with that slightly different clocks do not explain it. Such a time is wrong, and does not say when the row changed.
func datedAhead(upstream, of string) string {
	return fmt.Sprintf("%s > %s + %d", upstream, of, clockTolerance.Milliseconds())
}

// stagedAhead is that condition for staged rows.
var stagedAhead = datedAhead("bitShiftRight(_version, 64)", "{cap:UInt64}")

// joined writes the lines of a part below each other.
func joined(lines []string) string { return strings.Join(lines, ",\n    ") }

// clockTolerance is how far apart the clocks of two replicas may be. A stored time that is further in the future came
// from a clock that was wrong and has been corrected since.
const clockTolerance = time.Minute
