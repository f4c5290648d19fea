package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"dealhouse/internal/daemon/web"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Options of a Daemon. Warehouse, Plan and Metrics must be given.
type Options struct {
	Warehouse *warehouse.Warehouse // its schema is up to date
	Plan      *Plan                // the first one
	Metrics   *Metrics
	// Load reads the configuration again, for Reload. Its error leaves the plan in force.
	Load func(ctx context.Context) (*Plan, error)
	// Reload asks for a reload. All signals that come while one is under way, or within a second, count as one.
	Reload <-chan os.Signal
	// Env is the environment. Its NOTIFY_SOCKET and WATCHDOG_USEC name the supervisor (systemd), if there is one.
	Env    []string
	Logger *slog.Logger // default: none
	// Observer is notified of all scheduled runs. Default: none.
	Observer *syncer.Observer
	Clock    func() time.Time // default: time.Now

	ticks <-chan time.Time                                                            // seam: default: four a second
	saves time.Duration                                                               // seam: default: saveTimeout
	run   func(ctx context.Context, job syncer.Job) (warehouse.RunRecord, error)      // seam: default: the syncer's
	looks <-chan time.Time                                                            // seam: default: one every five seconds
	after func(d time.Duration) (expired <-chan time.Time, stop func() (active bool)) // seam: default: a timer
}

// Daemon runs streams by their schedules.
type Daemon struct {
	o        Options
	log      *slog.Logger
	now      func() time.Time
	progress *progress

	requests chan chan []web.Stream
	asks     chan func(*loop)
	acting   sync.Mutex    // one operator at a time
	readings atomic.Uint64 // number of readings of directives so far
	ended    chan ended
	reloaded chan reloaded
	stopped  chan struct{} // closed when the loop has ended
	started  atomic.Bool   // the plan is in force
	draining atomic.Bool
	refused  atomic.Pointer[string] // why the newest configuration was; nil: it was not
	observed atomic.Int64           // when the metrics were last brought up to date with the warehouse, in nanoseconds since 1970

	supervisor *supervisor
	timetable  timetable
}

// ended is the outcome of a run, which is sent to the loop.
type ended struct {
	id     warehouse.StreamID
	result syncer.Result
}

// reloaded is the outcome of a reload, which is sent to the loop.
type reloaded struct {
	plan *Plan
	known
	err error
}

// known is what the warehouse knows about the streams when a plan takes effect.
type known struct {
	standings  []warehouse.StreamStatus
	directives directives
	checks     map[warehouse.StreamID][]warehouse.Check
}

// tick is how often the loop compares the clock with the timetable.
const tick = 250 * time.Millisecond

