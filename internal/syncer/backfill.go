package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// A backfill reads a range of updatedAt in windows, several side by side, under the one lease of its stream. Each
// window is a chain of pages of its own. Complete windows go to one goroutine, which stages and publishes them in
// bundles. A window that is larger than a batch is a bundle of its own. Small ones are staged and published together:
// publishing a hundred of them costs as much as publishing one, and the cost grows with the number of rows that are
// already loaded. Each bundle has a run of its own, with its row in sync_runs.
//
// The state of the backfill lists the windows that are done, and those that are staged, with the run that staged them.
// Windows become staged once their rows are, and done in the same write that ends their publication (warehouse.Intent).
// So the next run after a crash reads again only what was in memory, and leaves out nothing.

// BackfillRecord is how a backfill ended.
type BackfillRecord struct {
	// RunRecord sums up what was published. RunID is that of the last run.
	warehouse.RunRecord
	Windows int // all windows of the range
	Done    int // windows that need not be read again
	Earlier int // those of them that an earlier, interrupted backfill of the range had read
}

// Backfill reads the rows of one range of updatedAt, whatever the watermark is, and leaves the watermark alone. When a
// backfill of the same range and window was interrupted, it continues with the windows that are left. It deletes
// nothing. Its errors are those of Run, and a *RangeError for a range that cannot be read.
func (s *Syncer) Backfill(ctx context.Context, job Job, asked Range) (BackfillRecord, error) {
	x := s.newSession(job)
	var b *backfill
	err := errors.Join(x.job.checkBackfill(), asked.Validate())
	if err == nil {
		asked.setDefaults()
		err = x.repeat(ctx, func(ctx context.Context) (err error) {
			if b, err = askedBackfill(ctx, x, asked); err != nil {
				return err
			}
			return b.load(ctx)
		})
	}
	record := BackfillRecord{RunRecord: x.run.record}
	if b != nil {
		record.Windows, record.Done, record.Earlier = len(b.windows), b.state.count(), b.earlier
	}
	return record, err
}

// mode returns the mode of the backfill's runs in sync_runs.
func (b *backfill) mode() string {
	if b.name == initialBackfill {
		return warehouse.ModeInitial
	}
	return warehouse.ModeBackfill
}

// load reads the windows that are left, and publishes them.
func (b *backfill) load(ctx context.Context) error {
	s := b.session
	record := &s.run.record
	record.StartedAt, record.Mode, record.RequestedAfter, record.Watermark = s.run.StartedAt, b.mode(), b.windows[0].after(), b.watermark
	return s.observed(ctx, func() error {
		b.show()
		err := Contain(func() error { return b.recognise(ctx) })
		if err == nil {
			err = b.readWindows(ctx)
		}
		if err != nil {
			return errors.Join(err, b.fail(ctx, err))
		}
		record.Outcome, s.unclean = warehouse.OutcomeSuccess, false
		return nil
	})
}

// errUnfiltered says that a window returned more rows from outside its range than from inside.
var errUnfiltered = errors.New("the service sends rows outside the requested time range")

// readWindows reads all windows that are left. If the service ignores the filters, windows are useless. Then the rest
// is read as one window, in one chain, so that everything is read exactly once.
func (b *backfill) readWindows(ctx context.Context) (err error) {
	ctx, span := telemetry.Start(ctx, "read windows")
	defer func() { span.End(err) }()
	tasks := b.left()
	err = b.readTasks(ctx, newPlan(tasks, b.parallel, b.join), len(tasks) > 1)
	unfiltered := errors.Is(err, errUnfiltered)
	if unfiltered {
		b.session.log.Warn("the service sends rows outside the requested time range: reading the rest as one list",
			"windows", len(b.windows)-b.state.Done.count())
		b.gaps = nil
		err = b.readTasks(ctx, newPlan(joined(b.left()), 1, false), false)
	}
	b.session.metrics.saw(b.session.run, b.publisher.seen)
	b.notice(b.publisher.seen, unfiltered)
	if err == nil && len(b.gaps) > 0 {
		return &IncompleteError{Account: b.session.job.Account, Stream: b.session.job.Stream.Name,
			Reason: fmt.Sprintf("%d of %d windows must be read again: %s", len(b.gaps), len(tasks), b.gaps[0])}
	}
	return err
}

