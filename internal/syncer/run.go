package syncer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/panics"
	"dealhouse/internal/warehouse"
)

// run is one row of sync_runs, and the rows that are staged under its id. They are published all at once, or not at
// all. A session has one run, and makes more if it reads in windows.
type run struct {
	warehouse.Run
	session *session
	record  warehouse.RunRecord
	report  func(Phase)

	beside     bool                  // it does not read the stream's list: the checkpoint of a walk is another run's
	checkpoint *warehouse.Checkpoint // of a walk: where the next run can continue
	surplus    uint64                // rows that were staged after the checkpoint, and are read again
	resumed    bool                  // it continues a walk: its pages may be hours apart
	batches    int                   // staged so far, over all attempts (syncer-5)
	refused    refused               // not yet in the record
	unused     bool                  // nothing that it read was loaded
	gap        string                // why rows may have been missed; "" when none were
	held       *GuardError           // why deletions wait for consent; nil: none do
	publishing bool                  // the intent may be durable: from here on the run is finished, never discarded
	unstage    unstage               // what becomes of the staged rows if the run fails
}

// unstage drops what a failed run has staged, or keeps it for the next run. lost says that another worker has the
// stream now.
type unstage func(ctx context.Context, cause error, lost bool) error

// writer returns what writes into the warehouse for the run.
func (r *run) writer() *warehouse.Writer { return r.session.warehouse.Writer(r.Run) }

// newRun makes the run of a session, which has no row in sync_runs yet.
func (s *session) newRun(id warehouse.Run) *run {
	id.Account, id.Stream, id.Within = s.job.Account, s.job.Stream, s.job.Scope
	r := &run{
		Run: id, session: s, report: s.report,
		record: warehouse.RunRecord{Account: id.Account, Stream: id.Stream.Name, Outcome: warehouse.OutcomeRunning},
	}
	r.unstage = func(ctx context.Context, _ error, _ bool) error { return r.writer().Discard(ctx) }
	return r
}

// newPart makes one of the runs that a session is divided into. Its progress is shown as that of the session.
func (s *session) newPart(mode string, watermark time.Time) (*run, error) {
	id, err := newRunID()
	if err != nil {
		return nil, err
	}
	r := s.newRun(warehouse.Run{ID: id, Attempt: uuid.New(), StartedAt: s.now(s.local())})
	r.report = func(Phase) {}
	r.record.RunID, r.record.StartedAt, r.record.Mode, r.record.Watermark = r.ID, r.StartedAt, mode, watermark
	return r, nil
}

// newRunID makes an id that sorts by the time at which it was made.
func newRunID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("making a run id: %w", err)
	}
	return id, nil
}

func (r *run) save(ctx context.Context) error {
	if r.session.job.DryRun {
		return nil
	}
	return r.session.warehouse.SaveRun(ctx, r.record)
}

// begin makes the row of the run. A run that continues a walk has one already.
func (r *run) begin(ctx context.Context) error {
	if r.session.job.DryRun || r.checkpoint != nil {
		return r.save(ctx)
	}
	return r.session.warehouse.BeginRun(ctx, r.record)
}

// warn adds to the run's record; its caller tells the user.
func (r *run) warn(text string) { r.record.Warnings = append(r.record.Warnings, text) }

// leftOpen returns the error of a run that is published but may have missed rows, or did not delete what is gone. It
// returns nil if the run did everything.
func (r *run) leftOpen() error {
	switch {
	case r.held != nil:
		return r.held
	case r.gap != "":
		return &IncompleteError{Account: r.Account, Stream: r.Stream.Name, Reason: r.gap, Unused: r.unused}
	}
	return nil
}

// isLoaded reports whether an error is one of leftOpen.
func isLoaded(err error) bool {
	guard, held := errors.AsType[*GuardError](err)
	_, incomplete := errors.AsType[*IncompleteError](err)
	return incomplete || held && guard.Loaded
}

