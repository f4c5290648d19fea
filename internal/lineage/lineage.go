package lineage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Options of an Emitter. Either URL or File must be given, and Namespace, Warehouse and Database.
type Options struct {
	URL  string // to which events are posted: http or https, without user, password and query
	Key  string // sent as a bearer credential; empty: none
	File string // to which events are appended, one a line

	Namespace string // of the jobs
	Parent    Parent // of all runs; zero: they have none
	Warehouse string // namespace of the views: clickhouse://host:port
	Database  string
	Engine    string // version of ClickHouse
	Version   string // of this program

	Lost    func(events int) // called with the number of events that were dropped
	Logger  *slog.Logger     // default: none
	Timeout time.Duration    // of one attempt; default 5s
	Queue   int              // events that may wait; default 1000
	Pauses  []time.Duration  // before further attempts for an event; default 500ms and 2s
}

// Parent is the run of another program that has started this one.
type Parent struct{ Namespace, Job, Run string }

// Emitter sends events. nil sends none. It is safe for concurrent use.
type Emitter struct {
	o        Options
	producer string
	target   target
	stop     context.CancelFunc // of what is being sent
	ended    chan struct{}      // closed when the last event is sent or dropped

	mu     sync.Mutex
	queue  chan []byte // nil once it is closed
	silent bool        // a loss was logged, and nothing has arrived since
}

// New starts an Emitter, which must be closed.
func New(o Options) *Emitter {
	if o.Lost == nil {
		o.Lost = func(int) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Queue == 0 {
		o.Queue = 1000
	}
	if o.Pauses == nil {
		o.Pauses = []time.Duration{500 * time.Millisecond, 2 * time.Second}
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &Emitter{o: o, producer: producerOf(o.Version), target: newTarget(o), stop: stop, ended: make(chan struct{}),
		queue: make(chan []byte, o.Queue)}
	go e.deliver(ctx, e.queue)
	return e
}

// Observer returns an observer that reports runs to the Emitter; nil if there is none.
func (e *Emitter) Observer() *syncer.Observer {
	if e == nil {
		return nil
	}
	return &syncer.Observer{
		Began: func(j syncer.Job, r warehouse.RunRecord) { e.emit(e.of(j, r, true)) },
		Ended: func(j syncer.Job, r warehouse.RunRecord) { e.emit(e.of(j, r, false)) },
	}
}

// emit queues an event for the receiver (lineage-1).
func (e *Emitter) emit(ev event) {
	text, err := ev.text()
	if err != nil {
		e.lose(1, err)
		return
	}
	e.mu.Lock()
	full := true
	if e.queue != nil {
		select {
		case e.queue <- text:
			full = false
		default:
		}
	}
	e.mu.Unlock()
	if full {
		e.lose(1, errFull)
	}
}

// deliver sends the queued events to the receiver, in their order (lineage-2).
func (e *Emitter) deliver(ctx context.Context, queue <-chan []byte) {
	defer close(e.ended)
	for text := range queue {
		if err := e.try(ctx, text); err != nil {
			e.lose(1, err)
			continue
		}
		e.mu.Lock()
		e.silent = false
		e.mu.Unlock()
	}
}

// try sends an event, and sends it again if that may help.
func (e *Emitter) try(ctx context.Context, text []byte) error {
	for attempt := 0; ; attempt++ {
		attempted, cancel := context.WithTimeout(ctx, e.o.Timeout)
		again, err := e.target.send(attempted, text)
		cancel()
		if err == nil || !again || attempt == len(e.o.Pauses) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(e.o.Pauses[attempt]):
		}
	}
}

// lose counts events that are dropped, and logs the first.
func (e *Emitter) lose(events int, why error) {
	e.o.Lost(events)
	e.mu.Lock()
	first := !e.silent
	e.silent = true
	e.mu.Unlock()
	if first {
		e.o.Logger.Warn("OpenLineage events are lost: runs continue, and this is logged once until one arrives", "receiver",
			e.target.name(), "error", why)
	}
}

// Close sends what is left until ctx ends, and drops the rest.
func (e *Emitter) Close(ctx context.Context) {
	if e == nil {
		return
	}
	e.mu.Lock()
	queue := e.queue
	e.queue = nil
	e.mu.Unlock()
	if queue == nil {
		return
	}
	close(queue)
	select {
	case <-e.ended:
	case <-ctx.Done():
	}
	e.stop()
	<-e.ended
}
