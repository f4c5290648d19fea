package warehouse

import (
	"errors"
	"fmt"
	"maps"
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
	// Sum is that of the staged rows, without the entries of a child (rowSum).
	Sum Sum `json:"-"`
	// Live is the number of rows that readers saw before the merge.
	Live uint64 `json:"live"`
	// Moved is the number of rows inserted or updated that are stored at another position than before.
	Moved uint64 `json:"moved,omitempty"`
	// Unlisted says that Inserted counts rows that no list has: the stream's view has none of them.
	Unlisted bool `json:"unlisted,omitempty"`
}

// StagedError says that the warehouse does not have the rows that a run has staged: not as many, or other ones. Nothing
// was changed, and the run must start over.
type StagedError struct{ Want, Have Set }

func (e *StagedError) Error() string {
	if e.Want.Rows == e.Have.Rows {
		return fmt.Sprintf("%d rows were staged, but the warehouse has them altered (sum %016x instead of %016x): nothing was changed, and the next run reads everything again; look at the memory and the network of both machines",
			e.Want.Rows, uint64(e.Have.Sum), uint64(e.Want.Sum))
	}
	return fmt.Sprintf("%d rows were staged, but the warehouse has %d: nothing was changed, and the next run reads everything again", e.Want.Rows, e.Have.Rows)
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
	ModeForget      = "forget"      // nothing: it removes values that name a person
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
	{name: ModeForget},
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

// StreamID names one stream of one account.
type StreamID struct{ Account, Stream string }

// Totals are what a run has read.
type Totals struct {
	Pages      uint64 `json:"pages"`
	Read       uint64 `json:"rows_read"`
	Staged     uint64 `json:"staged"`
	Sum        Sum    `json:"sum"`        // of the rows staged, as they were decoded
	LeftOut    uint64 `json:"left_out"`   // records that were read and are not needed
	Rejected   uint64 `json:"rejected"`   // entries of rejected_records
	Unloadable uint64 `json:"unloadable"` // records that were rejected whole
	Noise      uint64 `json:"noise"`      // decimals whose binary noise was rounded away
	Bytes      uint64 `json:"bytes"`
	Retries    uint64 `json:"retries"`
}

// Set returns the rows that were staged.
func (t Totals) Set() Set { return Set{t.Staged, t.Sum} }

// RunRecord is one row of sync_runs.
//
// A run that publishes is finished when all that it changes is attached. If a run died while it published, and another
// one has finished its work, FinishedAt is when it began to publish: nobody knows when it died, and what it read is no
// fresher because it was found later.
type RunRecord struct {
	Account        string    `json:"account"`
	Stream         string    `json:"stream"`
	RunID          uuid.UUID `json:"run_id"`
	Mode           string    `json:"mode"`
	StartedAt      time.Time `json:"started_at"`
	FinishedAt     time.Time `json:"finished_at"` // zero: under way, or killed and not stored as such yet
	Outcome        string    `json:"outcome"`
	RequestedAfter time.Time `json:"requested_after"` // zero: everything was asked for
	Watermark      time.Time `json:"watermark"`       // zero: the stream has none
	ServerTime     time.Time `json:"server_time"`     // of the API when the run began; zero: not known
	Totals         Totals    `json:"totals"`
	Changes        Changes   `json:"changes"`
	Duplicates     uint64    `json:"duplicates"`
	WouldDelete    uint64    `json:"would_delete"`    // rows that it would have deleted if a guard had not stopped it
	Scope          string    `json:"scope,omitempty"` // what was read of the list (catalog.Scope.Encode); "": all of it
	Warnings       []string  `json:"warnings"`
	Error          string    `json:"error"`
	Certificate    string    `json:"certificate,omitempty"` // JSON of a Certificate; "": the run was not published
	Signature      string    `json:"signature,omitempty"`   // of that text, in base64; "": there is no key
	Cause          string    `json:"cause,omitempty"`       // equal ones are one fault, if they are of one account, or of a service
	// Unknown are the fields that dealhouse does not know, of a run of this process; unknown_fields has them.
	Unknown []string `json:"-"`
	Written Written  `json:"-"` // of a run of this process, for CheckQuality; sync_runs does not have it
	Clashes Clashes  `json:"-"` // likewise
	// Differences are those that a dry run was asked to name.
	Differences Differences `json:"-"`
	// Forgotten is what the run has removed of a person (Writer.Forget); nil: it was not a run of that kind.
	Forgotten *Forgotten `json:"-"`
	Carried   *Carried   `json:"-"` // likewise, of a run that read all of the stream; nil: it did not
}

var runColumns = columns("account String, stream String, run_id UUID, mode String, started_at DateTime64(3), finished_at Nullable(DateTime64(3)), " +
	"outcome String, requested_after Nullable(DateTime64(3)), watermark Nullable(DateTime64(3)), server_time Nullable(DateTime64(3)), pages UInt64, rows_read UInt64, inserted UInt64, " +
	"updated UInt64, deleted UInt64, would_delete UInt64, out_of_scope UInt64, scope String, unchanged UInt64, older UInt64, waiting UInt64, rejected UInt64, duplicates UInt64, bytes UInt64, retries UInt64, warnings Array(String), " +
	"error String, cause String, certificate String, signature String, version UInt64")

// LoadedAll reports whether the run missed nothing and all that it read is loaded. Deletions may wait for consent.
func (r RunRecord) LoadedAll() bool {
	return r.Outcome == OutcomeSuccess || r.Outcome == OutcomeGuarded && r.Changes.Kept > 0
}

// BackfillPrefix begins the names of the states of backfills in sync_state.
const BackfillPrefix = "backfill:"

// Add adds the numbers of o.
func (t *Totals) Add(o Totals) {
	t.Pages += o.Pages
	t.Read += o.Read
	t.Staged += o.Staged
	t.Sum += o.Sum
	t.LeftOut += o.LeftOut
	t.Rejected += o.Rejected
	t.Unloadable += o.Unloadable
	t.Noise += o.Noise
	t.Bytes += o.Bytes
	t.Retries += o.Retries
}

// Add adds the changes of a later merge. Live stays that of the first merge.
func (c *Changes) Add(o Changes) {
	if c.Staged == 0 && c.Live == 0 {
		c.Live = o.Live
	}
	c.Inserted += o.Inserted
	c.Updated += o.Updated
	c.Deleted += o.Deleted
	c.Unchanged += o.Unchanged
	c.Staged += o.Staged
	c.Distinct += o.Distinct
	c.Older += o.Older
	c.Ahead += o.Ahead
}

// derivedDelta is the name of the delta of a derived table.
func (r Run) derivedDelta(table string) string { return table + "_delta_" + r.suffix() }

// changed returns the name of the table of the rows that a run changes, as they were and as they become.
func (r Run) changed() string { return r.Stream.Name + "_changed_" + r.suffix() }

// Carried counts in how many records of a complete run each field had a value.
type Carried struct {
	Records uint64 // that were read
	// Counted is how many of them are counted field by field, the first ones. In the rest, a field is only looked for
	// if no record had it yet.
	Counted uint64
	Fields  map[string]uint64 // of the counted records, those with a value, by the JSON name of each field
}

// names returns the names of the counted fields and of those that are stored, sorted.
func (c *Carried) names(known []presence) []string {
	names := slices.Collect(maps.Keys(c.Fields))
	for _, p := range known {
		names = append(names, p.field)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const (
	fewCarried = 10 // records; of fewer, nothing follows from what they lack
	nearlyAll  = 9  // of ten records
)

// Written holds what the checks need to know about the rows that a run publishes. It is read from the delta, before
// readers see them: afterwards they are among all other rows, and finding them there takes longer the more rows there
// are.
type Written struct {
	Broken  []Broken // one for each rule of the stream
	Keys    []string // of a sample of the rows
	Payouts uint64   // rows that name a payout, or that did in an earlier version
	Added   Sum      // of the rows that are inserted or updated
	Removed Sum      // of the rows that are updated or deleted, as they were
}

// Broken is how many rows of a run break a rule.
type Broken struct {
	Rule    string
	Rows    uint64
	Example string // the key of one of them
}

// someKeys is how many rows of a run are checked to be visible exactly once. Each needs a search.
const someKeys = 20

// Add adds what another run has written.
func (n *Written) Add(more Written) {
	for _, b := range more.Broken {
		i := slices.IndexFunc(n.Broken, func(x Broken) bool { return x.Rule == b.Rule })
		if i < 0 {
			n.Broken = append(n.Broken, b)
			continue
		}
		n.Broken[i].Rows += b.Rows
		if n.Broken[i].Example == "" {
			n.Broken[i].Example = b.Example
		}
	}
	n.Keys = append(n.Keys, more.Keys[:min(len(more.Keys), someKeys-min(len(n.Keys), someKeys))]...)
	n.Payouts += more.Payouts
}

// Clashes are the keys under which a run has read several records that are not the same record read again. One of them
// is loaded: the one that was read last, of a page the last one.
type Clashes struct {
	Keys     uint64
	Examples []string // some of the keys
}

// Add adds those of another run.
func (c *Clashes) Add(more Clashes) {
	c.Keys += more.Keys
	c.Examples = append(c.Examples, more.Examples[:min(len(more.Examples), someClashes-min(len(c.Examples), someClashes))]...)
}

// someClashes is how many keys of different records are named.
const someClashes = 5

// allNew says that the staged rows are not compared: there is nothing to compare them with, and every one of them is
// inserted with its own version. The table of changes is then empty. This is done only for many rows; for few it is
// not worth it.
func (c Changes) allNew() bool { return c.First && c.Distinct >= largeFirst }
