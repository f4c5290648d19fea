package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// start starts a run in a goroutine of its own. due is when the run was due by its schedule.
func (l *loop) start(e *entry, full bool, now, due time.Time) {
	ctx, cancel := context.WithCancelCause(l.runs)
	e.running = &attempt{since: now, full: full, settings: e.settings, key: keyOf(e.Job.Client), cancel: cancel}
	e.settings.users++
	job, set := e.Job, e.settings
	job.Full = full
	if !due.After(now) { // otherwise an operator has requested it
		job.Due = due
	}
	go func() {
		defer cancel(nil)
		l.ended <- ended{e.id(), l.perform(ctx, job, set)}
	}()
}

// perform makes one run and does all that follows it, and logs how the run ended.
func (d *Daemon) perform(ctx context.Context, job syncer.Job, set *settings) syncer.Result {
	result := syncer.Result{Job: job}
	ctx, ended := syncer.StartSpan(ctx, job)
	defer func() { ended(result.Record, result.Err) }()
	err := syncer.Contain(func() (err error) {
		result.Record, err = d.o.run(ctx, job)
		return err
	})
	result.Err = err
	if result.Record.Account == "" { // it ended before it had a record
		result.Record.Account, result.Record.Stream, result.Record.Outcome = job.Account, job.Stream.Name, warehouse.OutcomeFailed
	}
	if err != nil && result.Record.StartedAt.IsZero() {
		d.record(ctx, &result.Record, err)
	}
	d.logResult(ctx, result, &set.warned)
	err = syncer.Contain(func() error {
		if set.After != nil {
			set.After(ctx, []syncer.Result{result})
		}
		return d.observe(ctx)
	})
	if p, panicked := errors.AsType[*syncer.PanicError](err); panicked {
		d.log.Error("the work after a run ended in a panic", "account", job.Account, "stream", job.Stream.Name, "error", err,
			"stack", string(p.Stack))
	}
	return result
}

// goBeside calls plan.Beside, and logs a panic.
func (l *loop) goBeside(plan *Plan) {
	err := syncer.Contain(func() error {
		plan.Beside(l.runs)
		return nil
	})
	if p, panicked := errors.AsType[*syncer.PanicError](err); panicked {
		l.log.Error("a background task ended in a panic", "error", err, "stack", string(p.Stack))
	}
}

// saveTimeout bounds writing the row of a run that failed before it had one.
const saveTimeout = 5 * time.Second

// record writes a row to sync_runs for a run that ended before it had one, so that each scheduled run has a row.
func (d *Daemon) record(ctx context.Context, r *warehouse.RunRecord, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.saves)
	defer cancel()
	now, err := d.o.Warehouse.Now(ctx)
	if err == nil {
		r.RunID, r.StartedAt, r.FinishedAt, r.Error = uuid.New(), now, now, cause.Error()
		err = d.o.Warehouse.SaveRun(ctx, *r)
	}
	if err != nil {
		d.log.Warn("a run that failed could not be recorded in sync_runs", "account", r.Account, "stream", r.Stream, "error",
			err)
	}
}

// observeEvery is how often the metrics are updated from the warehouse. Runs of this process update
// their own metrics at once.
const observeEvery = 5 * time.Minute

// observe updates the metrics from the warehouse, so that they include what other processes loaded.
func (d *Daemon) observe(ctx context.Context) error {
	last, now := d.observed.Load(), d.now().UnixNano()
	if age := time.Duration(now - last); last != 0 && age >= 0 && age < observeEvery ||
		!d.observed.CompareAndSwap(last, now) {
		return nil
	}
	all, err := d.o.Warehouse.Status(ctx)
	if err != nil {
		return err // not logged: the next run reports what is wrong with the warehouse
	}
	d.o.Metrics.Syncer.Observe(all)
	return nil
}

