package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"dealhouse/internal/term"
)

const (
	// freshFor is how long an answer of the warehouse is shown again (web-3).
	freshFor = 1500 * time.Millisecond
	// countsFor is the same for counts of whole tables, which cost more and change less.
	countsFor = 10 * time.Second
	// readyFor is the same for the question of whether the daemon is ready.
	readyFor = time.Second
	// payoutsFor is the same for payouts, which are compared with all transactions.
	payoutsFor = time.Minute
	// maxReads is how many questions are asked side by side: the embedded engine needs its connections for runs.
	maxReads = 2
	// maxKept is how many answers of one kind are kept.
	maxKept = 64
)

// reads bounds the questions under way.
type reads struct {
	clock   func() time.Time
	timeout time.Duration // of a question, unless it has one of its own
	tokens  chan struct{}
	closing chan struct{} // closed by close

	mu         sync.Mutex
	closed     bool
	background sync.WaitGroup // questions in the background
}

func newReads(clock func() time.Time, timeout time.Duration) *reads {
	return &reads{clock: clock, timeout: timeout, tokens: make(chan struct{}, maxReads), closing: make(chan struct{})}
}

// close cancels the questions in the background, and waits for their end. It must be called once.
func (r *reads) close() {
	r.mu.Lock()
	r.closed = true
	close(r.closing)
	r.mu.Unlock()
	r.background.Wait()
}

// start runs something in the background, unless the reads are closed.
func (r *reads) start(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.background.Go(f)
	}
}

// kept caches the answers to one kind of question for a moment.
type kept[K comparable, V any] struct {
	*reads
	fresh   time.Duration
	timeout time.Duration
	read    func(context.Context, K) (V, error)

	mu      sync.Mutex
	entries map[K]*entry[V]
}

// entry is the last answer to one question.
type entry[V any] struct {
	asking sync.Mutex // held while the question is asked, the time-out at most

	mu     sync.Mutex
	asked  time.Time
	answer answer[V]
	coming chan struct{} // closed when the answer from the background arrives; nil: no question is under way
}

// read returns the last answer, and whether it is still fresh.
func (e *entry[V]) read(now time.Time, fresh time.Duration) (answer[V], bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	age := now.Sub(e.asked)
	return e.answer, !e.asked.IsZero() && age >= 0 && age < fresh
}

// write stores a new answer and returns it. If err is not nil, the value that was known before stays, with err.
func (e *entry[V]) write(now time.Time, value V, err error) answer[V] {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked, e.answer.err = now, err
	if err == nil {
		e.answer.value, e.answer.at = value, now
	}
	return e.answer
}

// answer is what was last known, and when. err says why the newest attempt failed.
type answer[V any] struct {
	value V
	at    time.Time // zero: nothing is known
	err   error
}

func keep[K comparable, V any](r *reads, fresh time.Duration, read func(context.Context, K) (V, error)) *kept[K, V] {
	return &kept[K, V]{reads: r, fresh: fresh, timeout: r.timeout, read: read, entries: map[K]*entry[V]{}}
}

// get returns a fresh answer to a question, and asks for one if there is none. Only one viewer asks at a time.
// The others get the previous answer meanwhile, or wait if there is none. A question is not given up when the
// viewer who asked it leaves.
func (k *kept[K, V]) get(ctx context.Context, question K) answer[V] {
	e := k.entry(question)
	if last, fresh := e.read(k.clock(), k.fresh); fresh {
		return last
	}
	if !e.asking.TryLock() {
		if last, _ := e.read(k.clock(), k.fresh); !last.at.IsZero() {
			return last
		}
		e.asking.Lock()
	}
	defer e.asking.Unlock()
	if last, fresh := e.read(k.clock(), k.fresh); fresh {
		return last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.timeout)
	defer cancel()
	value, err := k.ask(ctx, question)
	return e.write(k.clock(), value, err)
}

// soon returns the last answer at once, and asks for a fresh one in the background if necessary. Only if nothing is
// known yet, it waits for that, for patience at most.
func (k *kept[K, V]) soon(ctx context.Context, question K, patience time.Duration) answer[V] {
	e := k.entry(question)
	last, fresh := e.read(k.clock(), k.fresh)
	if fresh {
		return last
	}
	coming := k.refresh(ctx, e, question)
	if !last.at.IsZero() {
		return last
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	select {
	case <-coming:
	case <-enough.C:
	case <-ctx.Done():
	}
	last, _ = e.read(k.clock(), k.fresh)
	return last
}

// refresh asks in the background, unless that is already under way. It returns a channel that is closed
// when the answer has arrived.
func (k *kept[K, V]) refresh(ctx context.Context, e *entry[V], question K) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.coming != nil {
		return e.coming
	}
	coming := make(chan struct{})
	e.coming = coming
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.timeout)
	k.start(func() {
		defer cancel()
		value, err := k.ask(ctx, question)
		e.write(k.clock(), value, err)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.coming = nil
		close(coming)
	})
	k.start(func() {
		select {
		case <-coming:
		case <-k.closing:
			cancel()
		}
	})
	return coming
}

// outdate marks an answer as out of date. It is still shown until a new one arrives.
func (k *kept[K, V]) outdate(question K) {
	e := k.entry(question)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = time.Time{}
}

// last returns the last answer to a question, however old. It asks nothing.
func (k *kept[K, V]) last(question K) answer[V] {
	last, _ := k.entry(question).read(k.clock(), k.fresh)
	return last
}

func (k *kept[K, V]) ask(ctx context.Context, question K) (value V, err error) {
	err = k.inTurn(ctx, func() (err error) {
		value, err = k.read(ctx, question)
		return err
	})
	return value, k.explain(err)
}

// inTurn runs a function as soon as fewer than maxReads others are running (web-3).
func (r *reads) inTurn(ctx context.Context, do func() error) error {
	select {
	case r.tokens <- struct{}{}:
		defer func() { <-r.tokens }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// explain replaces the error of a time-out by one that says how long the wait was.
func (k *kept[K, V]) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return timeoutError(k.timeout)
	}
	return err
}

// timeoutError says that no answer came in time.
type timeoutError time.Duration

func (t timeoutError) Error() string { return "no answer within " + term.Long(time.Duration(t)) }

// entry finds or makes the entry of a question. It forgets another one if there are too many.
func (k *kept[K, V]) entry(question K) *entry[V] {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.entries[question]
	if e == nil {
		for old := range k.entries {
			if len(k.entries) < maxKept {
				break
			}
			delete(k.entries, old)
		}
		e = &entry[V]{}
		k.entries[question] = e
	}
	return e
}
