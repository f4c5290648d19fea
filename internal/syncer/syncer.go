package syncer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

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
	// Grace is how long a run that is told to stop may still take for what is in hand: to stage what was read, and to
	// publish what was read to its end. Default DefaultGrace.
	Grace time.Duration
	// Clock is the local clock, of which only differences count: where two hosts must agree on a time it is the
	// warehouse's. Default: time.Now.
	Clock func() time.Time
}

// Syncer runs jobs. It is safe for concurrent use.
type Syncer struct {
	warehouse      *warehouse.Warehouse
	log            *slog.Logger
	metrics        *Metrics
	progress       func(Progress)
	local          func() time.Time
	grace          time.Duration
	cleanupTimeout time.Duration // how long clearing up may take after the grace: twice, for the run and for its lease
	leaseWait      time.Duration // how long a run waits for another one of the same stream to end
	said           *sync.Map     // what was told the operator, and need not be told again
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
	return &Syncer{
		warehouse: o.Warehouse, log: o.Logger, metrics: o.Metrics, progress: o.Progress,
		local: o.Clock, grace: o.Grace, cleanupTimeout: o.Grace / 5, leaseWait: defaultLeaseWait, said: &sync.Map{},
	}, nil
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
	r := s.newRun(job)
	err := r.repeat(ctx)
	return r.record, err
}

func (s *Syncer) newRun(job Job) *run {
	job.setDefaults()
	r := &run{Syncer: s, job: job, log: s.log.With("account", job.Account, "stream", job.Stream.Name)}
	r.record = warehouse.RunRecord{Account: job.Account, Stream: job.Stream.Name, Outcome: warehouse.OutcomeRunning}
	return r
}

// repeat runs the job, again when another worker has taken it over, and completes its record.
func (r *run) repeat(ctx context.Context) (err error) {
	begun := time.Now()
	r.metrics.begin(r.job, begun)
	defer func() { r.metrics.end(r.job, r.record, err, begun, time.Now()) }()
	err = r.try(ctx)
	for range maxTakeovers {
		if !errors.Is(err, warehouse.ErrLeaseLost) {
			break
		}
		r.log.Info("another worker took the stream over; beginning again after it")
		r.lost = true
		r.record = warehouse.RunRecord{Account: r.job.Account, Stream: r.job.Stream.Name, Outcome: warehouse.OutcomeRunning}
		err = r.try(ctx)
	}
	r.conclude(ctx, err)
	return err
}

// maxTakeovers is how often a run begins again after it has lost its lease. Losing it twice in a row takes a worker
// that stands still for a minute, or two that begin in the same moment.
const maxTakeovers = 3

// try takes the stream and runs it.
func (r *run) try(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	err := contain(func() error { return r.main(ctx) })
	left := r.release(ctx)
	if left != nil && err == nil {
		// What was read is published; the lease ends by itself.
		r.log.Warn("could not give the lease back", "error", left)
		return nil
	}
	return errors.Join(err, left)
}

// release gives the lease back. Where something is left to finish or to clear away, the next holder is told.
func (r *run) release(ctx context.Context) error {
	ctx, cancel := r.tidying(ctx)
	defer cancel()
	if r.unclean {
		return r.lease.Expire(ctx)
	}
	return r.lease.Release(ctx)
}

// outlive makes a context that goes on for a while after ctx has ended.
func outlive(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// tidying is the context for what a run does when it is over. One that was told to stop has little time left for it.
func (s *Syncer) tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	span := s.grace
	if ctx.Err() != nil {
		span = s.cleanupTimeout
	}
	return context.WithTimeout(context.WithoutCancel(ctx), span)
}

// run is one run of one job.
type run struct {
	*Syncer
	job    Job
	log    *slog.Logger
	lease  *warehouse.Lease
	record warehouse.RunRecord

	warehouse.Run
	lost       bool      // the lease was lost before: a walk has left its rows to whoever has it now
	unclean    bool      // something is left of the run, or of one before it
	publishing bool      // the intent may be durable: from here on the run is finished, never discarded
	clock      time.Time // local time at StartedAt, to carry the warehouse's clock forward
	checkpoint *warehouse.Checkpoint
	surplus    uint64    // rows that were staged after the checkpoint and are read again
	staged     time.Time // local time at which the last row was staged
	batches    int       // staged so far, over all attempts (syncer-5)
	refused    refused   // not yet in the record

	retry    *retry            // set when the run loads rejected records again
	asked    *Range            // of a backfill that was asked for
	backfill *backfill         // set when the run is one
	window   *load             // set when the run is a window of one
	before   time.Time         // read only rows updated before; zero: no such border
	gap      string            // why rows may have been missed; "" when none were
	strict   bool              // end with errUnfiltered when most rows are outside of what was asked for
	state    map[string]string // becomes true with the publication (warehouse.Intent)
}