// abandon records a failed run, and lets its source drop what it staged.
func (r *run) abandon(ctx context.Context, cause error) error {
	s := r.session
	s.fail(ctx, &r.record, cause)
	r.record.Totals.Retries += retriesOf(cause)
	if !r.publishing {
		r.recordUnchanged()
	}
	if guard, ok := errors.AsType[*GuardError](cause); ok {
		r.record.WouldDelete = guard.Deletes
	} else if !r.publishing {
		r.record.WouldDelete = 0
	}
	ctx, cancel := s.cleanup(ctx)
	defer cancel()
	r.record.FinishedAt = s.now(s.local())
	err := r.save(ctx)
	lost := errors.Is(cause, warehouse.ErrLeaseLost)
	if r.publishing && !lost {
		s.log.Warn("publishing was interrupted: the next run of this stream finishes it", "run_id", r.ID)
		return err
	}
	return errors.Join(err, r.unstage(ctx, cause, lost))
}

// recordUnchanged moves what the run would have changed from the counts of its record to a warning, because the counts
// say what a run has changed.
func (r *run) recordUnchanged() {
	if c := r.record.Changes; c.Any() {
		r.warn(fmt.Sprintf("nothing was changed: it would have inserted %d rows, updated %d and deleted %d", c.Inserted,
			c.Updated, c.Deleted))
	}
	r.record.Changes = warehouse.Changes{}
}

// fail records with what a run has ended, and why. ctx is the context of the run.
func (s *session) fail(ctx context.Context, r *warehouse.RunRecord, err error) {
	r.Outcome, r.Error, r.Cause = outcome(ctx, err), err.Error(), ""
	if r.Outcome != warehouse.OutcomeStopped {
		r.Cause = cause(err, s.job.Client.Origin())
	}
}

// outcome returns the outcome of a run that ended with an error. ctx is the context of the run.
func outcome(ctx context.Context, cause error) string {
	var guard *GuardError
	var late *DeadlineError
	var incomplete *IncompleteError
	switch {
	case errors.As(cause, &guard):
		return warehouse.OutcomeGuarded
	case errors.As(cause, &late):
		return warehouse.OutcomeFailed
	case errors.As(cause, &incomplete):
		return warehouse.OutcomeIncomplete
	case ctx.Err() != nil && !errors.As(context.Cause(ctx), new(*partError)):
		return warehouse.OutcomeStopped
	}
	return warehouse.OutcomeFailed
}

// partError is why the other parts of a session are given up: one of them failed. Nobody has stopped the session.
type partError struct{ error }

func (e *partError) Unwrap() error { return e.error }

// Progress is how far a run is.
type Progress struct {
	Account, Stream string
	Phase           Phase
	Totals          warehouse.Totals
	Windows         Windows // of a backfill; zero for other runs
}

// Phase is what a run is doing.
type Phase string

// The phases of a run, in their order.
const (
	PhaseWaiting   Phase = "waiting" // for another run of the same stream
	PhaseReading   Phase = "reading"
	PhaseComparing Phase = "comparing"
	PhaseMerging   Phase = "merging"
	PhaseDone      Phase = "done"
	PhaseFailed    Phase = "failed"
)

// Options of a Syncer.
type Options struct {
	Warehouse *warehouse.Warehouse
	Logger    *slog.Logger   // default: none
	Metrics   *Metrics       // default: none
	Progress  func(Progress) // called often, from many goroutines; default: none
	Observer  *Observer      // default: none
	// Grace is how long a run may continue after it was told to stop: to stage what was read, and to publish what was
	// read to its end. Default DefaultGrace.
	Grace time.Duration
	// Clock is the local clock. Only differences of its times are used: if two hosts must agree on a time, it is the
	// warehouse's. Default: time.Now.
	Clock func() time.Time
}

// Syncer runs jobs. It is safe for concurrent use.
type Syncer struct{ tools }

