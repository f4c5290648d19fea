package syncer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// A backfill reads a range of updatedAt in windows, several side by side, under the one lease of its stream. Each
// window is a chain of pages of its own. What is complete goes to one goroutine, which stages and publishes it in
// loads: a window that is larger than a batch is a load of its own; small ones are staged together, as they come, and
// are published together, since publishing a hundred of them costs as much as publishing one, and that grows with the
// rows that are there already. A load is a run of sync_runs.
//
// The state of the backfill has the windows that are done and, with their run, those that are staged. Windows become
// staged once their rows are, and done in the same write that ends their publication (warehouse.Intent). So whoever
// goes on after a crash reads again only what was in memory, and leaves out nothing.

// mode is what sync_runs calls the loads of the backfill.
func (b *backfill) mode() string {
	if b.name == initialBackfill {
		return warehouse.ModeInitial
	}
	return warehouse.ModeBackfill
}

// BackfillRecord is how a backfill ended.
type BackfillRecord struct {
	// RunRecord sums up what was published. RunID is that of the last run.
	warehouse.RunRecord
	Windows int // all windows of the range
	Done    int // windows that need not be read again
	Earlier int // those of them that an earlier backfill of the range, which was interrupted, had read
}

// Backfill reads the rows of one range of updatedAt, whatever the watermark is, and leaves the watermark alone. When a
// backfill of the same range and window was interrupted, it goes on with the windows that are left. It deletes nothing.
// The error is a *RangeError for a range that cannot be read, else as that of Run.
func (s *Syncer) Backfill(ctx context.Context, job Job, asked Range) (BackfillRecord, error) {
	r := s.newRun(job)
	err := errors.Join(r.job.checkBackfill(), asked.Validate())
	if err == nil {
		asked.setDefaults()
		r.asked = &asked
		err = r.repeat(ctx)
	}
	record := BackfillRecord{RunRecord: r.record}
	if b := r.backfill; b != nil {
		record.Windows, record.Done, record.Earlier = len(b.windows), b.state.Done.count()+b.state.Staged.count(), b.earlier
	}
	return record, err
}

// backfill is a backfill under way. Its own goroutines are the readers of windows and the publisher.
type backfill struct {
	*run     // holds the lease; its record sums up the loads
	name     string
	windows  []window
	parallel int
	earlier  int           // windows that were read when it began
	meter    meter         // of the progress
	state    progressState // as it is stored; the publisher's
	pending  *load         // staged, to be published with more; the publisher's
	lastTime time.Time     // local time of the last publication
	old      time.Time     // watermark when it began

	mu     sync.Mutex
	news   *sync.Cond // something below has changed
	ready  []*load    // complete windows that are loads of their own
	open   *load      // takes small windows
	ended  bool       // there will be no more loads
	failed error      // nothing is published any more
	gaps   []string   // why windows have to be read again, one each
}

// leaveGap says that a window was read with a gap.
func (b *backfill) leaveGap(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, reason)
}

// newBackfill goes on with the state that is stored under the name, or begins where it is nil.
func (r *run) newBackfill(ctx context.Context, name string, stored *progressState, begin progressState, parallel int) (*backfill, error) {
	state := begin
	if stored != nil {
		state = *stored
	}
	width, err := time.ParseDuration(state.Window)
	if err != nil || width <= 0 {
		return nil, fmt.Errorf("reading the state %s of %s of account %s: the window %q is none", name, r.Stream.Name, r.Account, state.Window)
	}
	b := &backfill{run: r, name: name, state: state, windows: cut(state.From, state.To, width), parallel: parallel}
	if err := b.restore(ctx); err != nil {
		return nil, err
	}
	b.earlier = b.state.Done.count() + b.state.Staged.count()
	b.news = sync.NewCond(&b.mu)
	b.meter = meter{live: map[*run]warehouse.Totals{}, windows: Windows{Total: len(b.windows), Done: b.earlier, Earlier: b.earlier}}
	if stored != nil {
		r.log.Info("going on with a backfill that was interrupted", "begun", state.BegunAt, "windows", len(b.windows), "left", len(b.windows)-b.earlier)
	}
	return b, nil
}

// planBackfill decides whether the run is a backfill: one that was asked for, or a first sync from a given time on.
// That is one only when it is more than a page: the first request, which has to be made to learn the server's time,
// shows it.
func (r *run) planBackfill(ctx context.Context, watermark time.Time) (*backfill, error) {
	if a := r.asked; a != nil {
		name := stateName(*a)
		stored, err := warehouse.LoadBackfill[progressState](r.lease, name)
		if err != nil {
			return nil, err
		}
		if stored != nil && !stored.isOf(r) {
			stored = nil
		}
		return r.newBackfill(ctx, name, stored, progressState{BegunAt: r.StartedAt, Origin: r.job.Client.Origin(), From: a.From, To: a.To, Window: a.Window.String()}, a.Parallel)
	}
	from := r.job.InitialFrom.UTC().Truncate(time.Millisecond)
	if r.Stream.Kind != catalog.Incremental || r.job.Full || r.job.DryRun || !watermark.IsZero() || from.IsZero() {
		return nil, nil
	}
	begin := progressState{BegunAt: r.StartedAt, Origin: r.job.Client.Origin(), From: from, Window: DefaultWindow.String()}
	stored, err := warehouse.LoadBackfill[progressState](r.lease, initialBackfill)
	switch {
	case err != nil:
		return nil, err
	case stored == nil || !stored.From.Equal(from) || !stored.isOf(r): // a setting may have changed: then what is done is not enough
		server, more := r.look(ctx, window{from: from}.after())
		if !more || !(Range{From: from, To: server}).isValid() {
			return nil, nil // an ordinary run does
		}
		begin.To, begin.ServerStart = server, server
		if stored != nil {
			if err := r.warehouse.SaveBackfill(ctx, r.Run, initialBackfill, ""); err != nil {
				return nil, err
			}
			stored = nil
		}
	}
	b, err := r.newBackfill(ctx, initialBackfill, stored, begin, DefaultParallel)
	if err == nil {
		// What is dated after the server's time is in no other window.
		b.windows[len(b.windows)-1].to = time.Time{}
	}
	return b, err
}