// fail records why the backfill failed. Its bundles have their own rows in sync_runs, and perhaps none of them failed.
func (b *backfill) fail(ctx context.Context, cause error) error {
	s := b.session
	record := &s.run.record
	s.fail(ctx, record, cause)
	record.FinishedAt = s.now(s.local())
	ctx, cancel := s.cleanup(ctx)
	defer cancel()
	row := *record
	row.RunID, row.Changes, row.Duplicates = s.run.ID, warehouse.Changes{}, 0
	row.Totals = warehouse.Totals{Retries: retriesOf(cause)}
	record.Totals.Retries += row.Totals.Retries
	return s.warehouse.SaveRun(ctx, row)
}

func (b *backfill) left() []task {
	var all []task
	for i, w := range b.windows {
		if !b.state.has(i) {
			all = append(all, task{w, []int{i}})
		}
	}
	return all
}

// readTasks reads the tasks of a plan side by side and publishes what is complete, even if a signal or a failing
// window ends it early. strict windows end with errUnfiltered if the service does not respect their range.
func (b *backfill) readTasks(ctx context.Context, tasks *plan, strict bool) error {
	ctx, cancelCause := context.WithCancelCause(ctx)
	defer cancelCause(nil)
	cancel := func(err error) { cancelCause(&partError{err}) }
	lasting, stop := b.session.outlive(ctx)
	defer stop()
	h := newHandover(b.parallel, uint64(b.session.job.BatchRows))
	var readers, publisher sync.WaitGroup
	var publishing error
	publisher.Go(func() {
		publishing = b.publisher.publishAll(lasting, h, cancel)
	})
	errs := make([]error, min(b.parallel, len(tasks.left)))
	for i := range errs {
		readers.Go(func() {
			for ctx.Err() == nil {
				t, more := tasks.next()
				if !more {
					return
				}
				if err := Contain(func() error { return b.readWindow(lasting, ctx, t, strict, h, tasks) }); err != nil {
					errs[i] = err
					cancel(err)
					return
				}
			}
			errs[i] = context.Cause(ctx)
		})
	}
	readers.Wait()
	h.close()
	publisher.Wait()
	if publishing != nil {
		return publishing
	}
	// The first error stopped the others. It is the cause of the context, whatever errors they return.
	for _, err := range errs {
		if err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// windowBytes is the largest window, in bytes of JSON, that is staged and published together with others. Many
// services stamp all transactions of a payout in the same minute, and publishing each such day by itself would
// cost more than reading it.
const windowBytes = 16 << 20

// readWindow reads a window to its end and hands it to the publisher. fetching ends before ctx does.
func (b *backfill) readWindow(ctx, fetching context.Context, t task, strict bool, h *handover, tasks *plan) error {
	u, err := b.newBundle()
	if err != nil {
		return err
	}
	r := u.run
	r.record.RequestedAfter = t.after()
	defer b.meter.drop(r)
	pages := &pageReader{
		session: b.session, run: r, before: t.before(), strict: strict, batchBytes: windowBytes,
		stage:  u.stageWindow,
		report: func() { b.meter.read(r, r.record.Totals); b.show() },
	}
	s, err := pages.readChain(ctx, fetching, t.after(), "")
	switch {
	case err != nil && u.begun:
		return errors.Join(err, r.abandon(fetching, err))
	case err != nil:
		return err
	}
	tasks.learn(t, r.record.Totals.Pages)
	u.windows, u.tasks, u.seen = t.numbers, 1, s
	if s.early > 0 {
		s.gap = cmp.Or(s.gap, "the answers are older than what the service's clock has shown: see what the next sync says of it")
	}
	if s.gap != "" { // what was read is published, and the window is read again (syncer-11)
		u.windows = nil
		b.leaveGap(s.gap)
	}
	if u.begun {
		r.gap = s.gap
		h.submit(u)
		return nil
	}
	return h.share(u)
}

// leaveGap notes that a window was read with a gap, and why.
func (b *backfill) leaveGap(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, reason)
}

// notice turns the observations of all windows into warnings, once.
func (b *backfill) notice(s *seen, unfiltered bool) {
	r, params := b.session.run, b.session.job.Params
	if unfiltered || s.outside > 0 {
		r.warn(fmt.Sprintf("the service sent rows outside the range that the parameters %q and %q ask for (%d rows): the parameters may have other names (account.params); all rows were kept",
			params.UpdatedAfter, params.UpdatedBefore, s.outside))
	}
	s.outside = 0
	r.notice(s, time.Time{})
	r.noticeOlder(r.record.Changes)
}

// show reports the progress of the backfill as a whole.
func (b *backfill) show() {
	totals, windows := b.meter.now()
	b.session.metrics.windows(b.session.run, windows)
	b.session.progress(Progress{Account: b.session.job.Account, Stream: b.session.job.Stream.Name, Phase: PhaseReading,
		Totals: totals, Windows: windows})
}

// askedBackfill makes the backfill of a range that the caller asked for.
func askedBackfill(ctx context.Context, s *session, asked Range) (*backfill, error) {
	name := stateName(asked)
	stored, err := warehouse.ReadBackfill[progressState](s.lease, name)
	if err != nil {
		return nil, err
	}
	origin := s.job.Client.Identity()
	if stored != nil && !stored.isOf(origin) {
		stored = nil
	}
	watermark, err := s.lease.Watermark()
	if err == nil {
		err = s.readClock()
	}
	if err != nil {
		return nil, err
	}
	b := &backfill{session: s, name: name, parallel: asked.Parallel, watermark: watermark, join: asked.join}
	fresh := progressState{BegunAt: s.run.StartedAt, Origin: origin, From: asked.From, To: asked.To,
		Window: asked.Window.String()}
	if err := b.plan(ctx, stored, fresh); err != nil {
		return nil, err
	}
	return b, nil
}

// initialBackfill returns the backfill of a first load from a given time on. It returns nil if the list is
// read in one go, as it is if it fits on one page. The first request shows that, and must be made anyway, to
// learn the service's time.
func (l *list) initialBackfill(ctx context.Context) (*backfill, error) {
	s := l.session
	from := s.job.InitialFrom.UTC().Truncate(time.Millisecond)
	if s.job.Stream.Kind != catalog.Incremental || s.job.Full || s.job.DryRun || !l.watermark.IsZero() || from.IsZero() {
		return nil, nil
	}
	stored, err := warehouse.ReadBackfill[progressState](s.lease, initialBackfill)
	if err != nil {
		return nil, err
	}
	origin := s.job.Client.Identity()
	fresh := progressState{BegunAt: s.run.StartedAt, Origin: origin, From: from, Window: cellOf(from, s.run.StartedAt).String()}
	if stored == nil || !stored.From.Equal(from) || !stored.isOf(origin) {
		// There is no state, or a setting has changed since: then the windows that are done are not enough.
		server, more := l.probe(ctx, window{from: from}.after())
		if !more || !(Range{From: from, To: server}).isValid() {
			return nil, nil // an ordinary run is enough
		}
		fresh.To, fresh.ServerStart = server, server
		if stored != nil {
			if err := s.run.writer().SaveBackfill(ctx, initialBackfill, ""); err != nil {
				return nil, err
			}
			stored = nil
		}
	}
	b := &backfill{session: s, name: initialBackfill, parallel: DefaultParallel, join: true}
	if err := b.plan(ctx, stored, fresh); err != nil {
		return nil, err
	}
	// The last window has no end, because no other window has rows that are dated after the server's time.
	b.windows[len(b.windows)-1].to = time.Time{}
	return b, nil
}

// probe requests the first page, to learn the server's time and whether there are more pages. It drops errors: the
// ordinary run that follows meets and records them.
func (l *list) probe(ctx context.Context, after time.Time) (server time.Time, more bool) {
	q := l.session.job.query(after, "")
	q.Ahead = -1
	for page, err := range l.session.job.Client.Pages(ctx, q) {
		if err != nil {
			return time.Time{}, false
		}
		s := seen{}
		s.setClock(page)
		return s.serverStart, page.Next != ""
	}
	return time.Time{}, false
}

// plan continues with the stored state, or starts with the fresh one if stored is nil.
func (b *backfill) plan(ctx context.Context, stored *progressState, fresh progressState) error {
	s := b.session
	b.state = fresh
	if stored != nil {
		b.state = *stored
	}
	width, err := time.ParseDuration(b.state.Window)
	if err != nil || width <= 0 {
		return fmt.Errorf("reading the state %s of %s of account %s: the window %q is none", b.name, s.job.Stream.Name,
			s.job.Account, b.state.Window)
	}
	b.windows = cut(b.state.From, b.state.To, width)
	b.publisher = &publisher{backfill: b, seen: newSeen(), lastTime: time.Now()}
	if b.publisher.pending, err = b.restore(ctx); err != nil {
		return err
	}
	b.earlier = b.state.count()
	b.meter = meter{live: map[*run]warehouse.Totals{},
		windows: Windows{Total: len(b.windows), Done: b.earlier, Earlier: b.earlier}}
	s.meter = &b.meter
	if stored != nil {
		s.log.Info("continuing an interrupted backfill", "begun", b.state.BegunAt, "windows", len(b.windows),
			"left", len(b.windows)-b.earlier)
	}
	return nil
}
