package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrLeaseLost says that another worker took the stream over. The run has changed nothing that readers see.
var ErrLeaseLost = errors.New("another worker has taken this stream over")

// HeldError says that another run of the same stream is under way.
type HeldError struct {
	Owner   string
	RunID   uuid.UUID
	Expires time.Time // by the clock of the warehouse
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("run %s of %s is under way; its lease ends at %s unless it is renewed", e.RunID, e.Owner, e.Expires.Format(time.RFC3339))
}

// leaseTTL is how long a stream stays taken after its worker was last heard of. A worker that paused for longer may
// find its lease taken; it then stops before it publishes.
const leaseTTL = 60 * time.Second

type leaseValue struct {
	Owner   string    `json:"owner"`
	Attempt uuid.UUID `json:"attempt"`
	RunID   uuid.UUID `json:"run_id"`
	Expires int64     `json:"expires"` // microseconds since 1970, by the clock of the warehouse
}

// Lease is the right to run one stream of one account, kept alive until Release. ClickHouse has no compare-and-swap:
// of two that take it at the same moment the later one has it, and the other finds out at its next Check. Two workers
// at once are harmless to the data; the lease makes them rare.
type Lease struct {
	pool    *pool
	account string
	stream  string
	value   leaseValue
	ttl     time.Duration
	begun   time.Time
	orphan  bool
	untidy  bool       // something is left that the next holder has to clear away
	states  []stateRow // of the stream, as the holder found them, the oldest first; those that were cleared are empty
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// Acquire takes the lease of a stream, or returns a *HeldError.
func (w *Warehouse) Acquire(ctx context.Context, r Run) (*Lease, error) {
	if err := w.choose(ctx); err != nil {
		return nil, err
	}
	l := &Lease{pool: w.pool, account: r.Account, stream: r.Stream.Name, value: leaseValue{Owner: w.owner.String(), RunID: r.ID, Attempt: r.Attempt}, ttl: leaseTTL}
	now, err := w.Now(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := w.state(ctx, l.account, l.stream, stateLease)
	if err != nil {
		return nil, err
	}
	current, err := parseState[leaseValue](l.account, l.stream, stateLease, stored.value)
	if err != nil {
		return nil, err
	}
	if current != nil && current.Attempt != r.Attempt && !w.isGone(current.Owner) {
		left := w.sightings.left(StreamID{l.account, l.stream}, stored.version, time.UnixMicro(current.Expires).Sub(now))
		if left > 0 {
			return nil, &HeldError{Owner: current.Owner, RunID: current.RunID, Expires: now.Add(left)}
		}
	}
	l.begun, l.orphan = now, current != nil
	if err := l.write(ctx, now.Add(l.ttl)); err != nil {
		return nil, err
	}
	if err := l.load(ctx); err != nil {
		return nil, err
	}
	w.metrics.lease(l, 1)
	w.replicas.begin()
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.heartbeat(beat) })
	return l, nil
}

// Begun is when the lease was taken, by the clock of the warehouse.
func (l *Lease) Begun() time.Time { return l.begun }

// Orphan reports that the last holder did not give the lease back: what it was doing may be half done.
func (l *Lease) Orphan() bool { return l.orphan }

// AssumeUnclean makes Recover look for what was left behind, though the last holder gave the lease back. A worker calls
// it that knows it left something itself.
func (l *Lease) AssumeUnclean() { l.orphan = true }

// Check returns ErrLeaseLost when another worker has taken the stream over.
func (l *Lease) Check(ctx context.Context) error {
	stored, err := l.pool.state(ctx, l.account, l.stream, stateLease)
	if err != nil {
		return err
	}
	return l.verify(stored.value)
}

// verify is Check for the lease as it is stored now.
func (l *Lease) verify(value string) error {
	current, err := parseState[leaseValue](l.account, l.stream, stateLease, value)
	if err == nil && (current == nil || current.Attempt != l.value.Attempt) {
		err = fmt.Errorf("%s of account %s: %w", l.stream, l.account, ErrLeaseLost)
	}
	return err
}

// load reads all states of the stream, which only the holder of the lease changes, and checks the lease among them.
func (l *Lease) load(ctx context.Context) error {
	rows, err := l.pool.conn.Query(ctx, selectStates,
		named("account", l.account), named("stream", l.stream))
	l.states, err = scanned(rows, err, func(s *stateRow) []any { return []any{&s.name, &s.value, &s.version} })
	if err != nil {
		return fmt.Errorf("reading the state of %s of account %s: %w", l.stream, l.account, err)
	}
	return l.verify(l.state(stateLease))
}

// state is the value of one of the states, "" when there is none.
func (l *Lease) state(name string) string {
	for _, s := range l.states {
		if s.name == name {
			return s.value
		}
	}
	return ""
}

// Release gives the lease back. It may be called twice.
func (l *Lease) Release(ctx context.Context) error {
	if l.untidy {
		return l.Expire(ctx)
	}
	return l.giveBack(ctx, func() error { return l.pool.saveStates(ctx, l.account, l.stream, stateRow{stateLease, "", 0}) })
}

// Expire gives the lease back as one that has run out, so that its next holder finishes or clears away what was left
// behind.
func (l *Lease) Expire(ctx context.Context) error {
	return l.giveBack(ctx, func() error { return l.write(ctx, time.UnixMicro(0)) })
}

// giveBack stops the heartbeat, and writes the end of the lease unless another worker has it.
func (l *Lease) giveBack(ctx context.Context, write func() error) error {
	if l.stop == nil {
		return nil
	}
	l.stop()
	l.done.Wait()
	l.stop = nil
	l.pool.replicas.end()
	l.pool.metrics.lease(l, 0)
	switch err := l.Check(ctx); {
	case errors.Is(err, ErrLeaseLost):
		return nil // there is nothing left to give back
	case err != nil:
		return err
	}
	return write()
}

func (l *Lease) heartbeat(ctx context.Context) {
	tick := time.NewTicker(l.ttl / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A beat that fails is not the end: the next one, or the check before publishing, decides.
		if err := l.beat(ctx); err != nil && ctx.Err() == nil {
			l.pool.log.Warn("could not renew the lease", "account", l.account, "stream", l.stream, "error", err)
			if errors.Is(err, ErrLeaseLost) {
				l.pool.metrics.lease(l, 0)
				return
			}
		}
	}
}

func (l *Lease) beat(ctx context.Context) error {
	if err := l.Check(ctx); err != nil {
		return err
	}
	now, err := l.pool.Now(ctx)
	if err != nil {
		return err
	}
	return l.write(ctx, now.Add(l.ttl))
}

// write stores the lease with the time at which it ends, by the clock of the warehouse.
func (l *Lease) write(ctx context.Context, expires time.Time) error {
	v := l.value
	v.Expires = expires.UnixMicro()
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the lease: %w", err)
	}
	return l.pool.saveStates(ctx, l.account, l.stream, stateRow{stateLease, string(text), 0})
}