// logResult logs how a run ended. No other function does.
func (d *Daemon) logResult(ctx context.Context, r syncer.Result, warned *remarks) {
	t, c := r.Record.Totals, r.Record.Changes
	log := d.log.With("account", r.Job.Account, "stream", r.Job.Stream.Name, "run_id", r.Record.RunID)
	for _, warning := range r.Record.Warnings {
		level := slog.LevelDebug
		if warned.add(warehouse.StreamID{Account: r.Job.Account, Stream: r.Job.Stream.Name}, warning) {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "noticed in a run", "warning", warning)
	}
	p, panicked := errors.AsType[*syncer.PanicError](r.Err)
	switch {
	case panicked:
		log.Error("run failed", "outcome", r.Record.Outcome, "error", r.Err, "stack", string(p.Stack))
	case r.Err != nil && ctx.Err() != nil:
		log.Info("run stopped: the next one reads what is missing")
	case r.Err != nil && r.Record.Outcome == warehouse.OutcomeIncomplete:
		log.Warn("run incomplete: the next one reads the rest", "mode", r.Record.Mode, "read", t.Read, "inserted", c.Inserted,
			"updated", c.Updated,
			"unchanged", c.Unchanged, "rejected", t.Rejected, "error", r.Err)
	case r.Err != nil:
		log.Error("run failed", "outcome", r.Record.Outcome, "error", r.Err)
	default:
		log.Info("run ended", "outcome", r.Record.Outcome, "mode", r.Record.Mode, "read", t.Read, "inserted", c.Inserted,
			"updated", c.Updated,
			"deleted", c.Deleted, "unchanged", c.Unchanged, "rejected", t.Rejected, "seconds",
			float64(r.Record.FinishedAt.Sub(r.Record.StartedAt).Milliseconds())/1000)
	}
}

// remarks has the warnings that were logged since the plan took effect. A warning that every run repeats, such as an
// unknown field, is logged only once; sync_runs has it for each run.
type remarks struct {
	mu   sync.Mutex
	made map[warehouse.StreamID][]string
}

// mostRemarks is the largest number of warnings that are remembered of a stream: those with counts and times
// in them never occur again.
const mostRemarks = 100

// add reports whether a warning is new, and remembers it.
func (r *remarks) add(id warehouse.StreamID, warning string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	made := r.made[id]
	if slices.Contains(made, warning) {
		return false
	}
	if r.made == nil {
		r.made = map[warehouse.StreamID][]string{}
	}
	if len(made) == mostRemarks {
		made = slices.Delete(made, 0, 1)
	}
	r.made[id] = append(made, warning)
	return true
}

// finish takes note of a run that has ended.
func (l *loop) finish(e ended) {
	l.progress.forget(e.id.Account, e.id.Stream)
	t := l.timetable.find(e.id)
	was := t.running
	t.running, t.lastError, t.refused = nil, "", was.refusedKey(e.result.Err)
	switch {
	case e.result.Err != nil && was.cancelled:
		t.failures = failures{}
	case e.result.Err != nil && l.runs.Err() == nil:
		t.lastError, t.failedAt = e.result.Err.Error(), l.now()
		t.failed(was, e.result.Err, t.failedAt)
	case e.result.Err == nil:
		t.looked, t.failures = e.result.Record.StartedAt, failures{}
	}
	l.o.Metrics.tried(t.id(), t.failures.count, t.next())
	was.settings.leave()
	l.timetable.dropLeft(l.o.Metrics)
}

// progress has how far the runs under way are. They report it often, from many goroutines, so it
// does not belong to the loop.
type progress struct {
	mu   sync.Mutex
	runs map[warehouse.StreamID]syncer.Progress
}

func newProgress() *progress { return &progress{runs: map[warehouse.StreamID]syncer.Progress{}} }

func (p *progress) update(u syncer.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[warehouse.StreamID{Account: u.Account, Stream: u.Stream}] = u
}

func (p *progress) forget(account, stream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, warehouse.StreamID{Account: account, Stream: stream})
}

// of returns the progress of a run that has started. The run may not have reported yet, or may have ended.
func (p *progress) of(account, stream string) *syncer.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, known := p.runs[warehouse.StreamID{Account: account, Stream: stream}]
	if !known {
		u = syncer.Progress{Account: account, Stream: stream, Phase: syncer.PhaseWaiting}
	}
	return &u
}

// summary describes the daemon in a line, for the supervisor's status.
func (l *loop) summary() string {
	enabled := 0
	for _, e := range l.timetable.entries {
		if e.Enabled {
			enabled++
		}
	}
	return fmt.Sprintf("%d streams by schedule", enabled)
}