// tools is what a Syncer works with. Each of its sessions has the same.
type tools struct {
	warehouse      *warehouse.Warehouse
	log            *slog.Logger
	metrics        *Metrics
	progress       func(Progress)
	observer       *Observer
	local          func() time.Time
	grace          time.Duration
	cleanupTimeout time.Duration // how long cleaning up may take after the grace: twice, for the run and for its lease
	leaseWait      time.Duration // how long a run waits for another one of the same stream to end
	said           *sync.Map     // what was logged once, and need not be logged again
}

// DefaultGrace leaves time to clear up within the half minute that Kubernetes gives by default.
const DefaultGrace = 20 * time.Second

const defaultLeaseWait = 15 * time.Minute

// New makes a Syncer.
func New(o Options) (*Syncer, error) {
	if o.Warehouse == nil {
		return nil, errors.New("syncer: no warehouse")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	set(&o.Grace, DefaultGrace)
	return &Syncer{tools{
		warehouse: o.Warehouse, log: o.Logger, metrics: o.Metrics, progress: o.Progress, observer: o.Observer,
		local: o.Clock, grace: o.Grace, cleanupTimeout: o.Grace / 5, leaseWait: defaultLeaseWait, said: &sync.Map{},
	}}, nil
}

// Result is how a job ended.
type Result struct {
	Job    Job
	Record warehouse.RunRecord
	Err    error
}

// All runs the jobs side by side, one goroutine each; one that fails does not stop the others. The results are in the
// order of the jobs.
func (s *Syncer) All(ctx context.Context, jobs []Job) []Result {
	results := make([]Result, len(jobs))
	var group sync.WaitGroup
	for i, job := range jobs {
		group.Go(func() {
			record, err := s.Run(ctx, job)
			results[i] = Result{Job: job, Record: record, Err: err}
		})
	}
	group.Wait()
	return results
}

// Run makes one run of one stream. An error is a *GuardError when a person must look, a *DeadlineError or a *BusyError
// when it took too long, or wraps a *dealapi.Error or a *clickhouse.Exception; the record is complete either way.
//
// When ctx ends, the run stops reading. What was read to its end is still published and what a walk has read is staged,
// with its checkpoint, within the grace.
func (s *Syncer) Run(ctx context.Context, job Job) (warehouse.RunRecord, error) {
	x := s.newSession(job)
	err := x.repeat(ctx, func(ctx context.Context) error { return loadList(ctx, x) })
	return x.run.record, err
}

// loadList reads the list of the session's stream. A first load from a given time on is read in windows, if it is more
// than a page.
func loadList(ctx context.Context, s *session) error {
	l, err := newList(ctx, s)
	if err != nil {
		return err
	}
	b, err := l.initialBackfill(ctx)
	switch {
	case err != nil:
		return err
	case b != nil:
		return b.load(ctx)
	}
	return s.recorded(ctx, l.mode(), s.job.Timeout, l.load)
}

// The guards, by the names of what a run had too much of, or of what was wrong.
const (
	GuardDeletes = "deletes"
	GuardRejects = "rejects"
	GuardService = "service" // another service than before
)

// GuardError says that a guard kept a run from changing something, because a person must look.
type GuardError struct {
	Account, Stream string
	Guard           string // GuardDeletes, GuardRejects or GuardService
	Reason          string // what was found, with the counts
	Deletes         uint64 // of GuardDeletes: rows that the run would have deleted
	Loaded          bool   // of GuardDeletes: all else is loaded; otherwise nothing was changed
	Advice          string // what to do
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("account %s: %s: stopped by a guard: %s; %s", e.Account, e.Stream, e.Reason, e.Advice)
}

// IncompleteError says that rows of a list may have been missed, because it moved while it was read, or is not whole by
// what the service says of it. What was read is
// published, nothing was deleted, and the watermark did not move past what is certain. The next run repairs it.
type IncompleteError struct {
	Account, Stream string
	Reason          string // what was seen, with counts
	Unused          bool   // the answers were older than what is loaded, and nothing of them is
}

func (e *IncompleteError) Error() string {
	if e.Unused {
		return fmt.Sprintf("account %s: %s: incomplete: %s; nothing was changed, and the next run reads it again", e.Account, e.Stream, e.Reason)
	}
	return fmt.Sprintf("account %s: %s: incomplete: %s; what was read is loaded, nothing was deleted, and the next run reads the rest", e.Account, e.Stream, e.Reason)
}

// DeadlineError says that a run took longer than Job.Timeout. What it was about to load is not visible; a walk
// continues from its checkpoint.
type DeadlineError struct {
	Account, Stream string
	Timeout         time.Duration
	Pages, Read     uint64 // pages and records that it had read
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("account %s: %s: the run reached its time limit, run_timeout = %s, after %d pages with %d records: find out what makes the service or the warehouse slow, or whether its list has no end, or raise the limit", e.Account, e.Stream, e.Timeout, e.Pages, e.Read)
}

// overdue returns the *DeadlineError of the run in place of an error that the deadline has caused. It returns
// any other error unchanged.
func overdue(ctx context.Context, err error) error {
	var late *DeadlineError
	var api *dealapi.Error
	if errors.As(context.Cause(ctx), &late) &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) ||
			errors.As(err, &api) && api.Kind == dealapi.KindCanceled) {
		return late
	}
	return err
}

