package syncer

import (
	"context"
	"slices"
	"sync"

	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// bundle is what a backfill publishes at once: a run, and the windows that are complete when it is published.
type bundle struct {
	run     *run
	windows []int // their numbers
	seen    *seen
	kept    []*decode.Batch // of small windows that are complete, not staged yet
	begun   bool            // it has a row in sync_runs
	done    chan struct{}   // closed when it is published or given up
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
		(len(h.open.windows) >= h.parallel || h.open.run.record.Totals.Staged >= h.batchRows) {
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
