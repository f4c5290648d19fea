package notify

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// Options of a Notifier. Warehouse and Streams must be given.
type Options struct {
	Warehouse *warehouse.Warehouse // its schema is up to date
	Streams   func() []Stream      // that are configured
	Metrics   *Metrics             // default: none
	Logger    *slog.Logger         // default: none
	Clock     func() time.Time     // default: time.Now

	roots  *x509.CertPool   // seam: default: those of the system
	point  func(string)     // seam: called at each step after which a kill may come
	ticks  <-chan time.Time // seam: default: one every two seconds
	limits limits           // seam: default: defaultLimits
}

// Notifier sends messages to the receivers of a configuration.
type Notifier struct {
	o   Options
	log *slog.Logger
	now func() time.Time

	receivers atomic.Pointer[Receivers]
	woken     atomic.Bool
	turning   sync.Mutex // one turn at a time

	unsettled map[uuid.UUID]warehouse.Notification // sent, and not yet stored as such
	trouble   trouble
	failed    map[string]string // what was last logged of a receiver, so that it is logged once
	mu        sync.Mutex        // guards failed and unsettled
}

// New makes a Notifier without receivers.
func New(o Options) (*Notifier, error) {
	if o.Warehouse == nil || o.Streams == nil {
		return nil, errors.New("notify: Warehouse and Streams must be given")
	}
	n := &Notifier{o: o, log: o.Logger, now: o.Clock, unsettled: map[uuid.UUID]warehouse.Notification{},
		failed: map[string]string{}}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	if n.now == nil {
		n.now = time.Now
	}
	if n.o.point == nil {
		n.o.point = func(string) {}
	}
	if n.o.limits == (limits{}) {
		n.o.limits = defaultLimits
	}
	n.receivers.Store(&Receivers{})
	return n, nil
}

// Adopt puts receivers in force, from the next turn on. nil: none.
func (n *Notifier) Adopt(r *Receivers) {
	if r == nil {
		r = &Receivers{}
	}
	n.receivers.Store(r)
	names, _ := r.Names()
	n.o.Metrics.Expect(names)
	n.Wake()
}

// Wake asks for a turn soon: something may have happened. It never waits.
func (n *Notifier) Wake() { n.woken.Store(true) }

const (
	tick = 2 * time.Second
	// every is how often there is a turn even if nothing happened: streams become late as time passes, and failed
	// messages are due again. It is also how often a dead man's switch is pinged.
	every = time.Minute
)

// Run takes turns, and pings, until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	ticks := n.o.ticks
	if ticks == nil {
		t := time.NewTicker(tick)
		defer t.Stop()
		ticks = t.C
	}
	var turned, pinged time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		now := n.now()
		if n.woken.Swap(false) || now.Sub(turned).Abs() >= every {
			turned = now
			if err := n.Turn(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn("notifications have to wait", "error", err)
			}
		}
		if now.Sub(pinged).Abs() >= every {
			pinged = now
			n.pingHealth(ctx)
		}
	}
}

// limits of a turn.
type limits struct {
	storing  time.Duration // deciding and storing, with taking the turn
	serving  time.Duration // sending, with taking the turn
	settling time.Duration // storing that messages were sent
	patience time.Duration // waiting for a turn that another process has
}

// defaultLimits end a turn before others may count it as abandoned (notify-2).
var defaultLimits = limits{storing: 40 * time.Second, serving: 35 * time.Second, settling: 40 * time.Second,
	patience: 5 * time.Second}

// Turn stores new messages, and sends waiting ones that are due. A receiver that does not accept a message is no error.
// An error means that the warehouse does not work; if that lasts, receivers are told (notify-8).
func (n *Notifier) Turn(ctx context.Context) error {
	r := n.receivers.Load()
	if len(r.all) == 0 {
		return nil
	}
	n.turning.Lock()
	defer n.turning.Unlock()
	err := n.store(ctx, r)
	if err == nil {
		err = n.deliver(ctx, r)
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	if ctx.Err() == nil {
		n.tellTrouble(ctx, r, err)
	}
	return err
}

// outbox is the warehouse with the messages: with several shards, all messages are on one.
func (n *Notifier) outbox() *warehouse.Warehouse { return n.o.Warehouse.At("") }

// store stores a message for each edge (notify-1).
func (n *Notifier) store(ctx context.Context, r *Receivers) error {
	ctx, cancel := context.WithTimeout(ctx, n.o.limits.storing)
	defer cancel()
	all, unrecorded, err := n.news(ctx, r)
	if err != nil || len(all) == 0 && !unrecorded { // unrecorded: see whether it can be written
		return err
	}
	giveBack, err := n.turn(ctx, warehouse.TurnOfEdges)
	if err != nil || giveBack == nil {
		return err // without an error, another process or the next turn does it
	}
	all, _, err = n.news(ctx, r) // another process may have stored them
	if err == nil && len(all) > 0 {
		n.o.point("storing")
		err = n.outbox().QueueNotifications(ctx, all)
		n.o.point("stored")
	}
	giveBack(ctx)
	return err
}

// news returns the edges of all receivers of messages. unrecorded is as in observation.
func (n *Notifier) news(ctx context.Context, r *Receivers) (all []warehouse.Notification, unrecorded bool, err error) {
	o, err := n.observe(ctx)
	if err != nil {
		return nil, false, err
	}
	told, err := n.outbox().Told(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, t := range r.all {
		if t.Form != receiver.Ping {
			all = append(all, o.edges(t, told[t.Name])...)
		}
	}
	return all, o.unrecorded(), nil
}

// turn takes a turn (notify-2), and waits a while for it. The function is nil if another process keeps the turn. Only
// the waiting is limited: if the warehouse is slow to give the turn, it is taken all the same.
func (n *Notifier) turn(ctx context.Context, table string) (giveBack func(context.Context), err error) {
	over := time.NewTimer(n.o.limits.patience)
	defer over.Stop()
	for {
		giveBack, other, err := n.outbox().ClaimTurn(ctx, table)
		if err != nil || other == "" {
			return giveBack, err
		}
		// At random, so that two do not step back from each other again and again.
		again := time.NewTimer(time.Duration(5+rand.IntN(100)) * time.Millisecond)
		select {
		case <-again.C:
			continue
		case <-ctx.Done():
		case <-over.C:
		}
		again.Stop()
		n.log.Debug("another process has the turn", "process", other)
		return nil, nil //nolint:nilnil // that another one has it is no error
	}
}

// Receivers returns the names and the forms of the receivers in force, in the order of the configuration.
func (n *Notifier) Receivers() (names, forms []string) { return n.receivers.Load().Names() }
