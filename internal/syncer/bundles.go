package syncer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// load is what is published at once: a run with the windows that are complete with it. backfill.mu guards what windows
// add to it while it is open.
type load struct {
	*run
	windows []int
	seen    *seen
	kept    []*decode.Batch // of small windows that are complete, not staged yet
	saved   bool            // it has a row in sync_runs
	done    chan struct{}   // closed when it is published, or never will be
}

func (b *backfill) newLoad() (*load, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("making a run id: %w", err)
	}
	// What the parts of a backfill do is shown as its progress, not as theirs.
	quiet := *b.Syncer
	quiet.progress = func(Progress) {}
	now := b.local()
	r := &run{Syncer: &quiet, job: b.job, log: b.log, lease: b.lease, Run: b.Run, clock: now}
	r.ID, r.Attempt, r.StartedAt = id, uuid.New(), b.now(now)
	r.record = warehouse.RunRecord{
		Account: b.Account, Stream: b.Stream.Name, RunID: id, Mode: b.mode(), StartedAt: r.StartedAt,
		Outcome: warehouse.OutcomeRunning, Watermark: b.old,
	}
	return &load{run: r, seen: newSeen(), done: make(chan struct{})}, nil
}

// begin makes the row of the load in sync_runs. Only then may rows be staged: it is what keeps others from taking them
// for those of a dead run.
func (l *load) begin(ctx context.Context) error {
	l.saved = true
	// Not the record itself: pages may still be decoded, which counts in it.
	return l.warehouse.SaveRun(ctx, warehouse.RunRecord{
		Account: l.Account, Stream: l.Stream.Name, RunID: l.ID, Mode: l.record.Mode, StartedAt: l.StartedAt,
		Outcome: warehouse.OutcomeRunning, RequestedAfter: l.record.RequestedAfter, Watermark: l.record.Watermark,
	})
}

// windowBytes is how large a window may be that is staged and published together with others: many a service stamps all
// transactions of a payout in one minute, and to publish each such day by itself costs more than to read it.
const windowBytes = 16 << 20

// readWindow reads a window to its end and hands it to the publisher. fetching ends before ctx does.
func (b *backfill) readWindow(ctx, fetching context.Context, t task, strict bool) error {
	l, err := b.newLoad()
	if err != nil {
		return err
	}
	l.record.RequestedAfter = t.after()
	l.before, l.strict, l.window = t.before(), strict, l
	l.job.BatchBytes = max(l.job.BatchBytes, windowBytes)
	l.progress = func(p Progress) { b.meter.read(l.run, p.Totals); b.show() }
	defer b.meter.drop(l.run)
	s, err := l.read(ctx, fetching, t.after())
	switch {
	case err != nil && l.saved:
		return errors.Join(err, l.abandon(fetching, err))
	case err != nil:
		return err
	}
	l.windows, l.seen = t.numbers, s
	if s.gap != "" { // what was read is published, and the window is read again (syncer-11)
		l.windows = nil
		b.leaveGap(s.gap)
	}
	if l.saved {
		l.gap = s.gap
		return b.submit(l)
	}
	return b.share(l)
}

// stageWindow keeps a batch that is a whole window, to be staged with others. The first of several makes the window a
// load of its own.
func (l *load) stageWindow(ctx context.Context, f filled) error {
	if l.batches == 0 && f.last {
		l.kept = append(l.kept, f.batch)
		return nil
	}
	if !l.saved {
		if err := l.begin(ctx); err != nil {
			return err
		}
	}
	return l.stage(ctx, f)
}

// share adds a window that is complete in memory to the load that is open, making one where there is none. It waits
// while that one is full: what is complete but not published is read again after a crash, and must stay little.
func (b *backfill) share(w *load) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.failed == nil && b.open != nil && (len(b.open.windows) >= b.parallel || b.open.record.Totals.Staged >= uint64(b.job.BatchRows)) {
		b.news.Wait()
	}
	switch {
	case b.failed != nil:
		return b.failed
	case b.open == nil:
		b.open = w
	default:
		l := b.open
		l.windows = append(slices.Clone(l.windows), w.windows...)
		l.kept = append(l.kept, w.kept...)
		l.record.Totals.Add(w.record.Totals)
		l.seen.add(w.seen)
	}
	b.news.Broadcast()
	return nil
}

// submit hands over a load that is one window, and waits for its end.
func (b *backfill) submit(l *load) error {
	b.mu.Lock()
	b.ready = append(b.ready, l)
	b.news.Broadcast()
	b.mu.Unlock()
	<-l.done
	return nil
}

// end says that there will be no more loads.
func (b *backfill) end() {
	b.mu.Lock()
	b.ended = true
	b.news.Broadcast()
	b.mu.Unlock()
}

// next waits for a load to publish; nil is the end. A load that is handed out takes no more windows.
func (b *backfill) next() *load {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		var l *load
		switch {
		case len(b.ready) > 0:
			l, b.ready = b.ready[0], b.ready[1:]
		case b.open != nil:
			l, b.open = b.open, nil
		case b.ended:
			return nil
		default:
			b.news.Wait()
			continue
		}
		b.news.Broadcast()
		return l
	}
}

