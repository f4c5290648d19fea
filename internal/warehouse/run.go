package warehouse

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Run identifies one run of one stream of one account.
type Run struct {
	ID uuid.UUID
	// Attempt is new for each process that works on the run: a walk may be continued by another one.
	Attempt uuid.UUID
	Account string
	Stream  *catalog.Stream
	// StartedAt is when the run began, by the clock of the warehouse. What other runs loaded since is not deleted
	// (warehouse-14).
	StartedAt time.Time
	// ServerTime is the service's clock when the run had read. No row changed later than that, so what is dated after
	// it counts as changed then. Zero: not known; the warehouse's clock is used instead.
	ServerTime time.Time
	// Present says that what the run has read is the state now, even where a row is dated before what is stored.
	Present bool
	// Within is the part of the stream that the run reads; nil: all of it.
	Within catalog.Scope
}

// cap returns the parameter of statements that have {cap:UInt64}.
func (r Run) cap(now time.Time) any {
	if r.ServerTime.IsZero() {
		return named("cap", fmt.Sprint(max(now.UnixMilli(), 0)))
	}
	return named("cap", fmt.Sprint(max(r.ServerTime.UnixMilli(), 0)))
}

// The tables that exist only while the run merges.
func (r Run) suffix() string     { return strings.ReplaceAll(r.ID.String(), "-", "") }
func (r Run) changes() string    { return r.Stream.Name + "_changes_" + r.suffix() }
func (r Run) delta() string      { return r.Stream.Name + "_delta_" + r.suffix() }
func (r Run) moves() string      { return r.Stream.Name + "_moves_" + r.suffix() }
func (r Run) childDelta() string { return r.Stream.Child.Table + "_delta_" + r.suffix() }

// Scope says what a run has read, and therefore what the absence of a row means.
type Scope uint8

const (
	// Part of the stream was read: what is not in it is unchanged.
	Part Scope = iota
	// Whole means that all of the stream was read: what is not in it is gone.
	Whole
	// Unlisted means that rows were read by their own addresses. Those of which nothing was known are kept as rows that
	// no list has; all others are not changed.
	Unlisted
)

// Changes are the exact counts of what a merge does to the rows of a stream.
type Changes struct {
	Inserted  uint64 `json:"inserted"`
	Updated   uint64 `json:"updated"`
	Deleted   uint64 `json:"deleted"`
	Unchanged uint64 `json:"unchanged"`
	// Staged is the number of rows that were staged, and Distinct the number of their keys.
	Staged   uint64 `json:"staged"`
	Distinct uint64 `json:"distinct"`
	// Outside is how many of the rows deleted are outside of Run.Within: they left the scope, and may still be there.
	Outside uint64 `json:"outside,omitempty"`
	// Kept is the number of rows that a complete list no longer had and that were not deleted, since it was not
	// confirmed that they are gone.
	Kept uint64 `json:"kept,omitempty"`
	// Older is the number of rows that were read later than what is stored and have other content, but are dated before
	// it. A run that reads a part leaves them as they are: it cannot tell a row whose updatedAt was set back from a
	// service that gave an older state. A run that reads everything loads them.
	Older uint64 `json:"older,omitempty"`
	// Ahead is the number of staged rows that are dated after Run.ServerTime, by more than clocks may differ.
	Ahead uint64 `json:"ahead,omitempty"`
	// Same says that each staged row is equal to the live one, and that no other row is gone: there is nothing to
	// compare, and no table of changes.
	Same bool `json:"-"`
	// First says that the account had no row at all before, deleted ones included.
	First bool `json:"first"`
	// Live is the number of rows that readers saw before the merge.
	Live uint64 `json:"live"`
	// Moved is the number of rows inserted or updated that are stored at another position than before.
	Moved uint64 `json:"moved,omitempty"`
	// Unlisted says that Inserted counts rows that no list has: the stream's view has none of them.
	Unlisted bool `json:"unlisted,omitempty"`
}

// StagedError says that the warehouse does not have the rows that a run has staged. Nothing was changed, and the run
// must start over.
type StagedError struct{ Want, Have uint64 }

func (e *StagedError) Error() string {
	return fmt.Sprintf("%d rows were staged, but the warehouse has %d: nothing was changed, and the next run reads everything again", e.Want, e.Have)
}

// Any reports whether the merge changes anything.
func (c Changes) Any() bool { return c.written() > 0 }

// written is how many rows the merge writes.
func (c Changes) written() uint64 { return c.Inserted + c.Updated + c.Deleted }

// Modes of a run, as sync_runs has them: what it reads of its stream. The first three are the kinds of the catalog.
const (
	ModeSnapshot    = "snapshot"    // all of it
	ModeWalk        = "walk"        // all of it, in a walk that can be resumed
	ModeIncremental = "incremental" // what changed after the watermark
	ModeFull        = "full"        // all of a stream that is otherwise read by changes
	ModeInitial     = "initial"     // one of the windows in which a stream is first read
	ModeBackfill    = "backfill"    // one of the windows of a range that was asked for
	ModeRetry       = "retry"       // rejected records, from what was kept of them
	ModeReferences  = "references"  // single records, by their own addresses
)

// mode says what the runs of a mode tell about their stream. Every condition on modes is made from this table.
type mode struct {
	name   string
	whole  bool // it reads the whole list, and can say which rows the list no longer has
	inStep bool // it brings the stream in step with the API; the others load single records and say nothing of the rest
	fresh  bool // it says how fresh the stream is; a range of the past does not, and a person sees how it ends
	window bool // it is one of many runs that together read a range
}