// BusyError says that another run of the stream did not end while this one waited for it. Nothing was read.
type BusyError struct {
	Account, Stream string
	Waited          time.Duration
	Holder          *warehouse.HeldError // nil when the holders changed too often
}

func (e *BusyError) Error() string {
	text := fmt.Sprintf("account %s: %s: another run of this stream (perhaps a backfill) has not ended within %s; nothing was read: run it again later", e.Account, e.Stream, e.Waited)
	if e.Holder != nil {
		text += " (" + e.Holder.Error() + ")"
	}
	return text
}

// cause returns what kept a run from its end, as sync_runs names it. A service that gives no answer gives none to any
// of its accounts: it is named by its address.
func cause(err error, origin string) string {
	if api, is := errors.AsType[*dealapi.Error](err); is {
		switch api.Kind {
		case dealapi.KindAuth:
			return "key"
		case dealapi.KindBadRequest, dealapi.KindNotFound, dealapi.KindRedirect, dealapi.KindConfig:
			return "request"
		case dealapi.KindMalformed, dealapi.KindLoop, dealapi.KindTooLarge:
			return "answer"
		case dealapi.KindNetwork, dealapi.KindTimeout, dealapi.KindServer, dealapi.KindRateLimited, dealapi.KindCanceled:
			return "service " + origin
		}
	}
	switch {
	case errors.As(err, new(*GuardError)):
		return "guard"
	case errors.As(err, new(*DeadlineError)):
		return "time"
	case errors.As(err, new(*IncompleteError)):
		return "list"
	case isPanic(err):
		return "program"
	}
	return "warehouse"
}

// retriesOf returns the number of requests that were made again in vain, before an error ended the run.
func retriesOf(err error) uint64 {
	if api, is := errors.AsType[*dealapi.Error](err); is {
		return uint64(max(api.Attempts-1, 0))
	}
	return 0
}

// PanicError is a panic that ended a run and nothing else. It is a mistake in this program.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked; for the log, not for people
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("a bug in this program ended the run; nothing half-loaded is visible: panic: %v",
		e.Value)
}

// Contain runs a part of a run, and returns a [*PanicError] if it panics (syncer-10). Every goroutine of a run needs
// its own: a panic can be recovered only in the goroutine that it comes from, and ends the process otherwise.
func Contain(part func() error) error {
	err := panics.Catch(part)
	if p, panicked := errors.AsType[*panics.Error](err); panicked {
		return &PanicError{Value: p.Value, Stack: p.Stack}
	}
	return err
}

func isPanic(err error) bool {
	_, panicked := errors.AsType[*PanicError](err)
	return panicked
}
