//go:build !noengine

package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/catalog"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// empty is for tests that write nothing.
var empty *warehouse.Warehouse

func TestMain(m *testing.M) {
	enginetest.Main(m, enginetest.Options{Setup: func(ctx context.Context) (func() error, error) {
		var err error
		if empty, err = warehouse.Open(ctx, warehouse.Options{DSN: enginetest.DSN()}); err != nil {
			return nil, err
		}
		_, err = empty.Migrate(ctx)
		return empty.Close, err
	}})
}

// open gives the test a migrated database of its own.
func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	return warehousetest.Open(t)
}

// bed is a daemon whose clock, ticks and runs the test controls.
type bed struct {
	*Daemon
	t        *testing.T
	registry *prometheus.Registry
	log      *lockedBuffer
	reloads  chan os.Signal
	ticks    chan time.Time
	begun    chan *attempted
	grace    chan time.Time
	ended    chan error
	stop     context.CancelCauseFunc

	mu  sync.Mutex
	now time.Time
}

// attempted is a run that has begun and ends when the test says so.
type attempted struct {
	job syncer.Job
	ctx context.Context
	end chan func() (warehouse.RunRecord, error)
}

// patience is how long a test waits for something that must happen.
const patience = 10 * time.Minute

var errTold = errors.New("told to end")

// asEver is a warning that every run has.
const asEver = "a field that nobody knows"

const begin = "2026-07-01T12:00:00Z"

// start runs a daemon with the plan; change may alter the options.
func start(t *testing.T, plan *Plan, change func(*bed, *Options)) *bed {
	t.Helper()
	b := &bed{
		t: t, registry: prometheus.NewRegistry(), log: &lockedBuffer{}, now: at(t, begin),
		reloads: make(chan os.Signal), ticks: make(chan time.Time), begun: make(chan *attempted, 100),
		grace: make(chan time.Time), ended: make(chan error, 1),
	}
	metrics := NewMetrics(b.registry, Build{Version: "test"}, b.clock)
	o := Options{
		Plan: plan, Metrics: metrics, Reload: b.reloads, Clock: b.clock, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
		ticks: b.ticks, run: b.run, saves: patience, after: func(time.Duration) (<-chan time.Time,
			func() bool) {
			return b.grace, func() bool { return true }
		},
	}
	if change != nil {
		change(b, &o)
	}
	if o.Warehouse == nil {
		o.Warehouse = empty
	}
	var err error
	if b.Daemon, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.Context()))
	b.stop = stop
	go func() { b.ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop(errTold)
		close(b.grace) // stop what still runs
		select {
		case <-b.stopped:
		case <-time.After(patience):
			t.Error("the daemon does not end")
		}
	})
	return b
}

func (b *bed) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// run takes the place of the syncer's: a run ends when the test, or its context, says so.
func (b *bed) run(ctx context.Context, job syncer.Job) (warehouse.RunRecord, error) {
	a := &attempted{job: job, ctx: ctx, end: make(chan func() (warehouse.RunRecord, error), 1)}
	b.begun <- a
	record := warehouse.RunRecord{Account: job.Account, Stream: job.Stream.Name, StartedAt: b.clock(),
		Outcome: warehouse.OutcomeSuccess, Warnings: []string{asEver}}
	select {
	case how := <-a.end:
		if how != nil {
			return how()
		}
		return record, nil
	case <-ctx.Done():
		record.Outcome = warehouse.OutcomeStopped
		return record, context.Cause(ctx)
	}
}

// advance moves the clock, and returns when the daemon has seen it.
func (b *bed) advance(d time.Duration) {
	b.t.Helper()
	b.mu.Lock()
	b.now = b.now.Add(d)
	now := b.now
	b.mu.Unlock()
	select {
	case b.ticks <- now:
	case <-b.t.Context().Done():
		b.t.Fatal("the loop takes no tick")
	}
	b.Streams() // it answers after the tick
}

// begins waits for a run.
func (b *bed) begins(stream string) *attempted {
	b.t.Helper()
	select {
	case a := <-b.begun:
		if a.job.Stream.Name != stream {
			b.t.Fatalf("a run of %s began, not of %s", a.job.Stream.Name, stream)
		}
		return a
	case <-time.After(patience):
		b.t.Fatalf("no run of %s began", stream)
		return nil
	}
}

// idle fails the test if a run is under way.
func (b *bed) idle() {
	b.t.Helper()
	for _, s := range b.Streams() {
		if s.Running != nil {
			b.t.Fatalf("%s of %s runs", s.Stream, s.Account)
		}
	}
}

func (b *bed) allIdle() bool {
	return !slices.ContainsFunc(b.Streams(), func(s web.Stream) bool { return s.Running != nil })
}

// finish ends a run as successful, and returns when the daemon knows.
func (b *bed) finish(a *attempted) {
	b.t.Helper()
	b.finishAs(a, nil)
}

func (b *bed) finishAs(a *attempted, how func() (warehouse.RunRecord, error)) {
	b.t.Helper()
	since := b.stream(a.job.Account, a.job.Stream.Name).Since
	a.end <- how
	b.until("the run has ended", func() bool {
		s := b.stream(a.job.Account, a.job.Stream.Name)
		return s.Running == nil || !s.Since.Equal(since) || len(b.begun) > 0
	})
}

// until calls done again and again until it returns true: what it waits for happens soon, in other goroutines.
func (b *bed) until(what string, done func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			b.t.Fatalf("it never came to it that %s\n%s", what, b.log.String())
		}
	}
}

func (b *bed) stream(account, stream string) web.Stream {
	for _, s := range b.Streams() {
		if s.Account == account && s.Stream == stream {
			return s
		}
	}
	return web.Stream{}
}

// value returns a metric of a stream; further labels are given as name=value. It fails the test if
// the series does not exist.
func (b *bed) value(name string, labels ...string) float64 {
	b.t.Helper()
	v, found := b.find(name, labels...)
	if !found {
		b.t.Fatalf("there is no %s%v", name, labels)
	}
	return v
}

func (b *bed) find(name string, labels ...string) (float64, bool) {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	series:
		for _, m := range f.Metric {
			have := map[string]string{}
			for _, l := range m.Label {
				have[l.GetName()] = l.GetValue()
			}
			for _, l := range labels {
				key, value, _ := strings.Cut(l, "=")
				if have[key] != value {
					continue series
				}
			}
			return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
		}
	}
	return 0, false
}

// lockedBuffer is a log that goroutines share.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// planned makes a stream of a plan.
func planned(t *testing.T, account, stream, runs, resyncs string) Stream {
	t.Helper()
	s, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	return Stream{Job: syncer.NewJob(account, s, nil), Enabled: true, Schedule: schedule(t, runs, "UTC"),
		Resync: schedule(t, resyncs, "UTC")}
}
