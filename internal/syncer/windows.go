package syncer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// Bounds and defaults of a Range.
const (
	MinWindow       = time.Minute
	DefaultParallel = 4
	MaxParallel     = 32
	maxWindows      = 100_000
)

// Range says what a backfill reads: the rows updated at From or later and before To, in windows.
type Range struct {
	From, To time.Time     // parts of a millisecond widen the range: the API's timestamps have none
	Window   time.Duration // width of a window, at least MinWindow; 0: windows are as wide as fits what they hold
	Parallel int           // windows that are read side by side, up to MaxParallel; default DefaultParallel

	join bool // Window was 0: it is that of cells, of which several are read as one
}

// cellOf is how wide the cells of a range are, of which windows are made that fit what they hold: an hour, or more in a
// range of many years.
func cellOf(from, to time.Time) time.Duration {
	const most = maxWindows / 2
	return max(time.Hour, (to.Sub(from)/most + time.Hour).Truncate(time.Hour))
}

// RangeError says that a Range cannot be read, and why. Nothing was asked of the service or the warehouse.
type RangeError struct{ Reason string }

func (e *RangeError) Error() string { return e.Reason }

func badRange(format string, args ...any) error { return &RangeError{fmt.Sprintf(format, args...)} }

// Validate returns a *RangeError for a range that cannot be read.
func (r Range) Validate() error {
	r.setDefaults()
	switch {
	case r.From.IsZero() || r.To.IsZero():
		return badRange("a backfill needs both ends of its range")
	case !r.From.Before(r.To):
		return badRange("the range is empty: it begins at %s and ends at %s", r.From.Format(time.RFC3339),
			r.To.Format(time.RFC3339))
	case r.Window < MinWindow:
		return badRange("a window of %s is too narrow: use at least %s", r.Window, MinWindow)
	case r.Parallel < 1 || r.Parallel > MaxParallel:
		return badRange("%d windows cannot be read in parallel: use 1 to %d", r.Parallel, MaxParallel)
	case r.To.Sub(r.From)/r.Window >= maxWindows:
		return badRange("the range has more than %d windows of %s: use wider ones", maxWindows, r.Window)
	}
	return nil
}

func (r Range) isValid() bool { return r.Validate() == nil }

func (r *Range) setDefaults() {
	set(&r.Parallel, DefaultParallel)
	from, to := r.From.UTC().Truncate(time.Millisecond), r.To.UTC().Truncate(time.Millisecond)
	if to.Before(r.To) {
		to = to.Add(time.Millisecond)
	}
	r.From, r.To = from, to
	if r.Window == 0 {
		r.Window, r.join = cellOf(from, to), true
	}
}

// set sets a field to a value if it is zero.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (j *Job) checkBackfill() error {
	switch {
	case j.Stream.Kind != catalog.Incremental:
		return badRange("%s cannot be read by time: only transactions can", j.Stream.Name)
	case j.Full || j.DryRun:
		return badRange("a backfill is neither a full read nor a dry run")
	case j.Params.UpdatedAfter == "" || j.Params.UpdatedBefore == "":
		return badRange("a backfill needs both filters by updatedAt: set updated_after and updated_before in [account.params]")
	}
	return nil
}

// cut makes windows of a range, in the order of time. They cover it without a gap; the last may be narrower.
func cut(from, to time.Time, width time.Duration) []window {
	var all []window
	for begin := from; begin.Before(to); begin = begin.Add(width) {
		end := begin.Add(width)
		if end.After(to) {
			end = to
		}
		all = append(all, window{begin, end})
	}
	return all
}

// spans is a set of numbers, as ranges that do not touch, in order. It is small if windows are done roughly in order.
type spans [][2]int

func (s spans) has(n int) bool {
	_, found := slices.BinarySearchFunc(s, n, func(r [2]int, n int) int {
		switch {
		case r[1] < n:
			return -1
		case r[0] > n:
			return 1
		}
		return 0
	})
	return found
}

func (s spans) count() int {
	n := 0
	for _, r := range s {
		n += r[1] - r[0] + 1
	}
	return n
}

// numbers lists the set.
func (s spans) numbers() []int {
	var all []int
	for _, r := range s {
		for n := r[0]; n <= r[1]; n++ {
			all = append(all, n)
		}
	}
	return all
}

