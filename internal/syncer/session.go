package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// work is what is done under the lease.
type work func(context.Context) error

func (s *Syncer) newSession(job Job) *session {
	job.Full = job.Full || job.NewService
	x := &session{tools: s.tools, job: job}
	x.log = s.log.With("account", job.Account, "stream", job.Stream.Name)
	x.run = x.newRun(warehouse.Run{})
	return x
}

// repeat does the work, and does it again if another worker took over the stream. Then it completes the record.
func (s *session) repeat(ctx context.Context, do work) (err error) {
	started := time.Now()
	s.metrics.started(s.job, started)
	defer func() { s.metrics.ended(s.job, s.run.record, err, started, time.Now()) }()
	err = s.waitAndHold(ctx, do)
	for range maxTakeovers {
		if !errors.Is(err, warehouse.ErrLeaseLost) {
			break
		}
		s.log.Info("another worker took over the stream: starting again after it")
		s.lost = true
		s.run = s.newRun(warehouse.Run{})
		err = s.waitAndHold(ctx, do)
	}
	s.conclude(ctx, err)
	return err
}

// maxTakeovers is how often a session starts again after it has lost its lease. It loses it twice in a row only if the
// worker stands still for a minute, or if two workers start at the same moment.
const maxTakeovers = 3

func (s *session) waitAndHold(ctx context.Context, do work) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.hold(ctx, do)
}

