package warehouse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// ServiceClock is what is known of the clock of the service that a stream is read from.
type ServiceClock struct {
	Date time.Time `json:"date"` // by that clock: when the last run began whose answers were believed
	At   time.Time `json:"at"`   // the same moment by the clock of the warehouse
	// Sure is a time up to which everything was read before the clock was first seen to jump, ahead or back; zero: it
	// was not seen.
	Sure time.Time `json:"sure,omitzero"`
	// Until is what the clock had shown before it was put right: some rows may be dated up to then. Zero: it was not.
	Until time.Time `json:"until,omitzero"`
	// Back counts the runs in a row whose answers were older than Date, and BackDate and BackAt are of the last of them.
	// Low is the earliest time by which rows can have been dated since, if the clock was set back.
	Back     int       `json:"back,omitempty"`
	BackDate time.Time `json:"back_date,omitzero"`
	BackAt   time.Time `json:"back_at,omitzero"`
	Low      time.Time `json:"low,omitzero"`
}

// Clock returns what is known of the service's clock, or nil.
func (l *Lease) Clock() (*ServiceClock, error) {
	return parseState[ServiceClock](l.account, l.stream, StateClock, l.state(StateClock))
}

// KnownList is a list that was read as a whole, from one page, by the name that the service gave it.
type KnownList struct {
	Tag     string    `json:"tag"`     // dealapi.Page.Tag
	Asked   string    `json:"asked"`   // what was asked for
	Content string    `json:"content"` // the columns that Rows is made of (ContentName)
	Rows    Set       `json:"rows"`    // that it has
	ReadAt  time.Time `json:"read_at"` // by the clock of the warehouse
}

// KnownList returns the list that the last publication stored, or nil.
func (l *Lease) KnownList() (*KnownList, error) {
	return parseState[KnownList](l.account, l.stream, StateList, l.state(StateList))
}

// Scope returns the scope of the last complete list; "" is all of the stream.
func (l *Lease) Scope() string { return l.state(StateScope) }

// Origin returns the identity of the service whose rows are loaded, or "" if that is not known.
func (l *Lease) Origin() string { return l.state(StateOrigin) }

// LoadedFrom returns the updatedAt from which on everything is loaded. known is false if nothing says so.
func (l *Lease) LoadedFrom() (from time.Time, known bool) { return parseFrom(l.state(StateFrom)) }

func parseFrom(value string) (from time.Time, known bool) {
	from, err := time.Parse(time.RFC3339Nano, value)
	return from, err == nil
}

// LoadedFrom returns the same of each stream of which it is known.
func (r Reader) LoadedFrom(ctx context.Context) (map[StreamID]time.Time, error) {
	type state struct{ account, stream, value string }
	rows, err := r.once.Query(ctx, selectLoadedFrom)
	states, err := scanned(rows, err, func(s *state) []any { return []any{&s.account, &s.stream, &s.value} })
	if err != nil {
		return nil, fmt.Errorf("reading from when on the streams are loaded: %w", err)
	}
	all := map[StreamID]time.Time{}
	for _, s := range states {
		if from, known := parseFrom(s.value); known {
			all[StreamID{s.account, s.stream}] = from
		}
	}
	return all, nil
}

// Checkpoint is the place of a walk after its last staged batch.
type Checkpoint struct {
	RunID     uuid.UUID `json:"run_id"`
	StartedAt time.Time `json:"started_at"` // of the run that began the walk
	SavedAt   time.Time `json:"saved_at"`   // by the clock of the warehouse
	Origin    string    `json:"origin"`     // the service that the pages are of
	Next      string    `json:"next"`       // page to continue with
	Batch     int       `json:"batch"`      // batches staged so far
	Totals    Totals    `json:"totals"`
}