// Small windows are published together once they have so many rows, or once so much time has passed.
const (
	publishRows  = 50_000
	publishEvery = 30 * time.Second
)

// publishLoads stages and publishes one load after the other: there is one intent a stream. After the first error,
// which may have left an intent behind, it only clears away.
func (b *backfill) publishLoads(ctx context.Context, all *seen, cancel context.CancelCauseFunc) error {
	handle := func(l *load, do func(context.Context, *load, *seen) error) {
		err := b.failed
		if err == nil {
			err = contain(func() error { return do(ctx, l, all) }) // someone waits for l.done
		}
		if err != nil {
			err = errors.Join(err, b.giveUp(ctx, l, err))
			b.mu.Lock()
			b.failed = err
			b.news.Broadcast()
			b.mu.Unlock()
			cancel(err)
		}
		close(l.done)
	}
	for l := b.next(); l != nil; l = b.next() {
		if l.saved {
			handle(l, b.publishLoad)
			continue
		}
		handle(l, b.stageShared)
		if b.failed == nil && b.pending != nil && (b.pending.record.Totals.Staged >= publishRows || time.Since(b.lastTime) >= publishEvery) {
			handle(b.takePending(), b.publishLoad)
		}
	}
	if b.pending != nil {
		handle(b.takePending(), b.publishLoad)
	}
	return b.failed
}

func (b *backfill) takePending() *load {
	l := b.pending
	b.pending, l.done = nil, make(chan struct{})
	return l
}

// giveUp ends a load that cannot be published.
func (b *backfill) giveUp(ctx context.Context, l *load, cause error) error {
	durable := b.state.RunID == l.ID.String()
	if !l.saved || durable && errors.Is(cause, warehouse.ErrLeaseLost) {
		return nil // in the second case what is staged now belongs to the other worker
	}
	err := l.abandon(ctx, cause)
	if durable && !l.publishing {
		err = errors.Join(err, b.store(ctx, b.state.unstaged()))
	}
	return err
}

// stageShared stages small windows, in one insert, and makes it durable that they need not be read again.
func (b *backfill) stageShared(ctx context.Context, l *load, _ *seen) error {
	windows := l.windows
	p := b.pending
	if p == nil {
		p = l
	} else {
		p.windows = append(slices.Clone(p.windows), l.windows...)
		p.record.Totals.Add(l.record.Totals)
		p.seen.add(l.seen)
	}
	b.pending = p
	if !p.saved {
		if err := p.begin(ctx); err != nil {
			return err
		}
	}
	p.batches++
	if err := p.stageRows(ctx, l.kept...); err != nil {
		return err
	}
	p.countRefused()
	l.kept = nil
	state := b.state
	state.RunID, state.Staged, state.Totals = p.ID.String(), state.Staged.with(windows...), p.record.Totals
	state.Newest = max(state.Newest, p.seen.newest)
	if err := b.store(ctx, state); err != nil {
		return err
	}
	b.meter.finish(len(windows))
	b.show()
	return nil
}

// publishLoad compares and publishes a load, and with it the state of the backfill.
func (b *backfill) publishLoad(ctx context.Context, l *load, all *seen) error {
	state := b.state
	if state.RunID == l.ID.String() {
		state = state.unstaged()
	}
	state.Done = state.Done.with(l.windows...)
	state.Newest = max(state.Newest, l.seen.newest)
	text, err := state.text()
	if err != nil {
		return err
	}
	watermark := b.old
	if state.Done.count() == len(b.windows) {
		text = ""
		if b.name == initialBackfill {
			took := b.now(b.local()).Sub(state.BegunAt)
			watermark = (&seen{newest: state.Newest, serverStart: state.ServerStart, took: took}).watermark(b.old, b.job.overlap()) // syncer-3
		}
	}
	l.state = map[string]string{b.name: text}
	if text == "" && b.name == initialBackfill {
		maps.Copy(l.state, b.run.state)
	}
	if len(l.windows) > 0 {
		l.record.RequestedAfter = b.windows[slices.Min(l.windows)].after()
	}
	all.add(l.seen)
	l.seen.outside = 0 // told once, with those of other loads
	l.notice(l.seen, time.Time{})
	if err := l.guardRejects(); err != nil {
		return err
	}
	l.staged = l.local()
	changes, err := b.warehouse.Plan(ctx, l.Run, warehouse.Part, l.record.Totals.Staged)
	if err != nil {
		return err
	}
	l.noticeOlder(changes)
	l.record.Changes, l.record.Duplicates = changes, l.record.Totals.Staged-changes.Distinct
	if err := l.publish(ctx, changes, watermark); err != nil {
		return err
	}
	if b.state.RunID != l.ID.String() { // of the other windows it is known
		b.meter.finish(len(l.windows))
	}
	b.state, b.lastTime = state, time.Now()
	b.record.Totals.Add(l.record.Totals)
	b.record.Changes.Add(changes)
	b.record.Duplicates += l.record.Duplicates
	b.record.Watermark, b.record.RunID, b.record.ServerTime = l.record.Watermark, l.ID, l.record.ServerTime
	b.show()
	return nil
}
