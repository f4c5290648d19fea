package warehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// StreamStatus is the state of one stream of one account.
type StreamStatus struct {
	Account     string     `json:"account"`
	Stream      string     `json:"stream"`
	Rows        uint64     `json:"rows"`
	LastSuccess *time.Time `json:"last_success"`
	// LookedAt is when the last run that succeeded began: changes until then are loaded.
	LookedAt *time.Time `json:"looked_at"`
	// LastFull is when the last run that succeeded and read everything began. The first run counts as one.
	LastFull    *time.Time `json:"last_full"`
	LastFailure *time.Time `json:"last_failure"` // when a run last ended without success; not one that a signal stopped
	LastRun     *time.Time `json:"last_run"`
	LastOutcome string     `json:"last_outcome"`
	LastError   string     `json:"last_error"` // of the last run, when it failed
	// Waiting is how many rows the last list no longer had. They wait for a confirmation before they are deleted.
	Waiting   uint64     `json:"waiting"`
	Ended     EndedRun   `json:"-"`
	Faults    Faults     `json:"faults"`
	Watermark *time.Time `json:"watermark"`
	Scope     string     `json:"scope,omitempty"` // of the last complete list (catalog.Scope.Encode); "": all
	Now       time.Time  `json:"now"`             // by the clock of the warehouse
	// Ahead is how far the clock of the service was ahead of the warehouse's when the stream was last read.
	Ahead time.Duration `json:"-"`
}

// Lag is how old the visible data is at a time of the warehouse's clock: by the watermark and the service's clock if
// there is a watermark, else by the last success, which loaded the whole list. It is nil when that is not known, as if
// the watermark lies ahead of the service's clock.
func (s StreamStatus) Lag(now time.Time) *time.Duration {
	since := s.LastSuccess
	if s.Watermark != nil {
		since, now = s.Watermark, now.Add(s.Ahead)
	}
	if since == nil || since.IsZero() || s.Watermark != nil && since.After(now.Add(clockTolerance)) {
		return nil
	}
	lag := max(0, now.Sub(*since))
	return &lag
}

// EndedRun is how the last run ended that was not stopped by a signal.
type EndedRun struct {
	StartedAt                   *time.Time // nil: there was none
	Outcome                     string
	Read, Rejected, WouldDelete uint64
}

// Faults are the runs since the last success that failed, that a guard stopped, whose process died, or that may have
// missed rows of a list that moved. A run that a signal stopped does not count, and a run under way does not count yet.
type Faults struct {
	Count   uint64     `json:"count"`
	Since   *time.Time `json:"since"`   // when the first of them began
	Outcome string     `json:"outcome"` // of the last of them
	Error   string     `json:"error"`   // of the last of them
	Cause   string     `json:"cause"`   // of the last of them, as RunRecord has it
}

// Status returns the state of every stream that was ever run.
func (w *Warehouse) Status(ctx context.Context) ([]StreamStatus, error) {
	all, err := w.Standings(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := w.LiveRows(ctx)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		all[i].Rows = rows[StreamID{s.Account, s.Stream}]
	}
	return all, nil
}

