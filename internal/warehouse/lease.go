package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// leaseReading is what was read at one moment of the state of a stream, and of the row of a run.
type leaseReading struct {
	at, local  time.Time // by the clocks of the warehouse and of this process
	newest     uint64    // highest version of all states
	lease      string
	leaseAs    uint64 // its version
	runVersion uint64 // of the row of the run that was asked for
	others     uint64 // processes that hold leases of the account, beside this one
}

// clock returns the warehouse's time now: that of the reading and what has passed since.
func (g leaseReading) clock() time.Time { return g.at.Add(time.Since(g.local)) }

// Acquire takes the lease of a stream, or returns a *HeldError.
func (w *Warehouse) Acquire(ctx context.Context, r Run) (*Lease, error) {
	if err := w.choose(ctx); err != nil {
		return nil, err
	}
	if w.shards != nil {
		return w.At(r.Account).Acquire(ctx, r)
	}
	l := &Lease{pool: w.pool, account: r.Account, stream: r.Stream.Name,
		value: leaseValue{Owner: w.owner.String(), RunID: r.ID, Attempt: r.Attempt}, ttl: leaseTTL}
	seen, err := l.readStored(ctx, uuid.Nil)
	if err != nil {
		return nil, err
	}
	now := seen.at
	current, err := parseState[leaseValue](l.account, l.stream, stateLease, seen.lease)
	if err != nil {
		return nil, err
	}
	if current != nil && current.Attempt != r.Attempt && !w.isGone(current.Owner) {
		left := w.sightings.left(StreamID{l.account, l.stream}, seen.leaseAs, time.UnixMicro(current.Expires).Sub(now))
		if left > 0 {
			return nil, &HeldError{Owner: current.Owner, RunID: current.RunID, Expires: now.Add(left)}
		}
	}
	l.begun, l.freeVersion, l.orphan = now, seen.newest, current != nil
	if err := l.write(ctx, now.Add(l.ttl)); err != nil {
		return nil, err
	}
	if err := l.readStates(ctx); err != nil {
		return nil, err
	}
	l.taken = time.Now()
	w.metrics.lease(l, 1)
	w.replicas.addRun()
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.heartbeat(beat) })
	return l, nil
}

// Begun is when the lease was taken, by the clock of the warehouse.
func (l *Lease) Begun() time.Time { return l.begun }

// Orphan reports that the last holder did not give the lease back: what it was doing may be half done.
func (l *Lease) Orphan() bool { return l.orphan }

// AssumeUnclean makes Recover look for leftovers even though the last holder gave the lease back. A worker calls it if
// it left something behind itself.
func (l *Lease) AssumeUnclean() { l.orphan = true }

// Check returns ErrLeaseLost when another worker has taken the stream over.
func (l *Lease) Check(ctx context.Context) error {
	_, err := l.check(ctx, uuid.Nil)
	return err
}

// check does the same as Check, and also reads the version of the row of a run, if one is given.
func (l *Lease) check(ctx context.Context, run uuid.UUID) (leaseReading, error) {
	seen, err := l.readStored(ctx, run)
	if err == nil {
		err = l.verify(seen.lease, seen.local)
	}
	return seen, err
}

// recheck does the same as Check, unless the lease was found to be held a moment ago (checkedJustNow).
func (l *Lease) recheck(ctx context.Context) error {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if time.Since(held) < checkedJustNow {
		return nil
	}
	return l.Check(ctx)
}

// readStored reads the stored lease, whoever holds it, and what is needed to write newer states.
func (l *Lease) readStored(ctx context.Context, run uuid.UUID) (leaseReading, error) {
	seen := leaseReading{local: time.Now()}
	var us int64
	err := l.pool.conn.QueryRow(ctx, selectLease(run != uuid.Nil), named("account", l.account),
		named("stream", l.stream), named("run", run.String()), named("owner", l.value.Owner)).
		Scan(&us, &seen.newest, &seen.lease, &seen.leaseAs, &seen.runVersion, &seen.others)
	if err != nil {
		return seen, fmt.Errorf("reading the lease of %s of account %s: %w", l.stream, l.account, err)
	}
	seen.at = time.UnixMicro(us).UTC()
	l.mu.Lock()
	seen.newest = max(seen.newest, l.last.newest)
	tell := l.onSharing
	if seen.others == l.last.others {
		tell = nil
	}
	l.last = seen
	l.mu.Unlock()
	if tell != nil {
		tell(int(seen.others) + 1)
	}
	return seen, nil
}

// OnSharing has do called now and whenever it changes with the number of processes that load the account, this one
// among them: those that hold a lease of one of its streams. It is looked at with each heartbeat.
func (l *Lease) OnSharing(do func(processes int)) {
	l.mu.Lock()
	l.onSharing = do
	n := int(l.last.others) + 1
	l.mu.Unlock()
	do(n)
}

// save writes states of the stream in one block. Their versions are above all that this process has read and written of
// the stream under the lease.
func (l *Lease) save(ctx context.Context, states ...stateRow) error {
	return l.saveAsOf(ctx, leaseReading.clock, states...)
}

// saveAsRead writes states that are true only while the lease is held. Unlike those of save, their versions are of the
// time at which the lease was last read. If this process was paused since then, they do not replace the states of
// another worker that has taken the lease over.
func (l *Lease) saveAsRead(ctx context.Context, states ...stateRow) error {
	return l.saveAsOf(ctx, func(g leaseReading) time.Time { return g.at }, states...)
}

func (l *Lease) saveAsOf(ctx context.Context, when func(leaseReading) time.Time, states ...stateRow) error {
	l.mu.Lock()
	l.last.newest = uint64(laterOf(when(l.last), l.last.newest).UnixMicro())
	next := l.last.newest
	l.mu.Unlock()
	return l.pool.insertStates(ctx, l.account, l.stream, next, states)
}