// take acquires the stream, waiting for a run that is under way, and decides whether a walk goes on or begins.
func (r *run) take(ctx context.Context) error {
	deadline := time.Now().Add(r.leaseWait)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := r.tryTake(ctx)
		var held *warehouse.HeldError
		if !errors.As(err, &held) && !errors.Is(err, warehouse.ErrLeaseLost) {
			return err
		}
		if time.Now().After(deadline) {
			return &BusyError{Account: r.job.Account, Stream: r.job.Stream.Name, Waited: r.leaseWait, Holder: held}
		}
		r.report(PhaseWaiting)
		r.log.Debug("waiting for another run of this stream", "reason", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for another run of %s of account %s: %w", r.job.Stream.Name, r.job.Account, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func (r *run) tryTake(ctx context.Context) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making a run id: %w", err)
	}
	r.publishing, r.unclean, r.gap = false, true, ""
	r.Run = warehouse.Run{ID: id, Attempt: uuid.New(), Account: r.job.Account, Stream: r.job.Stream}
	r.checkpoint, r.surplus, r.batches = nil, 0, 0
	if r.lease, err = r.warehouse.Acquire(ctx, r.Run); err != nil {
		return err
	}
	// The clock that is carried forward may be late, never early: what this run reads must not look newer than what the
	// next one does.
	r.StartedAt, r.clock = r.lease.Begun(), r.local()
	if r.lost {
		r.lease.AssumeUnclean()
	}
	return nil
}

// now is the warehouse's clock, carried forward by the local one since the run began.
func (r *run) now(local time.Time) time.Time { return r.StartedAt.Add(local.Sub(r.clock)) }

// main is the run under its lease.
func (r *run) main(ctx context.Context) error {
	if err := r.recover(ctx); err != nil {
		return err
	}
	if r.retry != nil {
		return r.retry.main(ctx)
	}
	if err := r.goOn(ctx); err != nil {
		return err
	}
	after, watermark, err := r.from()
	if err != nil {
		return err
	}
	r.checkOrigin(watermark)
	if r.backfill, err = r.planBackfill(ctx, watermark); err != nil {
		return err
	}
	if b := r.backfill; b != nil {
		err := contain(func() error { return b.main(ctx, watermark) })
		r.unclean = err != nil
		return err
	}
	r.record.Mode, r.record.RequestedAfter, r.record.Watermark = r.job.mode(after), after, watermark
	return r.recorded(ctx, func(ctx context.Context) error { return r.load(ctx, after, watermark) })
}

// recover finishes what runs that died had begun to publish, and clears away what they left.
func (r *run) recover(ctx context.Context) error {
	recovered, err := r.warehouse.Recover(ctx, r.lease, r.Run, r.ID)
	r.metrics.Recovered(recovered)
	return err
}

// recorded loads what the run is for, with its record in sync_runs from beginning to end.
func (r *run) recorded(ctx context.Context, load func(context.Context) error) error {
	r.record.RunID, r.record.StartedAt = r.ID, r.StartedAt
	if err := r.save(ctx); err != nil {
		if ctx.Err() != nil { // a signal; the row may be there all the same, and must not stay one of a run under way
			err = errors.Join(err, r.abandon(ctx, err))
		}
		return err
	}
	if r.job.Timeout > 0 {
		late := &DeadlineError{Account: r.Account, Stream: r.Stream.Name, Timeout: r.job.Timeout}
		limited, cancel := context.WithTimeoutCause(ctx, r.job.Timeout, late)
		defer cancel()
		ctx = limited
	}
	err := overdue(ctx, contain(func() error { return load(ctx) }))
	if _, published := errors.AsType[*IncompleteError](err); published {
		r.unclean = false
		return err
	}
	if err != nil {
		left := r.abandon(ctx, err)
		r.unclean = r.publishing || left != nil
		return errors.Join(err, left)
	}
	r.unclean = false
	return nil
}