var modes = []mode{
	{name: ModeSnapshot, whole: true, inStep: true, fresh: true},
	{name: ModeWalk, whole: true, inStep: true, fresh: true},
	{name: ModeIncremental, inStep: true, fresh: true},
	{name: ModeFull, whole: true, inStep: true, fresh: true},
	{name: ModeInitial, inStep: true, fresh: true, window: true},
	{name: ModeBackfill, inStep: true, window: true},
	{name: ModeRetry},
	{name: ModeReferences},
}

// modesThat lists the names of the modes for which are is true.
func modesThat(are func(mode) bool) (names []string) {
	for _, m := range modes {
		if are(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// ReadsWhole reports whether runs of the mode read the whole list of their stream.
func ReadsWhole(name string) bool {
	return slices.Contains(modesThat(func(m mode) bool { return m.whole }), name)
}

// Conditions on the column mode of sync_runs. A run that failed before it had a mode counts as in step and as fresh.
var (
	wholeModes  = "mode IN (" + words(modesThat(func(m mode) bool { return m.whole })) + ")"
	inStepModes = "mode NOT IN (" + words(modesThat(func(m mode) bool { return !m.inStep })) + ")"
	freshModes  = "mode NOT IN (" + words(modesThat(func(m mode) bool { return !m.fresh })) + ")"
)

// words writes words of a table as a list of SQL literals. The list is empty if there are no words.
func words[T ~string](list []T) string {
	quoted := make([]string, len(list))
	for i, word := range list {
		quoted[i] = quote(string(word))
	}
	return strings.Join(quoted, ", ")
}

// Outcomes of a run, as sync_runs has them.
const (
	OutcomeRunning = "running"
	OutcomeSuccess = "success"
	OutcomeFailed  = "failed"
	OutcomeStopped = "stopped" // by a signal or an operator: not a fault, and the next run makes up for it
	OutcomeGuarded = "guarded" // stopped by a guard: a person must look. If rows wait, only their deletion was stopped
	OutcomeKilled  = "killed"  // its process died before it ended
	OutcomeDryRun  = "dry_run" // it was asked to publish nothing
	// OutcomeIncomplete: the list moved while it was read, and some of its rows may have been missed. What was read is
	// published; nothing was deleted and the watermark did not move past what is certain. The next run repairs it.
	OutcomeIncomplete = "incomplete"
)

// outcome says what a run that ended in this way means for others. Every condition on outcomes is made from this table.
type outcome struct {
	name      string
	published bool // readers see what the run has read
	fault     bool // the run did not do what it was started for
}

var outcomes = []outcome{
	{name: OutcomeRunning},
	{name: OutcomeSuccess, published: true},
	{name: OutcomeIncomplete, published: true, fault: true},
	{name: OutcomeFailed, fault: true},
	{name: OutcomeGuarded, fault: true},
	{name: OutcomeKilled, fault: true},
	{name: OutcomeStopped},
	{name: OutcomeDryRun},
}

// outcomesThat lists the names of the outcomes for which are is true.
func outcomesThat(are func(outcome) bool) (names []string) {
	for _, o := range outcomes {
		if are(o) {
			names = append(names, o.name)
		}
	}
	return names
}

// Conditions on the columns outcome and waiting of sync_runs.
var (
	deletesHeld        = "(outcome = '" + OutcomeGuarded + "' AND waiting > 0)" // all is loaded, and only deletions wait
	publishedSomething = "(outcome IN (" + words(outcomesThat(func(o outcome) bool { return o.published })) + ") OR " + deletesHeld + ")"
	faulty             = "outcome IN (" + words(outcomesThat(func(o outcome) bool { return o.fault })) + ")"
)

// Codes by which ClickHouse says that a user may not do something.
const (
	codeReadOnly     = 164
	codeAccessDenied = 497
)

// hasCode reports whether err is an answer of the warehouse with one of the codes.
func hasCode(err error, codes ...int32) bool {
	e, ok := errors.AsType[*clickhouse.Exception](err)
	return ok && slices.Contains(codes, e.Code)
}

// IsAuth reports whether the warehouse refused the credentials, or what they permit.
func IsAuth(err error) bool {
	if answer, ok := errors.AsType[*clickhouse.HTTPError](err); ok && answer.StatusCode == http.StatusUnauthorized {
		return true // an old server, or a proxy in front of one
	}
	// UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, AUTHENTICATION_FAILED
	return IsDenied(err) || hasCode(err, 192, 193, 194, 516)
}

// IsDenied reports that the user has no right to do what a statement does.
func IsDenied(err error) bool { return hasCode(err, codeAccessDenied) }

// IsReadOnly reports that the warehouse accepts no writes from this user, or through this connection.
func IsReadOnly(err error) bool { return hasCode(err, codeReadOnly) }

// IsSettingRefused reports that the user may not change a setting that the program depends on.
func IsSettingRefused(err error) bool {
	return IsReadOnly(err) || hasCode(err, 452, 115) // SETTING_CONSTRAINT_VIOLATION, UNKNOWN_SETTING
}

// IsMissing reports whether err says that a table or database does not exist (yet).
func IsMissing(err error) bool { return hasCode(err, 60, 81) } // UNKNOWN_TABLE, UNKNOWN_DATABASE