// Standings returns the same as Status, but without Rows. It reads the bookkeeping only, so it costs little however
// many rows are loaded. If the process of the last run is certainly gone, the run is killed, though sync_runs may still
// have it as running. It counts among the Faults once that is stored.
func (w *Warehouse) Standings(ctx context.Context) ([]StreamStatus, error) {
	rows, err := w.once.Query(ctx, selectStandings())
	type row struct {
		StreamStatus
		lastRun uuid.UUID
		clock   string
	}
	found, err := scanned(rows, err, func(s *row) []any {
		return []any{&s.Account, &s.Stream, &s.LastSuccess, &s.LookedAt, &s.LastFull, &s.LastFailure, &s.LastRun,
			&s.lastRun, &s.LastOutcome, &s.LastError, &s.Waiting,
			&s.Ended.StartedAt, &s.Ended.Outcome, &s.Ended.Read, &s.Ended.Rejected, &s.Ended.WouldDelete,
			&s.Faults.Count, &s.Faults.Since, &s.Faults.Outcome, &s.Faults.Error, &s.Faults.Cause, &s.Watermark, &s.Scope, &s.clock, &s.Now}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the status of the streams: %w", err)
	}
	dead, err := w.deadRuns(ctx, runningOf(found, func(s *row) (uuid.UUID, string) { return s.lastRun, s.LastOutcome }))
	if err != nil {
		return nil, err
	}
	var all []StreamStatus
	for _, s := range found {
		if dead[s.lastRun] {
			s.LastOutcome, s.LastError = OutcomeKilled, diedEarly
		}
		clock, err := parseState[ServiceClock](s.Account, s.Stream, StateClock, s.clock)
		if err != nil {
			return nil, err
		}
		if clock != nil {
			s.Ahead = clock.Date.Sub(clock.At)
		}
		all = append(all, s.StreamStatus)
	}
	return all, nil
}

// HasAccount reports whether the warehouse has anything of an account: a run, or a settlement. An account that has rows
// has runs, too: those that say how its streams stand are kept for good.
func (r Reader) HasAccount(ctx context.Context, account string) (bool, error) {
	var n uint64
	if err := r.retrying.QueryRow(ctx, selectAnyOfAccount, named("account", account)).Scan(&n); err != nil {
		return false, fmt.Errorf("reading whether there is anything of account %s: %w", account, err)
	}
	return n > 0, nil
}

// LiveRows counts the rows that people see now, of each stream of each account that has any.
func (r Reader) LiveRows(ctx context.Context) (map[StreamID]uint64, error) {
	rows, err := r.once.Query(ctx, selectLiveRows())
	type count struct {
		StreamID
		live uint64
	}
	counts, err := scanned(rows, err, func(c *count) []any { return []any{&c.Account, &c.Stream, &c.live} })
	if err != nil {
		return nil, fmt.Errorf("counting the rows of the streams: %w", err)
	}
	all := map[StreamID]uint64{}
	for _, c := range counts {
		all[c.StreamID] = c.live
	}
	return all, nil
}

// notAhead leaves out runs that began after now: they were dated by a wrong clock, and would be the last ones
// until that time.
const notAhead = "started_at <= now64(3, 'UTC') + toIntervalMinute(1)"

// wholeLooks is the condition for runs that bring a stream in step with the API. The others load single records of it,
// and say nothing about the rest.
var wholeLooks = inStepModes + " AND " + notAhead

// freshLooks is the condition for runs that say how fresh a stream is. A backfill of a range that was asked for does
// not, however it ends: it is about the past, and a person is there to see.
var freshLooks = freshModes + " AND " + notAhead

// succeeded is the condition for a run that brought the stream in step with the API. Of the runs of a first load only
// the last one has a watermark: by then everything is loaded.
const succeeded = "(outcome = '" + OutcomeSuccess + "' AND (mode != '" + ModeInitial + "' OR isNotNull(watermark)))"

// selectStandings reads the state of each stream, from the bookkeeping alone. It reads the runs once: there may be a
// million. If there are few, planning takes longer than running. So expressions are made columns of a subquery, which
// are planned once. A name that stands for an expression is planned again wherever it is used.
func selectStandings() string {
	return sqlFile("select_standings", parts{
		"succeeded": succeeded, "fresh": freshLooks, "faulty": faulty, "published": publishedSomething, "held": deletesHeld,
		"whole":   wholeModes,
		"running": quote(OutcomeRunning), "stopped": quote(OutcomeStopped),
		"initial": quote(ModeInitial), "watermark": quote(stateWatermark), "scope": quote(StateScope), "clock": quote(StateClock),
		"streams": stringArray(catalog.Names()),
	})
}

// selectAnyOfAccount says whether there is anything of an account: it counts 1 row or none. Parameter: account.
const selectAnyOfAccount = `SELECT count() FROM
(
    SELECT 1 FROM sync_runs_log WHERE account = {account:String}
    UNION ALL
    SELECT 1 FROM settlements_log WHERE account = {account:String}
    LIMIT 1
)`

// selectLiveRows counts the rows of the view of each stream.
func selectLiveRows() string {
	var counts []string
	for _, s := range catalog.All() {
		counts = append(counts, sql("SELECT account, $name AS stream, count() AS live FROM $view GROUP BY account",
			parts{"name": quote(s.Name), "view": s.Name}))
	}
	return strings.Join(counts, "\nUNION ALL\n")
}

// askedStream selects the rows of the account and the stream that are asked for, or all.
const askedStream = "({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})"

// rowsOfRun is the largest number of rows that a run has before they are merged: its beginning, its end, and that it
// was found dead or finished by another.
const rowsOfRun = 4

// selectRuns lists the runs that a filter selects, the newest first. Parameters: account and stream. If a few of each
// stream are asked for, it first finds out since when these are: to order a million runs takes long.
func selectRuns(f RunFilter) string {
	modes, recent, each := "", "", ""
	columns := `account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature`
	if f.Brief {
		columns = "account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, rows_read"
	}
	if f.WholeLooks {
		modes = " AND " + wholeLooks
	}
	if f.PerStream > 0 {
		each = fmt.Sprintf("LIMIT %d BY account, stream ", f.PerStream)
		recent = sql(`
INNER JOIN
(
    SELECT account, stream, -groupArraySorted($versions)(-toUnixTimestamp64Milli(started_at))[-1] AS since FROM sync_runs_log
    WHERE $mine$modes GROUP BY account, stream
) AS recent ON recent.account = r.account AND recent.stream = r.stream`,
			parts{"versions": fmt.Sprint(rowsOfRun * f.PerStream), "mine": askedStream, "modes": modes})
		modes += " AND toUnixTimestamp64Milli(started_at) >= recent.since"
	}
	return sql(`SELECT $columns
FROM sync_runs_log AS r FINAL$recent
WHERE $mine$modes
ORDER BY started_at DESC, account, stream ${each}LIMIT $limit`,
		parts{"columns": columns, "mine": askedStream, "modes": modes, "recent": recent, "each": each,
			"limit": fmt.Sprint(f.Limit)})
}

// saveRun writes the run's row; a later write replaces an earlier one. The row of a run that was published stays: a
// worker that was paused does not know that another one has finished its run.
func (p *pool) saveRun(ctx context.Context, r RunRecord) error {
	if r.Certificate == "" && r.Outcome != OutcomeRunning {
		var published bool
		err := p.conn.QueryRow(ctx, selectPublished, named("account", r.Account), named("stream", r.Stream),
			named("run", r.RunID.String())).Scan(&published)
		if err != nil || published {
			return err
		}
	}
	_, next, err := p.timeAfter(ctx, newestVersion,
		"sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID}",
		named("account", r.Account), named("stream", r.Stream), named("run", r.RunID.String()))
	if err != nil {
		return err
	}
	return p.insertRun(ctx, r, next)
}

// selectPublished asks whether a run has a certificate.
const selectPublished = `SELECT count() > 0 FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID} AND certificate != ''`

// beginRun writes the first row of a run.
func (p *pool) beginRun(ctx context.Context, r RunRecord) error {
	return p.insertRun(ctx, r, r.StartedAt)
}

// insertRun writes the run's row with a version that is later than that of the row that it replaces.
func (p *pool) insertRun(ctx context.Context, r RunRecord, next time.Time) error {
	warnings := r.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	err := p.insert(ctx, "sync_runs_log", runColumns, func(b driver.Batch) error {
		return b.Append(r.Account, r.Stream, r.RunID, r.Mode, r.StartedAt, optional(r.FinishedAt), r.Outcome,
			optional(r.RequestedAfter),
			optional(r.Watermark), optional(r.ServerTime), r.Totals.Pages, r.Totals.Read,
			r.Changes.Inserted, r.Changes.Updated,
			r.Changes.Deleted, r.WouldDelete, r.Changes.Outside, r.Scope, r.Changes.Unchanged,
			r.Changes.Older, r.Changes.Kept,
			r.Totals.Rejected, r.Duplicates, r.Totals.Bytes, r.Totals.Retries, warnings, r.Error, r.Cause,
			r.Certificate, r.Signature, uint64(next.UnixMicro()))
	})
	if err != nil {
		return fmt.Errorf("writing the row of run %s to sync_runs: %w", r.RunID, err)
	}
	return nil
}

// markDeadRuns marks runs of the stream that never ended as killed. The caller holds the lease, so none of them is
// alive, except for alive, the run that continues.
func (p *pool) markDeadRuns(ctx context.Context, account, stream string, alive uuid.UUID) error {
	now, err := p.Now(ctx)
	if err != nil {
		return err
	}
	err = p.exec(ctx, insertKilled, named("account", account), named("stream", stream),
		named("alive", alive.String()), named("now", fmt.Sprint(now.UnixMicro())))
	if err != nil {
		return fmt.Errorf("marking the dead runs of %s of account %s: %w", stream, account, err)
	}
	return nil
}

// deadRuns returns which of some runs, which sync_runs had as running, belong to a process that is certainly gone. The
// next holder of the lease marks them as killed (markDeadRuns); until then, whoever shows runs asks here. Nothing is
// written, and no clock is asked (warehouse-22).
func (w *Warehouse) deadRuns(ctx context.Context, running []string) (map[uuid.UUID]bool, error) {
	if len(running) == 0 {
		return nil, nil
	}
	type lease struct{ account, stream, value string }
	rows, err := w.once.Query(ctx, selectLeases)
	leases, err := scanned(rows, err, func(l *lease) []any { return []any{&l.account, &l.stream, &l.value} })
	if err != nil {
		return nil, fmt.Errorf("reading who runs which stream: %w", err)
	}
	begun := map[StreamID]uuid.UUID{} // the sessions of processes that are gone
	for _, l := range leases {
		v, err := parseState[leaseValue](l.account, l.stream, stateLease, l.value)
		if err != nil {
			return nil, err
		}
		if v != nil && w.isDead(v.Owner) {
			begun[StreamID{l.account, l.stream}] = v.RunID
		}
	}
	if len(begun) == 0 {
		return nil, nil
	}
	// The process may have ended a run after it was read as running, and died then. Now nothing of it can change.
	type run struct {
		StreamID
		id uuid.UUID
	}
	rows, err = w.once.Query(ctx, selectStillRunning, named("runs", "["+words(running)+"]"))
	still, err := scanned(rows, err, func(r *run) []any { return []any{&r.Account, &r.Stream, &r.id} })
	if err != nil {
		return nil, fmt.Errorf("reading which runs have not ended: %w", err)
	}
	dead := map[uuid.UUID]bool{}
	for _, r := range still {
		// The runs of a session have ids that come after its own. An earlier run may be of a worker that has lost the lease.
		session, gone := begun[r.StreamID]
		dead[r.id] = gone && bytes.Compare(r.id[:], session[:]) >= 0
	}
	return dead, nil
}

// isDead reports whether the process behind a lease is certainly gone. isGone says so also of a guest of an earlier
// host that has not asked this one yet: that one may still be alive.
func (w *Warehouse) isDead(name string) bool {
	var o owner
	return w.isGone(name) && parseOwner(name, &o) &&
		(o.host != w.owner.host || errors.Is(syscall.Kill(o.pid, 0), syscall.ESRCH))
}

// runningOf returns the ids of the rows that say running.
func runningOf[T any](all []T, row func(*T) (uuid.UUID, string)) (ids []string) {
	for i := range all {
		if id, outcome := row(&all[i]); outcome == OutcomeRunning {
			ids = append(ids, id.String())
		}
	}
	return ids
}

// RunFilter narrows the list of runs. Zero values do not narrow it.
type RunFilter struct {
	Account, Stream string
	Limit           int  // default 20
	PerStream       int  // the most runs of each stream of each account; zero: no limit
	WholeLooks      bool // without the runs that load single records: retries, and deals by their own addresses
	Brief           bool // only what was asked for and read, when, and how it ended: a chart of many runs needs no more
}

// Runs lists the last runs, newest first. A run whose process is certainly gone is killed, though sync_runs may still
// have it as running.
func (w *Warehouse) Runs(ctx context.Context, f RunFilter) ([]RunRecord, error) {
	if f.Limit <= 0 {
		f.Limit = 20
	}
	rows, err := w.once.Query(ctx, selectRuns(f), named("account", f.Account), named("stream", f.Stream))
	fields := (*runRow).fields
	if f.Brief {
		fields = (*runRow).brief
	}
	all, err := scanned(rows, err, fields)
	if err != nil {
		return nil, fmt.Errorf("reading the last runs: %w", err)
	}
	records := make([]RunRecord, len(all))
	for i, row := range all {
		records[i] = row.record()
	}
	dead, err := w.deadRuns(ctx, runningOf(records, func(r *RunRecord) (uuid.UUID, string) { return r.RunID, r.Outcome }))
	if err != nil {
		return nil, err
	}
	for i := range records {
		if r := &records[i]; dead[r.RunID] {
			r.Outcome, r.Error = OutcomeKilled, diedEarly
		}
	}
	return records, nil
}

// runRow is a row of sync_runs as it is read: times that are missing are NULL.
type runRow struct {
	RunRecord
	finished, after, watermark, server *time.Time
}

// fields returns what the columns of selectRuns are read into.
func (r *runRow) fields() []any {
	return []any{
		&r.Account, &r.Stream, &r.RunID, &r.Mode, &r.StartedAt, &r.finished, &r.Outcome, &r.after,
		&r.watermark, &r.server, &r.Totals.Pages, &r.Totals.Read,
		&r.Changes.Inserted, &r.Changes.Updated, &r.Changes.Deleted, &r.WouldDelete, &r.Changes.Outside, &r.Scope,
		&r.Changes.Unchanged, &r.Changes.Older, &r.Changes.Kept, &r.Totals.Rejected, &r.Duplicates,
		&r.Totals.Bytes, &r.Totals.Retries, &r.Warnings, &r.Error, &r.Cause, &r.Certificate, &r.Signature,
	}
}

// brief returns the same for a selectRuns that is brief.
func (r *runRow) brief() []any {
	return []any{&r.Account, &r.Stream, &r.RunID, &r.Mode, &r.StartedAt, &r.finished, &r.Outcome, &r.after,
		&r.Totals.Read}
}

func (r *runRow) record() RunRecord {
	r.FinishedAt, r.RequestedAfter, r.Watermark, r.ServerTime = orZero(r.finished), orZero(r.after),
		orZero(r.watermark), orZero(r.server)
	return r.RunRecord
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