// goOn continues the walk that a checkpoint tells of, or clears it away when this run does not: it is too old, or its
// rows are not there.
func (r *run) goOn(ctx context.Context) error {
	if r.Stream.Kind != catalog.Walk || r.job.DryRun {
		return nil
	}
	c, err := r.lease.Checkpoint()
	if err != nil || c == nil {
		return err
	}
	walk := r.Run
	walk.ID, walk.StartedAt = c.RunID, c.StartedAt
	staged, err := r.warehouse.CountStaged(ctx, walk)
	if err != nil {
		return err
	}
	if r.job.Full || r.StartedAt.Sub(c.SavedAt) >= r.job.ResumeWithin || staged < c.Totals.Staged {
		r.log.Info("not going on with an earlier walk", "run_id", c.RunID, "saved_at", c.SavedAt)
		return errors.Join(r.warehouse.ClearCheckpoint(ctx, walk), r.warehouse.Discard(ctx, walk))
	}
	// What was staged after the checkpoint is read again; the rows that are there already do no harm, but count.
	r.checkpoint, r.surplus = c, staged-c.Totals.Staged
	r.clock = r.clock.Add(c.StartedAt.Sub(r.StartedAt))
	r.Run = walk
	return nil
}

// load reads, compares and publishes.
func (r *run) load(ctx context.Context, after, watermark time.Time) error {
	fetching := ctx // syncer-7
	ctx, cancel := outlive(fetching, r.grace)
	defer cancel()
	seen, err := r.read(ctx, fetching, after)
	if err == nil {
		err = r.catchUp(ctx, fetching, seen)
	}
	if err != nil {
		return err
	}
	r.notice(seen, after)
	r.metrics.saw(r, seen)
	if err := r.guardRejects(); err != nil {
		return err
	}
	r.staged = r.local()
	r.report(PhaseComparing)
	scope := r.job.scope(after)
	if seen.gap != "" || seen.unsure {
		scope = warehouse.Part // what was missed must not look gone (syncer-11)
	}
	changes, err := r.warehouse.Plan(ctx, r.Run, scope, r.record.Totals.Staged+r.surplus)
	if err != nil {
		return err
	}
	r.noticeOlder(changes)
	r.record.Changes = changes
	r.record.Duplicates = r.record.Totals.Staged - min(changes.Distinct, r.record.Totals.Staged)
	if r.Stream.Kind != catalog.Walk { // what waits there is not deleted by this run, and only what is counts
		if err := r.guardDeletes(changes); err != nil {
			return err
		}
	}
	if err := r.confirmDeletes(ctx, fetching, &changes, seen); err != nil {
		return err
	}
	if r.Stream.Kind == catalog.Walk {
		if err := r.guardDeletes(changes); err != nil {
			return err
		}
	}
	r.record.Changes = changes
	r.gap = seen.gap
	if r.job.DryRun {
		return errors.Join(r.warehouse.Discard(ctx, r.Run), r.incomplete())
	}
	if err := r.publish(ctx, changes, seen.watermark(watermark, r.job.overlap())); err != nil {
		return err
	}
	return r.incomplete()
}

// incomplete is the error of a run that is published and may have missed rows, nil for one that has not.
func (r *run) incomplete() error {
	if r.gap == "" {
		return nil
	}
	return &IncompleteError{Account: r.Account, Stream: r.Stream.Name, Reason: r.gap}
}

// publish makes the run visible. ctx outlives a signal, so that what was begun is finished; where there is not time
// enough, the next run finishes it.
func (r *run) publish(ctx context.Context, changes warehouse.Changes, watermark time.Time) error {
	r.report(PhaseMerging)
	mergedAt := r.now(r.local())
	if err := r.warehouse.Prepare(ctx, r.Run, changes, mergedAt); err != nil {
		return err
	}
	if err := r.lease.Check(ctx); err != nil { // syncer-4
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.job.Stream.Kind == catalog.Incremental {
		r.record.Watermark = watermark
	}
	r.record.FinishedAt, r.record.Outcome, r.publishing = mergedAt, warehouse.OutcomeSuccess, true
	if err := r.incomplete(); err != nil {
		r.record.Outcome, r.record.Error = warehouse.OutcomeIncomplete, err.Error()
	}
	err := r.warehouse.Publish(ctx, r.lease, r.Run, warehouse.Intent{
		RunID: r.ID, MergedAt: mergedAt, Watermark: r.record.Watermark, Record: r.record, State: r.state, Beside: r.retry != nil,
	})
	if err != nil {
		return err
	}
	r.metrics.merged(r, r.local().Sub(r.staged))
	r.metrics.published(r.record)
	return nil
}