// Intent says that a run's delta is complete and is being published. Whoever finds it finishes the work; no row is
// read again and no count is lost.
type Intent struct {
	RunID     uuid.UUID `json:"run_id"`
	MergedAt  time.Time `json:"merged_at"`
	Watermark time.Time `json:"watermark"` // zero: the stream has none
	// Corrected says that the stored watermark was never true, and is replaced though it is later.
	Corrected bool `json:"-"`
	// Rank is the version of the watermark. Publish fills it in. 0: that of watermarkRow.
	Rank   uint64    `json:"rank,omitempty"`
	Record RunRecord `json:"record"` // the row of sync_runs to write once it is done
	// State has other states of the stream that are stored with the publication, value by name. They are written in the
	// same block that clears the intent, so that a backfill never counts a window as done whose rows are missing.
	State map[string]string `json:"state,omitempty"`
	// Derived are the derived tables of which the run has a delta. Publish fills it in.
	Derived []string `json:"derived,omitempty"`
	// Untouched are those that the run does not concern, so that they are right without a change. Publish fills it in.
	Untouched []string `json:"untouched,omitempty"`
	// Prepared is what Prepare returned. An intent of an older version has none.
	Prepared Prepared `json:"prepared,omitempty"`
	// Certified is the number of the run's certificate, which is the version of the state: a worker that has lost the
	// stream cannot put an older one there. Publish fills it in.
	Certified uint64 `json:"certified,omitempty"`
	// Last says that nothing more is published under the lease. If the run changed nothing, State and Watermark are
	// written together with the end of the lease.
	Last bool `json:"-"`
	// Beside says that the run did not read the stream: a walk that will continue keeps its checkpoint.
	Beside bool `json:"beside,omitempty"`
	// Ended returns the time at which the row of the run is written, which is RunRecord.FinishedAt. nil: the run died,
	// and another one finishes it.
	Ended func() time.Time `json:"-"`
}

// divide splits the derived tables into those of which the run has a delta, by what it has prepared, and the others.
func (in *Intent) divide(tables []string) {
	in.Derived, in.Untouched = nil, nil
	for _, table := range tables {
		if _, filled := in.Prepared[table]; filled {
			in.Derived = append(in.Derived, table)
		} else {
			in.Untouched = append(in.Untouched, table)
		}
	}
}

// Watermark returns the watermark that the stream had when the lease was taken and what dead runs had begun was
// finished, or the zero time.
func (l *Lease) Watermark() (time.Time, error) {
	value := l.state(stateWatermark)
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the watermark of %s of account %s: %w", l.stream, l.account, err)
	}
	return t, nil
}

// Checkpoint returns the place of a walk that did not end, or nil.
func (l *Lease) Checkpoint() (*Checkpoint, error) {
	return parseState[Checkpoint](l.account, l.stream, stateCheckpoint, l.state(stateCheckpoint))
}

// SaveCheckpoint keeps the place of a walk, once the rows before it are staged.
func (w *Writer) SaveCheckpoint(ctx context.Context, c Checkpoint) error {
	return w.pool.saveJSON(ctx, w.Run, stateCheckpoint, c)
}

// HasCheckpoint reports whether the stored place of a walk is the run's. A worker that has taken the stream over may
// have put its own there, or have cleared it.
func (w *Writer) HasCheckpoint(ctx context.Context) (bool, error) {
	stored, err := w.pool.state(ctx, w.Account, w.Stream.Name, stateCheckpoint)
	if err != nil {
		return false, err
	}
	c, err := parseState[Checkpoint](w.Account, w.Stream.Name, stateCheckpoint, stored.value)
	return c != nil && c.RunID == w.ID, err
}

// ClearCheckpoint forgets the place of a walk.
func (w *Writer) ClearCheckpoint(ctx context.Context) error {
	return w.save(ctx, stateRow{stateCheckpoint, "", 0})
}

// save writes states of the run's stream in one block.
func (w *Writer) save(ctx context.Context, states ...stateRow) error {
	return w.pool.saveStates(ctx, w.Account, w.Stream.Name, states...)
}

func intentName(run uuid.UUID) string { return stateIntent + ":" + run.String() }

func (p *pool) saveJSON(ctx context.Context, r Run, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing the %s of %s: %w", name, r.Stream.Name, err)
	}
	return p.saveStates(ctx, r.Account, r.Stream.Name, stateRow{name, string(text), 0})
}

// parseState reads a state that is JSON; nil when there is none.
func parseState[T any](account, stream, name, value string) (*T, error) {
	if value == "" {
		return nil, nil
	}
	var v T
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return nil, fmt.Errorf("reading the %s of %s of account %s: %w", name, stream, account, err)
	}
	return &v, nil
}

// state returns the stored state of a name; its value is "" if there is none.
func (p *pool) state(ctx context.Context, account, stream, name string) (stateRow, error) {
	rows, err := p.conn.Query(ctx, selectState,
		named("account", account), named("stream", stream), named("name", name))
	all, err := scanned(rows, err, func(s *stateRow) []any { return []any{&s.value, &s.version} })
	if err != nil {
		return stateRow{}, fmt.Errorf("reading the %s of %s of account %s: %w", name, stream, account, err)
	}
	if len(all) == 0 {
		return stateRow{name: name}, nil
	}
	return all[0], nil
}

