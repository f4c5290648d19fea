package syncer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"dealhouse/internal/warehouse"
)

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
