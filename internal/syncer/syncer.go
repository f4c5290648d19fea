package syncer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

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