// with returns the set with more numbers. s does not change.
func (s spans) with(numbers ...int) spans {
	all := slices.Clone(s)
	for _, n := range numbers {
		all = append(all, [2]int{n, n})
	}
	slices.SortFunc(all, func(a, b [2]int) int { return a[0] - b[0] })
	var joined spans
	for _, r := range all {
		if last := len(joined) - 1; last >= 0 && r[0] <= joined[last][1]+1 {
			joined[last][1] = max(joined[last][1], r[1])
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

func (b *backfill) newBundle() (*bundle, error) {
	r, err := b.session.newPart(b.mode(), b.watermark)
	if err != nil {
		return nil, err
	}
	return &bundle{run: r, seen: newSeen(), done: make(chan struct{})}, nil
}

// begin makes the row of the bundle in sync_runs. Only then may rows be staged: without it, others would take them for
// those of a dead run.
func (u *bundle) begin(ctx context.Context) error {
	u.begun = true
	// This is neither the record nor a copy of all of it: pages may still be decoded, and that changes its counts.
	r := &u.run.record
	return u.run.session.warehouse.SaveRun(ctx, warehouse.RunRecord{
		Account: r.Account, Stream: r.Stream, RunID: r.RunID, Mode: r.Mode, StartedAt: r.StartedAt,
		Outcome: warehouse.OutcomeRunning, RequestedAfter: r.RequestedAfter, Watermark: r.Watermark,
	})
}

// stageWindow keeps a batch that is a whole window, to be staged together with others. A window of several batches
// becomes a bundle of its own with the first of them.
func (u *bundle) stageWindow(ctx context.Context, f filled) error {
	if u.run.batches == 0 && f.last {
		u.kept = append(u.kept, f.batch)
		return nil
	}
	if !u.begun {
		if err := u.begin(ctx); err != nil {
			return err
		}
	}
	return u.run.stage(ctx, f.batch)
}

// add takes in another bundle, which is complete and has no row in sync_runs.
func (u *bundle) add(o *bundle) {
	u.windows = append(slices.Clone(u.windows), o.windows...)
	u.tasks += o.tasks
	u.run.record.Totals.Add(o.run.record.Totals)
	u.seen.add(o.seen)
}

// handover passes complete windows from their readers to the publisher.
type handover struct {
	parallel  int    // how many windows may be complete but not staged
	batchRows uint64 // how many rows may be

	mu     sync.Mutex
	news   *sync.Cond // one of the fields below has changed
	ready  []*bundle  // windows that are bundles of their own
	open   *bundle    // takes small windows
	closed bool       // there will be no more
	failed error      // nothing is published any more
}

func newHandover(parallel int, batchRows uint64) *handover {
	h := &handover{parallel: parallel, batchRows: batchRows}
	h.news = sync.NewCond(&h.mu)
	return h
}

// share adds a window that is complete in memory to the open bundle, and opens one if there is none. It waits while
// that one is full: what is complete but not staged is read again after a crash, so it must stay small.
func (h *handover) share(w *bundle) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.failed == nil && h.open != nil &&
		(h.open.tasks >= h.parallel || h.open.run.record.Totals.Staged >= h.batchRows) {
		h.news.Wait()
	}
	switch {
	case h.failed != nil:
		return h.failed
	case h.open == nil:
		h.open = w
	default:
		h.open.add(w)
		h.open.kept = append(h.open.kept, w.kept...)
	}
	h.news.Broadcast()
	return nil
}

// submit hands over a bundle that is one window, and waits for its end.
func (h *handover) submit(w *bundle) {
	h.mu.Lock()
	h.ready = append(h.ready, w)
	h.news.Broadcast()
	h.mu.Unlock()
	<-w.done
}

// close says that there will be no more bundles.
func (h *handover) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.news.Broadcast()
}

// fail says that nothing is published any more.
func (h *handover) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = err
	h.news.Broadcast()
}

// next waits for a bundle to publish and returns it, or nil if there will be no more. A bundle that it has
// returned takes no more windows.
func (h *handover) next() *bundle {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		var w *bundle
		switch {
		case len(h.ready) > 0:
			w, h.ready = h.ready[0], h.ready[1:]
		case h.open != nil:
			w, h.open = h.open, nil
		case h.closed:
			return nil
		default:
			h.news.Wait()
			continue
		}
		h.news.Broadcast()
		return w
	}
}