// verify does the same as Check, for a lease that was read at a local time.
func (l *Lease) verify(value string, at time.Time) error {
	current, err := parseState[leaseValue](l.account, l.stream, stateLease, value)
	switch {
	case err != nil:
		return err
	case current == nil || current.Attempt != l.value.Attempt:
		return fmt.Errorf("%s of account %s: %w", l.stream, l.account, ErrLeaseLost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = at
	return nil
}

// readStates reads all states of the stream, which only the holder of the lease changes, and checks the lease among
// them.
func (l *Lease) readStates(ctx context.Context) error {
	asked := time.Now()
	l.certificate = ""
	rows, err := l.pool.conn.Query(ctx, selectStates,
		named("account", l.account), named("stream", l.stream))
	l.states, err = scanned(rows, err, func(s *stateRow) []any { return []any{&s.name, &s.value, &s.version} })
	if err != nil {
		return fmt.Errorf("reading the state of %s of account %s: %w", l.stream, l.account, err)
	}
	l.mu.Lock()
	for _, s := range l.states {
		l.last.newest = max(l.last.newest, s.version)
	}
	l.mu.Unlock()
	return l.verify(l.state(stateLease), asked)
}

// state returns the value of one of the states, or "" if there is none.
func (l *Lease) state(name string) string {
	for _, s := range l.states {
		if s.name == name {
			return s.value
		}
	}
	return ""
}

// intents returns the intents of runs that had begun to publish.
func (l *Lease) intents() (all []stateRow) {
	for _, s := range l.states {
		if s.value != "" && strings.HasPrefix(s.name, stateIntent+":") {
			all = append(all, s)
		}
	}
	return all
}

// Release gives the lease back. It may be called twice.
func (l *Lease) Release(ctx context.Context) error {
	if l.untidy {
		return l.Expire(ctx)
	}
	return l.giveBack(ctx, stateRow{stateLease, "", 0})
}

// Expire gives the lease back as one that has run out, so that its next holder finishes or clears away what was left
// behind.
func (l *Lease) Expire(ctx context.Context) error {
	ended, err := l.until(time.UnixMicro(0))
	if err != nil {
		return err
	}
	return l.giveBack(ctx, ended)
}

// giveBack stops the heartbeat. It then writes the end of the lease, and the states that are stored together with it,
// unless another worker has the lease.
func (l *Lease) giveBack(ctx context.Context, end stateRow) error {
	if l.stop == nil {
		return nil
	}
	l.stop()
	l.done.Wait()
	l.stop = nil
	l.pool.replicas.removeRun()
	l.pool.metrics.lease(l, 0)
	var err error
	if time.Since(l.settled) > checkedJustNow {
		err = l.Check(ctx)
	}
	switch {
	case errors.Is(err, ErrLeaseLost):
		return nil // another worker has the lease
	case err != nil:
		return err
	}
	return l.saveAsRead(ctx, append(l.pending, end)...)
}

// checkedJustNow is for how long a check of the lease counts: at its end, if a run had nothing to publish, and for each
// attachment. It is much less than the time after which another worker can take over a lease that is held.
const checkedJustNow = 2 * time.Second

func (l *Lease) heartbeat(ctx context.Context) {
	tick := time.NewTicker(l.ttl / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A beat that fails is not the end: the next one decides, or the check before publishing.
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
	seen, err := l.check(ctx, uuid.Nil)
	if err != nil {
		return err
	}
	row, err := l.until(seen.at.Add(l.ttl))
	if err != nil {
		return err
	}
	return l.saveAsRead(ctx, row)
}

// write stores the lease with the time at which it ends, by the clock of the warehouse.
func (l *Lease) write(ctx context.Context, expires time.Time) error {
	row, err := l.until(expires)
	if err != nil {
		return err
	}
	return l.save(ctx, row)
}

// until returns the row that stores the lease with the time at which it ends.
func (l *Lease) until(expires time.Time) (stateRow, error) {
	v := l.value
	v.Expires = expires.UnixMicro()
	text, err := json.Marshal(v)
	if err != nil {
		return stateRow{}, fmt.Errorf("writing the lease: %w", err)
	}
	return stateRow{stateLease, string(text), 0}, nil
}

func newOwner() owner {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	// Containers may share a name without sharing processes, and so may machines that are copies of one.
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		host += "-" + strings.Trim(strings.TrimPrefix(space, "pid:"), "[]")
	}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil && len(boot) >= 8 {
		host += "-" + string(boot[:8])
	}
	return owner{host: strings.ReplaceAll(host, "/", "-"), pid: os.Getpid(), nonce: processNonce()}
}

// processNonce is made once in the life of a process.
var processNonce = sync.OnceValue(func() string { return uuid.NewString()[:8] })

// isGone reports whether the process behind a lease cannot be alive, so that nobody waits for the lease to expire after
// a crash. Only one process at a time can have an embedded warehouse, with its guests. Of a process on this host, the
// system can say whether it exists.
func (w *Warehouse) isGone(name string) bool {
	if name == w.owner.String() {
		return false
	}
	if w.engine != nil && (w.host == nil || !w.host.Knows(name)) || w.guest != nil && w.guest.Own() && !w.guest.Knows(name) {
		var other owner
		return parseOwner(name, &other) && other.nonce != w.owner.nonce
	}
	var other owner
	return parseOwner(name, &other) && other.host == w.owner.host &&
		errors.Is(syscall.Kill(other.pid, 0), syscall.ESRCH)
}

func parseOwner(name string, o *owner) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return false
	}
	o.host, o.nonce = parts[0], parts[2]
	_, err := fmt.Sscanf(parts[1], "%d", &o.pid)
	return err == nil
}
