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

// turns bounds how many requests do something at once. If a client keeps its turn without using it, because it does not
// send or does not read, it loses the turn when another waits. A client that asks for much waits for those that ask for
// little, but not forever. While all turns are held for long, spare turns are given for a moment, to try requests that
// may be done in that time (chdb-11).
type turns struct {
	costs costs

	mu      sync.Mutex
	free    int
	spare   int
	queue   []*waiter // by due
	holders map[*peer]time.Time
	trials  []*trial // the longest first
}

func newTurns(n int) *turns {
	return &turns{free: n, spare: engine.SpareFor(n), holders: map[*peer]time.Time{},
		costs: costs{recent.New[string, time.Duration](remembered)}}
}

// stalled is how long a client may keep others waiting without sending or reading a byte, and check is how often that
// is looked at.
const (
	stalled = 200 * time.Millisecond
	check   = 50 * time.Millisecond
)

// A request's turn is due when it comes, plus deferral times its expected cost. The delay is at most half of the
// longest time that the request would wait.
const deferral = 20

// waiter is one request that waits.
type waiter struct {
	peer  *peer
	due   time.Time
	brief bool          // a spare turn would do
	turn  chan struct{} // closed when it has its turn
	trial *trial        // set before that, when the turn is a spare one
}

// acquire waits for a turn, but not longer than wait. over gives it back. brief says that a spare turn would do. Then
// the caller may get a trial, and has to obey its end.
func (t *turns) acquire(ctx context.Context, p *peer, s source, wait time.Duration,
	brief bool) (tr *trial, over func(), err error) {
	w := &waiter{
		peer: p, due: time.Now().Add(min(deferral*t.costs.expect(s), wait/2)), turn: make(chan struct{}),
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

// enqueue puts a request where it is due. Those that are due at once keep their order.
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

// next gives the turns that are free to those that are due first; t.mu is held.
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

// leave takes a request out that waits no longer. It may just have got its turn.
func (t *turns) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.queue, w); at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
		return
	}
	t.release(w)
}

// hold begins a turn; over ends it, and notes what it has cost.
func (t *turns) hold(w *waiter, s source) (over func()) {
	begin := time.Now()
	return func() {
		held := time.Since(begin)
		if w.trial != nil && w.trial.failed {
			held = max(held, longestTrial) // so much at least
		}
		t.costs.record(s, held)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.release(w)
	}
}

// release gives a turn to the next in line; t.mu is held.
func (t *turns) release(w *waiter) {
	if w.trial != nil {
		t.endTrial(w.trial)
	} else {
		delete(t.holders, w.peer)
		t.free++
	}
	t.next()
}

// unblock is called by requests while they wait: it makes sure that nobody keeps them waiting without need.
func (t *turns) unblock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cutStalled()
	t.cutTrial()
	t.next()
}

// cutStalled cuts the client that has been idle for longest; t.mu is held.
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

// peer is the client of one request, as far as it makes us wait.
type peer struct {
	rc    *http.ResponseController
	grace time.Duration
	rate  int64 // bytes a second

	since atomic.Int64 // when we began to wait for it, in ns of Unix time; 0 while we do not
	// These directions are over for good.
	noReads, noWrites atomic.Bool

	// It counts both directions, one after the other: requests are read before results are written.
	waited time.Duration
	bytes  int64
}

// idle is how long the client has been making us wait.
func (p *peer) idle() time.Duration {
	since := p.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// cut makes whatever waits for the client fail, now and later.
func (p *peer) cut() {
	p.stopReading()
	p.noWrites.Store(true)
	_ = p.rc.SetWriteDeadline(past)
}

// stopReading makes reads of the request's body fail, now and later.
func (p *peer) stopReading() {
	p.noReads.Store(true)
	// A ResponseWriter without deadlines, as in tests, has nobody to wait for.
	_ = p.rc.SetReadDeadline(past)
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// wait brackets one read or write: it gives the client the time that is left to it.
func (p *peer) wait(over *atomic.Bool, deadline func(time.Time) error, do func() (int, error)) (int, error) {
	begin := time.Now()
	left := p.grace + time.Duration(float64(p.bytes)/float64(p.rate)*float64(time.Second)) - p.waited
	_ = deadline(begin.Add(left))
	p.since.Store(begin.UnixNano())
	if over.Load() { // it was cut in between: its deadline must not be lost
		_ = deadline(past)
	}
	n, err := do()
	p.since.Store(0)
	p.waited += time.Since(begin)
	p.bytes += int64(n)
	return n, err
}

// pacedBody is what the client sends, at the pace that is asked of it.
type pacedBody struct {
	*peer
	io.ReadCloser
}

// Read leaves no deadline behind: the server would take one that passes for the client's end.
func (b pacedBody) Read(p []byte) (int, error) {
	n, err := b.wait(&b.noReads, b.rc.SetReadDeadline, func() (int, error) { return b.ReadCloser.Read(p) })
	if !b.noReads.Load() {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// pacedWriter is where the result goes, at the pace that is asked of the client.
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