// wait takes the stream, as soon as a run that is under way has ended.
func (s *session) wait(ctx context.Context) (err error) {
	ctx, span := telemetry.Start(ctx, "wait")
	defer func() { span.End(err) }()
	deadline := time.Now().Add(s.leaseWait)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := s.take(ctx)
		if !isTaken(err) {
			return err
		}
		if time.Now().After(deadline) {
			holder, _ := errors.AsType[*warehouse.HeldError](err)
			return &BusyError{Account: s.job.Account, Stream: s.job.Stream.Name, Waited: s.leaseWait, Holder: holder}
		}
		s.report(PhaseWaiting)
		s.log.Debug("waiting for another run of this stream", "reason", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for another run of %s of account %s: %w", s.job.Stream.Name, s.job.Account,
				context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// isTaken reports whether a stream could not be taken because another run has it.
func isTaken(err error) bool {
	_, held := errors.AsType[*warehouse.HeldError](err)
	return held || errors.Is(err, warehouse.ErrLeaseLost)
}

// take takes the lease of the stream for a new run.
func (s *session) take(ctx context.Context) error {
	id, err := newRunID()
	if err != nil {
		return err
	}
	s.unclean = true
	s.run = s.newRun(warehouse.Run{ID: id, Attempt: uuid.New()})
	if s.lease, err = s.warehouse.Acquire(ctx, s.run.Run); err != nil {
		return err
	}
	s.lease.OnSharing(s.share)
	// The warehouse's clock, carried forward, may be late but never early: what this run reads must not look newer than
	// what the next run reads.
	s.takenAt, s.clock = s.lease.Begun(), s.local()
	s.run.StartedAt = s.takenAt
	if s.lost {
		s.lease.AssumeUnclean()
	}
	return nil
}

// share gives this process its share of requests_per_second, where others load the same account.
func (s *session) share(processes int) {
	if s.job.Client == nil { // what was read before is tried again
		return
	}
	if s.job.Client.Share(processes) {
		s.log.Info("the processes that load this account share requests_per_second", "processes", processes)
	}
}

// hold does the work under the lease, and gives the lease back.
func (s *session) hold(ctx context.Context, do work) error {
	err := Contain(func() error {
		if err := s.recover(ctx); err != nil {
			return err
		}
		return do(ctx)
	})
	left := s.giveBack(ctx)
	if left != nil && err == nil {
		// What was read has been published. The lease expires by itself.
		s.log.Warn("could not release the lease", "error", left)
		return nil
	}
	return errors.Join(err, left)
}

// recover finishes what dead runs had begun to publish, and clears away what they left.
func (s *session) recover(ctx context.Context) error {
	recovered, err := s.run.writer().Recover(ctx, s.lease, s.run.ID)
	s.metrics.Recovered(recovered)
	return err
}

// giveBack gives the lease back. If something is left to finish or to clear away, it says so to the next holder.
func (s *session) giveBack(ctx context.Context) error {
	ctx, cancel := s.cleanup(ctx)
	defer cancel()
	if s.unclean {
		return s.lease.Expire(ctx)
	}
	return s.lease.Release(ctx)
}

// recorded does the work of the session's run, whose record is in sync_runs from the start to the end. A
// limit of 0 means no limit.
func (s *session) recorded(ctx context.Context, mode string, limit time.Duration, do work) error {
	r := s.run
	r.record.RunID, r.record.StartedAt, r.record.Mode = r.ID, r.StartedAt, mode
	return s.observed(ctx, func() error { return s.recording(ctx, limit, do) })
}

// recording does the rest of recorded, once the record says what is done.
func (s *session) recording(ctx context.Context, limit time.Duration, do work) error {
	r := s.run
	if err := r.begin(ctx); err != nil {
		if ctx.Err() != nil { // a signal; the row may exist nevertheless, and must not look like a run under way
			err = errors.Join(err, r.abandon(ctx, err))
		}
		return err
	}
	if limit > 0 {
		late := &DeadlineError{Account: r.Account, Stream: r.Stream.Name, Timeout: limit}
		limited, cancel := context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
		ctx = limited
	}
	err := overdue(ctx, Contain(func() error { return do(ctx) }))
	if late, is := errors.AsType[*DeadlineError](err); is {
		late.Pages, late.Read = r.record.Totals.Pages, r.record.Totals.Read
	}
	if err == nil || isLoaded(err) {
		s.unclean = false
		return err
	}
	left := r.abandon(ctx, err)
	s.unclean = r.publishing || left != nil
	return errors.Join(err, left)
}

// conclude fills in what the record of an ended run still lacks.
func (s *session) conclude(ctx context.Context, err error) {
	record := &s.run.record
	switch {
	case err != nil:
		if record.Outcome == warehouse.OutcomeRunning {
			s.fail(ctx, record, err)
		}
		s.report(PhaseFailed)
		return
	case s.job.DryRun:
		record.Outcome = warehouse.OutcomeDryRun
	}
	if record.FinishedAt.IsZero() {
		record.FinishedAt = s.now(s.local())
	}
	s.report(PhaseDone)
}

// report shows how far the session is.
func (s *session) report(p Phase) {
	progress := Progress{Account: s.job.Account, Stream: s.job.Stream.Name, Phase: p, Totals: s.run.record.Totals}
	if s.meter != nil {
		_, progress.Windows = s.meter.now()
	}
	s.progress(progress)
}

// now returns the time of the warehouse's clock at a local time.
func (s *session) now(local time.Time) time.Time { return s.takenAt.Add(local.Sub(s.clock)) }

// cleanup returns the context for what is done after the work. A session that was told to stop has less time for that.
func (s *session) cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	span := s.grace
	if ctx.Err() != nil {
		span = s.cleanupTimeout
	}
	return context.WithTimeout(context.WithoutCancel(ctx), span)
}

// outlive returns a context that ends when the grace after the end of ctx is over (syncer-7).
func (s *session) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(s.grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// StartSpan begins the span of a run. The caller makes the run, and what it does afterwards may belong to the span. The
// returned function ends the span, with the result of the run.
func StartSpan(ctx context.Context, job Job) (context.Context, func(warehouse.RunRecord, error)) {
	ctx, span := telemetry.StartRun(ctx, "run", job.Stream.Name)
	return ctx, func(r warehouse.RunRecord, err error) {
		if span == nil { // tracing that is off costs nothing
			return
		}
		span.Text("dealhouse.account", job.Account)
		span.Text("dealhouse.stream", job.Stream.Name)
		span.Text("dealhouse.run_id", r.RunID.String())
		span.Text("dealhouse.mode", r.Mode)
		span.Text("dealhouse.outcome", r.Outcome)
		for name, n := range map[string]uint64{
			"pages": r.Totals.Pages, "read": r.Totals.Read, "rejected": r.Totals.Rejected, "bytes": r.Totals.Bytes,
			"retries":  r.Totals.Retries,
			"inserted": r.Changes.Inserted, "updated": r.Changes.Updated, "deleted": r.Changes.Deleted,
			"unchanged": r.Changes.Unchanged,
		} {
			span.Count("dealhouse."+name, n)
		}
		span.End(err)
	}
}

// observed calls the observer before and after the work that counts as a run of the session.
func (s *session) observed(ctx context.Context, do func() error) error {
	if s.observer == nil || s.job.DryRun {
		return do()
	}
	id := s.run.ID
	record := func() warehouse.RunRecord {
		r := s.run.record
		r.RunID = id // not the id of the last of several runs
		return r
	}
	s.observer.Began(s.job, record())
	err := do()
	ended := record()
	if ended.Outcome == warehouse.OutcomeRunning {
		ended.Outcome = warehouse.OutcomeSuccess
		if err != nil {
			s.fail(ctx, &ended, err)
		}
	}
	if err != nil && ended.Error == "" {
		ended.Error = err.Error()
	}
	if ended.FinishedAt.IsZero() {
		ended.FinishedAt = s.now(s.local())
	}
	s.observer.Ended(s.job, ended)
	return err
}

// read notes how far a window is.
func (m *meter) read(r *run, t warehouse.Totals) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[r] = t
}

// drop notes that a window is read, or given up.
func (m *meter) drop(r *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended.Add(m.live[r])
	delete(m.live, r)
}

// finish notes that this many more windows need not be read again.
func (m *meter) finish(windows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows.Done += windows
}

func (m *meter) now() (warehouse.Totals, Windows) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ended
	for _, w := range m.live {
		t.Add(w)
	}
	return t, m.windows
}

// unstage drops what a failed run has staged, or keeps it for the next run. lost says that another worker has the
// stream now.
type unstage func(ctx context.Context, cause error, lost bool) error

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

// isMoved reports that base_url or the key is not the one by which the loaded rows were read.
func (s *session) isMoved() bool {
	stored := s.lease.Origin()
	return stored != "" && stored != s.job.Client.Identity()
}
