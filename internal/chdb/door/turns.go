package door

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/recent"
)

// turns bounds how many requests work at once. If a client keeps its turn without using it, because it does not send
// or does not read, it loses the turn when another waits. A client that asks for much waits for those that ask for
// little, but not forever. While all turns are held for long, it gives spare turns for a moment, to try requests that
// may end within it (chdb-11).
type turns struct {
	costs costs

	mu      sync.Mutex
	free    int
	spare   int
	queue   []*waiter // sorted by due
	holders map[*peer]time.Time
	trials  []*trial // the oldest first
	// lost is how many spare turns do not come back and were replaced, and mostLost how many may be.
	lost, mostLost int
}

func newTurns(n int) *turns {
	return &turns{free: n, spare: engine.SpareFor(n), mostLost: engine.LostFor(n), holders: map[*peer]time.Time{},
		costs: costs{recent.New[string, time.Duration](remembered)}}
}

// stalled is how long a client may keep others waiting without sending or reading a byte. check is
// how often this is checked.
const (
	stalled = 200 * time.Millisecond
	check   = 50 * time.Millisecond
)

// A request is due deferral times its expected cost after it has arrived. This delay is at most half of the longest
// time that the request would wait.
const deferral = 20

// waiter is one request that waits.
type waiter struct {
	peer   *peer
	source source
	due    time.Time
	brief  bool          // a spare turn would do
	turn   chan struct{} // closed when the request has its turn
	trial  *trial        // set before turn is closed, if the turn is a spare one
}

// acquire waits for a turn, but not longer than wait. over gives the turn back. brief says that a spare turn would do.
// Then the caller may get a trial, and must stop when the trial is broken off.
func (t *turns) acquire(ctx context.Context, p *peer, s source, wait time.Duration,
	brief bool) (tr *trial, over func(), err error) {
	w := &waiter{
		peer: p, source: s, due: time.Now().Add(min(deferral*t.costs.expect(s), wait/2)), turn: make(chan struct{}),
		brief: brief && t.costs.mayBeBrief(s),
	}
	t.enqueue(w)
	patience := time.NewTimer(wait)
	defer patience.Stop()
	tick := time.NewTicker(check)
	defer tick.Stop()
	for {
		select {
		case <-w.turn:
			return w.trial, t.hold(w, s), nil
		case <-tick.C:
			t.unblock()
			continue
		case <-patience.C:
			err = exception.New(exception.TooManyQueries, "TOO_MANY_SIMULTANEOUS_QUERIES", "too many queries at once: try again")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		t.leave(w)
		return nil, nil, err
	}
}

// enqueue puts a request into the queue, by its due time. Those that are due at the same time keep their order.
func (t *turns) enqueue(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, _ := slices.BinarySearchFunc(t.queue, w, func(a, b *waiter) int {
		if a.due.After(b.due) {
			return 1
		}
		return -1
	})
	t.queue = slices.Insert(t.queue, at, w)
	t.next()
}

// next gives the free turns to the requests that are due first. The caller holds t.mu.
func (t *turns) next() {
	for t.free > 0 && len(t.queue) > 0 {
		w := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		t.free--
		t.holders[w.peer] = time.Now()
		close(w.turn)
	}
	if t.free == 0 && t.spare > 0 && len(t.queue) > 0 {
		t.nextTrials()
	}
}

// leave removes a request that waits no longer. If it has just got its turn, leave gives the turn back.
func (t *turns) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.queue, w); at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
		return
	}
	t.release(w)
}

// hold begins a turn. over ends it and records how long it was held.
func (t *turns) hold(w *waiter, s source) (over func()) {
	begin := time.Now()
	return func() {
		held := time.Since(begin)
		if w.trial != nil && w.trial.failed {
			held = max(held, longestTrial) // it needs at least that long
		}
		t.costs.record(s, held)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.release(w)
	}
}

// release takes a turn back and gives it to the next in the queue. The caller holds t.mu.
func (t *turns) release(w *waiter) {
	if w.trial != nil {
		t.endTrial(w.trial)
	} else {
		delete(t.holders, w.peer)
		t.free++
	}
	t.next()
}

// unblock makes sure that nobody keeps the waiting requests waiting without need. They call it while they wait.
func (t *turns) unblock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cutStalled()
	t.cutTrial()
	t.replaceLost()
	t.next()
}

// cutStalled cuts the client that has been idle for longest, if that is longer than stalled. The caller holds t.mu.
func (t *turns) cutStalled() {
	var worst *peer
	for p := range t.holders {
		if p.idle() > stalled && (worst == nil || p.idle() > worst.idle()) {
			worst = p
		}
	}
	if worst != nil {
		worst.cut()
	}
}

// peer tracks how long the client of one request makes us wait.
type peer struct {
	rc    *http.ResponseController
	grace time.Duration
	rate  int64 // bytes a second

	since atomic.Int64 // when we began to wait for the client, in ns of Unix time; 0 while we do not wait
	// If set, nothing may be read from or written to the client any more.
	noReads, noWrites atomic.Bool

	// The time waited and the bytes moved, first while the request is read, then while the result is written.
	waited time.Duration
	bytes  int64
}

// idle returns how long the client has been making us wait.
func (p *peer) idle() time.Duration {
	since := p.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// cut makes all reads from the client and writes to it fail, now and later.
func (p *peer) cut() {
	p.stopReading()
	p.noWrites.Store(true)
	_ = p.rc.SetWriteDeadline(past)
}

// stopReading makes reads of the request's body fail, now and later.
func (p *peer) stopReading() {
	p.noReads.Store(true)
	// A ResponseWriter without deadlines, as in tests, has no client that could be slow.
	_ = p.rc.SetReadDeadline(past)
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// wait does one read or write, with the time that the client has left as its deadline.
func (p *peer) wait(over *atomic.Bool, deadline func(time.Time) error, do func() (int, error)) (int, error) {
	begin := time.Now()
	left := p.grace + time.Duration(float64(p.bytes)/float64(p.rate)*float64(time.Second)) - p.waited
	_ = deadline(begin.Add(left))
	p.since.Store(begin.UnixNano())
	if over.Load() { // cut ran in between: its deadline must not be lost
		_ = deadline(past)
	}
	n, err := do()
	p.since.Store(0)
	p.waited += time.Since(begin)
	p.bytes += int64(n)
	return n, err
}

// pacedBody reads what the client sends, and fails if the client is too slow.
type pacedBody struct {
	*peer
	io.ReadCloser
}

// Read removes its deadline at the end: if one passed later, the server would think that the client has gone.
func (b pacedBody) Read(p []byte) (int, error) {
	n, err := b.wait(&b.noReads, b.rc.SetReadDeadline, func() (int, error) { return b.ReadCloser.Read(p) })
	if !b.noReads.Load() {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// pacedWriter writes the result, and fails if the client reads too slowly.
type pacedWriter struct {
	*peer
	w io.Writer
}

func (w pacedWriter) Write(b []byte) (int, error) {
	n, err := w.wait(&w.noWrites, w.rc.SetWriteDeadline, func() (int, error) { return w.w.Write(b) })
	if err != nil {
		return n, fmt.Errorf("send the result: %w", err)
	}
	return n, nil
}