// stateRow is one state, stored or to be written. In a state to be written, version 0 means a version above those of
// all states of the stream.
type stateRow struct {
	name, value string
	version     uint64
}

var stateColumns = columns("account String, stream String, name String, value String, version UInt64")

// saveStates writes several states of one stream in one block: all of them are kept, or none.
func (p *pool) saveStates(ctx context.Context, account, stream string, states ...stateRow) error {
	_, next, err := p.timeAfter(ctx, newestVersion,
		"sync_state_log WHERE account = {account:String} AND stream = {stream:String}",
		named("account", account), named("stream", stream))
	if err != nil {
		return err
	}
	return p.insertStates(ctx, account, stream, uint64(next.UnixMicro()), states)
}

// insertStates does the same as saveStates. next is a version above those of all states of the stream.
func (p *pool) insertStates(ctx context.Context, account, stream string, next uint64, states []stateRow) error {
	err := insertEach(ctx, p, "sync_state_log", stateColumns, states, func(s stateRow) []any {
		return []any{account, stream, s.name, s.value, cmp.Or(s.version, next)}
	})
	if err != nil {
		return fmt.Errorf("saving the state of %s of account %s: %w", stream, account, err)
	}
	return nil
}

// rank returns the version of a watermark (warehouse-3): that of the stored one, moved by as many milliseconds as it is
// later. A corrected one gets the next version.
func (l *Lease) rank(in Intent) uint64 {
	stored, err := l.Watermark()
	for _, s := range l.states {
		switch {
		case s.name != stateWatermark || err != nil || stored.IsZero():
		case in.Corrected && in.Watermark.Before(stored):
			return s.version + 1
		default:
			return uint64(int64(s.version) + in.Watermark.UnixMilli() - stored.UnixMilli())
		}
	}
	return watermarkRow(in.Watermark).version
}

func watermarkRow(t time.Time) stateRow {
	// The watermark is its own version: a lower one, written later, does not win (warehouse-3).
	return stateRow{stateWatermark, t.UTC().Format(time.RFC3339Nano), uint64(t.UnixMilli())}
}

// selectState reads one state of a stream, and selectStates all of them in the order of writing.
const (
	selectState = `SELECT value, version FROM sync_state_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND name = {name:String}`

	selectStates = `SELECT name, value, version FROM sync_state_log FINAL
WHERE account = {account:String} AND stream = {stream:String} ORDER BY version`
)

// selectLease returns, in one row: the warehouse's time; the highest version of all states of a stream; its lease,
// with the version of that; with run, the highest version of that run's row; and how many other processes than owner
// hold leases of the account. It needs no FINAL, since it asks for the newest value of one state. Two values are
// equally new only if a clock stands still. Then everyone sees the same one of them.
func selectLease(run bool) string {
	row := "toUInt64(0)"
	if run {
		row = "(SELECT max(version) FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID})"
	}
	return sql(`SELECT toUnixTimestamp64Micro(now64(6)), max(version), argMaxIf(value, (version, value), name = $lease), maxIf(version, name = $lease), $row,
    (
        SELECT uniqExact(JSONExtractString(held, 'owner')) FROM (SELECT argMax(value, (version, value)) AS held FROM sync_state_log WHERE account = {account:String} AND name = $lease GROUP BY stream)
        WHERE held != '' AND JSONExtractString(held, 'owner') != {owner:String} AND JSONExtractInt(held, 'expires') > toUnixTimestamp64Micro(now64(6))
    )
FROM sync_state_log WHERE account = {account:String} AND stream = {stream:String}`,
		parts{"lease": quote(stateLease), "row": row})
}

// deleteCleared drops rows of states of a stream that were cleared: those from before, or with cleared those
// that clear them.
func deleteCleared(account, stream string, names []string, cleared bool) string {
	what := "value != ''"
	if cleared {
		what = "value = ''"
	}
	return sql("ALTER TABLE sync_state_log DELETE WHERE account = $account AND stream = $stream AND name IN ($names) AND $what",
		parts{"account": quote(account), "stream": quote(stream), "names": literals(names), "what": what})
}

// selectInterrupted selects the streams of which a run had begun to publish and did not finish.
var selectInterrupted = sql("SELECT DISTINCT account, stream FROM sync_state WHERE startsWith(name, $intent) ORDER BY account, stream",
	parts{"intent": quote(stateIntent + ":")})

