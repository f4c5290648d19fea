package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	kept    []*decode.Batch // of windows that are complete, not staged yet
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
	now := time.Now()
	r := &run{Syncer: &quiet, job: b.job, log: b.log, lease: b.lease, Run: b.Run, clock: now}
	r.ID, r.Attempt, r.StartedAt = id, uuid.New(), b.now(now)
	r.record = warehouse.RunRecord{
		Account: b.Account, Stream: b.Stream.Name, RunID: id, Mode: modeBackfill, StartedAt: r.StartedAt,
		Outcome: warehouse.OutcomeRunning, Watermark: b.old,
	}
	return &load{run: r, seen: newSeen(), done: make(chan struct{})}, nil
}

// begin makes the row of the load in sync_runs. Only then may rows be staged: it is what keeps others from taking them
// for those of a dead run.
func (l *load) begin(ctx context.Context) error {
	l.saved = true
	return l.save(ctx)
}

// readWindow reads a window to its end and hands it to the publisher.
func (b *backfill) readWindow(ctx context.Context, t task, strict bool) error {
	l, err := b.newLoad()
	if err != nil {
		return err
	}
	l.record.RequestedAfter = t.after()
	l.before, l.strict, l.window = t.before(), strict, l
	l.progress = func(p Progress) { b.meter.read(l.run, p.Totals); b.show() }
	defer b.meter.drop(l.run)
	s, err := l.read(ctx, t.after())
	switch {
	case err != nil && l.saved:
		return errors.Join(err, l.abandon(ctx, err))
	case err != nil:
		return err
	}
	l.windows, l.seen = t.numbers, s
	if l.saved {
		return b.submit(l)
	}
	return b.share(l)
}

// stageWindow keeps a batch that is a whole window, to be staged with others. The first of several makes the window a
// load of its own.
func (l *load) stageWindow(ctx context.Context, f filled) error {
	if l.batches == 0 && f.next == "" {
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
	for b.failed == nil && b.open != nil && (len(b.open.kept) >= b.parallel || b.open.record.Totals.Staged >= uint64(b.job.BatchRows)) {
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

// publishLoads publishes one load after the other: there is one intent a stream. After the first error, which may have
// left an intent behind, it only clears away.
func (b *backfill) publishLoads(ctx context.Context, all *seen, cancel context.CancelCauseFunc) error {
	for l := b.next(); l != nil; l = b.next() {
		err := b.failed
		if err == nil {
			err = b.publishLoad(ctx, l)
		}
		if err != nil {
			if l.saved {
				err = errors.Join(err, l.abandon(ctx, err))
			}
			b.mu.Lock()
			if b.failed == nil {
				b.failed = err
			}
			b.news.Broadcast()
			b.mu.Unlock()
			cancel(err)
		} else {
			all.add(l.seen)
			b.sum(l)
		}
		close(l.done)
	}
	return b.failed
}

// publishLoad compares and publishes a load, and with it the state of the backfill.
func (b *backfill) publishLoad(ctx context.Context, l *load) error {
	state := b.state
	state.Done = state.Done.with(l.windows...)
	state.Newest = max(state.Newest, l.seen.newest)
	last := state.Done.count() == len(b.windows)
	value, watermark := "", b.old
	switch {
	case !last:
		text, err := json.Marshal(state)
		if err != nil {
			return fmt.Errorf("writing the state of a backfill: %w", err)
		}
		value = string(text)
	case b.name == initialBackfill:
		watermark = (&seen{newest: state.Newest, serverStart: state.ServerStart}).watermark(b.old) // syncer-3
	}
	if !l.saved && !last && l.record.Totals.Read == 0 {
		if err := b.lease.Check(ctx); err != nil {
			return err
		}
		if err := b.warehouse.SaveBackfill(ctx, b.Run, b.name, value); err != nil {
			return err
		}
		b.state = state
		return nil
	}
	if err := b.stageKept(ctx, l); err != nil {
		return err
	}
	l.state = map[string]string{b.name: value}
	outside := l.seen.outside
	l.seen.outside = 0 // told once, with the other windows'
	l.notice(l.seen, time.Time{})
	l.seen.outside = outside
	if err := l.guardRejects(); err != nil {
		return err
	}
	changes, err := b.warehouse.Plan(ctx, l.Run, warehouse.Part, l.record.Totals.Staged)
	if err != nil {
		return err
	}
	l.record.Changes, l.record.Duplicates = changes, l.record.Totals.Staged-changes.Distinct
	if err := l.publish(ctx, changes, watermark); err != nil {
		return err
	}
	b.state = state
	return nil
}

// stageKept stages the windows that share a load, in one insert: each would cost as much.
func (b *backfill) stageKept(ctx context.Context, l *load) error {
	if l.saved {
		return nil
	}
	l.record.RequestedAfter = b.windows[slices.Min(l.windows)].after()
	if err := l.begin(ctx); err != nil {
		return err
	}
	if err := b.warehouse.StageRows(ctx, l.Run, 1, l.kept...); err != nil {
		return err
	}
	for _, batch := range l.kept {
		if err := b.warehouse.Reject(ctx, l.Run, batch.Rejects); err != nil {
			return err
		}
	}
	l.kept = nil
	return nil
}

// sum adds a published load to the record of the backfill.
func (b *backfill) sum(l *load) {
	b.record.Totals.Add(l.record.Totals)
	b.record.Changes.Add(l.record.Changes)
	b.record.Duplicates += l.record.Duplicates
	b.record.Watermark = l.record.Watermark
	if l.saved {
		b.record.RunID = l.ID
	}
	b.meter.publish(len(l.windows))
	b.show()
}