// New makes a Daemon.
func New(o Options) (*Daemon, error) {
	if o.Warehouse == nil || o.Plan == nil || o.Metrics == nil {
		return nil, errors.New("daemon: Warehouse, Plan and Metrics must be given")
	}
	d := &Daemon{
		o: o, log: o.Logger, now: o.Clock, progress: newProgress(),
		requests: make(chan chan []web.Stream), asks: make(chan func(*loop)), ended: make(chan ended),
		reloaded: make(chan reloaded, 1), stopped: make(chan struct{}),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.o.saves == 0 {
		d.o.saves = saveTimeout
	}
	if d.now == nil {
		d.now = func() time.Time { return time.Now().Round(0) } // daemon-3: without the monotonic clock, which stops while the machine sleeps
	}
	d.supervisor = newSupervisor(o.Env, d.log)
	if d.o.run == nil {
		s, err := syncer.New(syncer.Options{Warehouse: o.Warehouse, Logger: d.log, Metrics: o.Metrics.Syncer,
			Progress: d.progress.update, Observer: o.Observer})
		if err != nil {
			return nil, fmt.Errorf("preparing the runs: %w", err)
		}
		d.o.run = s.Run
	}
	if d.o.after == nil {
		d.o.after = func(wait time.Duration) (<-chan time.Time, func() bool) {
			t := time.NewTimer(wait)
			return t.C, t.Stop
		}
	}
	return d, nil
}

// Ready returns why the daemon cannot work now, or nil.
func (d *Daemon) Ready(ctx context.Context) error {
	switch {
	case d.draining.Load():
		return errors.New("the daemon is shutting down")
	case !d.started.Load():
		return errors.New("the daemon is starting")
	}
	if _, err := d.o.Warehouse.Ping(ctx); err != nil {
		return err
	}
	return d.o.Warehouse.CheckSchema(ctx)
}

// Refused returns why the newest configuration was refused, so that the one before is in force; "": it was not.
func (d *Daemon) Refused() string {
	if why := d.refused.Load(); why != nil {
		return *why
	}
	return ""
}

// Streams returns the present state of the configured streams, in the order of the configuration. It returns nil
// after the daemon has ended.
func (d *Daemon) Streams() []web.Stream {
	answer := make(chan []web.Stream, 1)
	select {
	case d.requests <- answer:
		all := <-answer
		for i := range all {
			if all[i].Running != nil {
				all[i].Running = d.progress.of(all[i].Account, all[i].Stream)
			}
		}
		return all
	case <-d.stopped:
		return nil
	}
}

// Run runs the streams until ctx ends, and returns when the last run has. It must be called once.
func (d *Daemon) Run(ctx context.Context) error {
	defer close(d.stopped)
	known, err := d.know(ctx)
	if err != nil {
		d.o.Plan.free()
		return fmt.Errorf("reading where the streams stand: %w", err)
	}
	l := d.newLoop(ctx)
	defer l.close()
	l.beside.Go(func() { d.applyRequestsAgain(l.runs) })
	l.adopt(d.o.Plan, known)
	d.o.Metrics.read(d.now(), nil)
	d.started.Store(true)
	d.supervisor.notify("READY=1", "STATUS="+l.summary())
	l.serve(ctx)
	return nil
}

func (d *Daemon) know(ctx context.Context) (k known, err error) {
	if k.standings, err = d.o.Warehouse.Status(ctx); err == nil {
		k.checks, err = d.o.Warehouse.LatestChecks(ctx)
	}
	if err == nil {
		k.directives, err = d.readDirectives(ctx)
	}
	return k, err
}

// loop is the goroutine that owns the timetable.
type loop struct {
	*Daemon
	runs     context.Context //nolint:containedctx // the context of all runs: it continues while the daemon drains
	stopRuns context.CancelCauseFunc
	beside   sync.WaitGroup  // goroutines that work beside the runs
	serving  context.Context //nolint:containedctx // the context of the program: reloads end with it
	lastTick time.Time
	lastPing time.Time

	lastReload time.Time // when the last reload began
	reloading  bool
	again      bool         // a requested reload was put off
	waiting    []chan error // who waits for the outcome of the reload under way
	later      []chan error // who waits for the outcome of the reload after it

	directives directives // of operators, the newest that were read
}

func (d *Daemon) newLoop(ctx context.Context) *loop {
	l := &loop{Daemon: d, serving: ctx, lastTick: d.now()}
	l.runs, l.stopRuns = context.WithCancelCause(context.WithoutCancel(ctx))
	return l
}

func (l *loop) close() {
	l.stopRuns(nil)
	l.beside.Wait()
	l.timetable.settings.retire()
}

// serve runs the loop until the daemon is asked to stop, and then until nothing runs.
func (l *loop) serve(ctx context.Context) {
	ticks := l.o.ticks
	if ticks == nil {
		t := time.NewTicker(tick)
		defer t.Stop()
		ticks = t.C
	}
	l.turn()
	for stop := ctx.Done(); stop != nil; {
		select {
		case <-stop:
			stop = nil
		case <-ticks:
			l.tick()
			if l.again {
				l.reload(ctx, nil)
			}
		case <-l.o.Reload:
			l.reload(ctx, nil)
		case r := <-l.reloaded:
			l.applyReload(ctx, r)
		case e := <-l.ended:
			l.finish(e)
			l.turn()
		case answer := <-l.requests:
			answer <- l.timetable.streams(l.now())
		case ask := <-l.asks:
			ask(l)
		}
	}
	l.drain(ctx, ticks)
}

// drain waits for the runs under way, and stops them when the grace is over (daemon-7).
func (l *loop) drain(ctx context.Context, ticks <-chan time.Time) {
	l.draining.Store(true)
	l.supervisor.notify("STOPPING=1")
	running := l.timetable.running()
	grace := l.timetable.settings.Grace
	if running > 0 {
		l.log.Info("shutting down: no new run starts; runs under way may continue for the grace period", "running", running, "grace",
			grace)
	}
	expired, stop := l.o.after(grace)
	defer stop()
	for l.timetable.running() > 0 {
		select {
		case <-expired:
			expired = nil
			l.log.Info("the grace period is over: stopping the runs under way", "running", l.timetable.running())
			l.stopRuns(context.Cause(ctx))
		case <-ticks:
			l.ping()
		case e := <-l.ended:
			l.finish(e)
		case answer := <-l.requests:
			answer <- l.timetable.streams(l.now())
		case ask := <-l.asks:
			ask(l)
		}
	}
	if l.reloading { // nobody else would close its plan
		if r := <-l.reloaded; r.plan != nil {
			r.plan.free()
		}
	}
	l.waiting = append(l.waiting, l.later...)
	l.answerReload(errors.New("the daemon is shutting down"))
}

// tick compares the clock with the timetable.
func (l *loop) tick() {
	now := l.now()
	const tolerated = time.Minute // smaller steps come from a busy machine or a clock correction
	switch step := now.Sub(l.lastTick); {
	case step > tolerated:
		l.log.Warn("the clock jumped forward: the machine slept, or the clock was set", "by",
			step)
	case step < -time.Second:
		l.log.Warn("the clock was set back: planning all runs again", "by", -step)
		l.replan(now)
	}
	l.lastTick = now
	l.ping()
	l.turn()
}

// ping keeps the watchdog quiet (daemon-8).
func (l *loop) ping() {
	every := l.supervisor.watchdog
	if now := l.now(); every > 0 && now.Sub(l.lastPing).Abs() >= every {
		l.lastPing = now
		l.supervisor.notify("WATCHDOG=1")
	}
}

// turn starts what is due.
func (l *loop) turn() {
	now := l.now()
	for _, e := range l.timetable.inTurn() {
		if e.due(now) && !l.timetable.room(e) { // what is due stays due, and the end of another run gives it its turn (daemon-11)
			continue
		}
		due := e.next()
		start, full, missed := e.turn(now)
		if missed > 0 {
			l.log.Info("scheduled times were missed", "account", e.Job.Account, "stream", e.Job.Stream.Name, "missed", missed,
				"running", e.running != nil)
			l.o.Metrics.missed.WithLabelValues(e.Job.Account, e.Job.Stream.Name).Add(float64(missed))
		}
		if start {
			l.start(e, full, now, due)
		}
		if start || missed > 0 {
			l.o.Metrics.planned(e.id(), e.next())
		}
	}
}