// look asks for the first page, for the server's time and whether there is more than that page. Its errors are left to
// the ordinary run that follows, which meets and records them.
func (r *run) look(ctx context.Context, after time.Time) (server time.Time, more bool) {
	q := r.job.query(after, "")
	q.Ahead = -1
	for page, err := range r.job.Client.Pages(ctx, q) {
		if err != nil {
			return time.Time{}, false
		}
		s := seen{}
		s.begin(page)
		return s.serverStart, page.Next != ""
	}
	return time.Time{}, false
}

// errUnfiltered says that a window brought more rows from outside of it than from inside.
var errUnfiltered = errors.New("the service does not keep to the range that it is asked for")

// main reads all windows that are left. Where the service turns out not to honour the filters, windows are of no use:
// what is left is then read as one window, in one chain, so that everything is read, and once.
func (b *backfill) main(ctx context.Context, watermark time.Time) error {
	b.old = watermark
	b.record.StartedAt, b.record.Mode, b.record.RequestedAfter, b.record.Watermark = b.StartedAt, b.mode(), b.windows[0].after(), watermark
	b.show()
	s := newSeen()
	tasks := b.left()
	b.lastTime = time.Now()
	err := b.loadAll(ctx, s, tasks, len(tasks) > 1)
	unfiltered := errors.Is(err, errUnfiltered)
	if unfiltered {
		b.log.Warn("the service does not keep to the range that it is asked for: what is left is read in one chain", "windows", len(b.windows)-b.state.Done.count())
		b.gaps = nil
		err = b.loadAll(ctx, s, joined(b.left()), false)
	}
	b.metrics.saw(b.run, s)
	b.tell(s, unfiltered)
	if err == nil && len(b.gaps) > 0 {
		err = &IncompleteError{Account: b.Account, Stream: b.Stream.Name,
			Reason: fmt.Sprintf("%d of %d windows have to be read again: %s", len(b.gaps), len(tasks), b.gaps[0])}
	}
	if err != nil {
		return errors.Join(err, b.fail(ctx, err))
	}
	b.record.Outcome = warehouse.OutcomeSuccess
	return nil
}

// fail records why the backfill ended: its loads have rows of their own, and none of them need have failed.
func (b *backfill) fail(ctx context.Context, cause error) error {
	b.record.Outcome, b.record.Error, b.record.FinishedAt = outcome(ctx, cause), cause.Error(), b.now(b.local())
	ctx, cancel := b.tidying(ctx)
	defer cancel()
	row := b.record
	row.RunID, row.Totals, row.Changes, row.Duplicates = b.ID, warehouse.Totals{}, warehouse.Changes{}, 0
	return b.warehouse.SaveRun(ctx, row)
}

// task is what one chain reads: a window, with the numbers of those that it stands for.
type task struct {
	window
	numbers []int
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

// joined is one task instead of many.
func joined(all []task) []task {
	if len(all) == 0 {
		return nil
	}
	one := task{window: window{all[0].from, all[len(all)-1].to}}
	for _, t := range all {
		one.numbers = append(one.numbers, t.numbers...)
	}
	return []task{one}
}

// loadAll reads the tasks side by side and publishes what is complete, also when it ends before its time: what a signal
// or a failing window leaves complete is kept. strict windows end with errUnfiltered when they see that they are no use.
func (b *backfill) loadAll(ctx context.Context, s *seen, tasks []task, strict bool) error {
	b.ended = false
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lasting, stop := outlive(ctx, b.grace)
	defer stop()
	var readers, publisher sync.WaitGroup
	var publishing error
	publisher.Go(func() {
		publishing = b.publishLoads(lasting, s, cancel)
	})
	var next atomic.Int64
	errs := make([]error, min(b.parallel, len(tasks)))
	for i := range errs {
		readers.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(tasks) {
					return
				}
				if err := contain(func() error { return b.readWindow(lasting, ctx, tasks[n], strict) }); err != nil {
					errs[i] = err
					cancel(err)
					return
				}
			}
			errs[i] = context.Cause(ctx)
		})
	}
	readers.Wait()
	b.end()
	publisher.Wait()
	if publishing != nil {
		return publishing
	}
	// The first error ended the others: it is the cause of the context, whatever they say.
	for _, err := range errs {
		if err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// query is the list operation of the run's list, between the borders that it has.
func (r *run) query(after time.Time, start string) dealapi.Query {
	q := r.job.query(after, start)
	r.job.bound(&q, r.before)
	return q
}

// tell turns what all windows saw into warnings, once.
func (b *backfill) tell(s *seen, unfiltered bool) {
	if unfiltered || s.outside > 0 {
		b.warn(fmt.Sprintf("the service does not keep to the range that is asked for with the parameters %q and %q (%d rows are outside of it): they may have other names (account.params); all rows were kept",
			b.job.Params.UpdatedAfter, b.job.Params.UpdatedBefore, s.outside))
	}
	s.outside = 0
	b.notice(s, time.Time{})
	b.noticeOlder(b.record.Changes)
}