// countInterrupted counts them.
var countInterrupted = "SELECT count() FROM (" + selectInterrupted + ")"

// selectOutcome, like all statements of the program about runs, reads the log of runs, and not its view: to plan a view
// of 26 columns takes longer than to read it.
const selectOutcome = `SELECT outcome FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID}`

// insertKilled marks the runs of a stream that never ended as killed, except for one. The condition is in a subquery:
// beside REPLACE, outcome would be the new value. Parameters: account, stream, alive, and now in microseconds.
var insertKilled = sql(`INSERT INTO sync_runs_log
SELECT * REPLACE ($killed AS outcome, fromUnixTimestamp64Milli(intDiv({now:Int64}, 1000), 'UTC') AS finished_at,
    $error AS error,
    greatest(toUInt64({now:Int64}), version + 1) AS version)
FROM
(
    SELECT * FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND outcome = $running AND run_id != {alive:UUID}
)`, parts{"killed": quote(OutcomeKilled), "running": quote(OutcomeRunning), "error": quote(diedEarly)})

// selectLeases selects the leases that were not given back, of all streams.
var selectLeases = sql("SELECT account, stream, value FROM sync_state_log FINAL WHERE name = $lease AND value != ''",
	parts{"lease": quote(stateLease)})

var selectLoadedFrom = sql("SELECT account, stream, value FROM sync_state_log FINAL WHERE name = $from",
	parts{"from": quote(StateFrom)})

// selectStillRunning selects those of some runs that have not ended. Parameter: runs.
var selectStillRunning = sql("SELECT account, stream, run_id FROM sync_runs_log FINAL WHERE outcome = $running AND has({runs:Array(String)}, toString(run_id))",
	parts{"running": quote(OutcomeRunning)})

// selectAliveRuns are the queries for the runs that may be alive, in the order in which to ask: a run whose row no
// longer says that it is running has stored its intent before that.
var selectAliveRuns = []string{
	`SELECT toString(run_id) FROM sync_runs_log FINAL
WHERE stream = {stream:String} AND account != {account:String} AND outcome = ` + quote(OutcomeRunning),

	sql(`SELECT JSONExtractString(value, 'run_id') FROM sync_state
WHERE stream = {stream:String} AND name NOT IN ($watermark, $certificate)
    AND (name != $lease OR abs(dateDiff('second', updated_at, now())) < 86400)
    AND (NOT startsWith(name, $backfill) OR updated_at > now() - toIntervalSecond($seconds))`,
		parts{"watermark": quote(stateWatermark), "certificate": quote(stateCertificate), "lease": quote(stateLease), "backfill": quote(BackfillPrefix),
			"seconds": fmt.Sprint(int(backfillLife.Seconds()))}),
}

// selectStagedRuns selects the runs that have a staging partition or a table of their own.
func selectStagedRuns(d dialect) string {
	return sqlFile("select_staged_runs", parts{"database": d.runDatabase(), "end": "$"})
}

// Prepared is the number of rows of each delta of a run, by the target table.
type Prepared map[string]uint64

// states returns the states of the stream that are stored when the run is published.
func (in Intent) states(run uuid.UUID) []stateRow {
	states := []stateRow{{intentName(run), "", 0}}
	if !in.Beside {
		states = append(states, stateRow{stateCheckpoint, "", 0})
	}
	if !in.Watermark.IsZero() {
		row := watermarkRow(in.Watermark)
		row.version = cmp.Or(in.Rank, row.version)
		states = append(states, row)
	}
	for name, value := range in.State {
		states = append(states, stateRow{name, value, 0})
	}
	if in.Certified > 0 {
		states = append(states, stateRow{stateCertificate, in.Record.Certificate, in.Certified})
	}
	return states
}

// live returns the number of rows that readers see when the run is published, for streams that keep it. Rows that no
// list has are inserted as deleted ones.
func (in Intent) live(s *catalog.Stream) []stateRow {
	c := in.Record.Changes
	if s.OrderedBy == "" || c.Unlisted || !c.Any() {
		return nil
	}
	return []stateRow{{stateLive, fmt.Sprint(c.Live + c.Inserted - c.Deleted), 0}}
}

// backfillLife is how long the state of an interrupted backfill is kept, with what it had staged, so that the same
// backfill can continue.
const backfillLife = 30 * 24 * time.Hour

// diedEarly is the error of a killed run.
const diedEarly = "the process ended before the run did"
