package syncer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// placeEvery is the longest time for which a walk continues without saving its place. Saving it writes one row into a
// part of its own, which costs as much as staging hundreds of products. So it is saved when BatchRows more rows are
// staged or this time has passed, and not after each batch that was full because of its bytes.
const placeEvery = 5 * time.Second

// newList decides what to read: the rest of a walk that was cut short, or what changed after the watermark.
func newList(ctx context.Context, s *session) (*list, error) {
	l := &list{session: s, run: s.run}
	if l.run.Stream.Kind == catalog.Walk {
		l.run.unstage = l.unstage
	}
	if err := l.resume(ctx); err != nil {
		return nil, err
	}
	if err := l.setRange(); err != nil {
		return nil, err
	}
	if err := s.readClock(); err != nil {
		return nil, err
	}
	l.noticeFrom()
	if err := l.checkScope(); err != nil {
		return nil, err
	}
	l.run.record.RequestedAfter, l.run.record.Watermark = l.after, l.watermark
	l.reader = &pageReader{session: s, run: l.run, batchBytes: batchBytes, insert: l.insert, stage: l.stage,
		report: func() { s.report(PhaseReading) }}
	var err error
	l.reader.unless, err = l.unless(ctx)
	return l, err
}

// resume makes this run continue the walk of the stored checkpoint. If the run cannot continue it, because the
// checkpoint is too old or of another service, or its rows are gone, resume clears the walk away.
func (l *list) resume(ctx context.Context) error {
	s, r := l.session, l.run
	if r.Stream.Kind != catalog.Walk || s.job.DryRun {
		return nil
	}
	c, err := s.lease.Checkpoint()
	if err != nil || c == nil {
		return err
	}
	walk := r.Run
	walk.ID, walk.StartedAt = c.RunID, c.StartedAt
	earlier := s.warehouse.Writer(walk)
	staged, err := earlier.CountStaged(ctx)
	if err != nil {
		return err
	}
	if !s.job.resumes(r.StartedAt.Sub(c.SavedAt)) || c.Origin != s.job.Client.Identity() || staged.Rows < c.Totals.Staged {
		s.log.Info("not continuing an earlier walk", "run_id", c.RunID, "saved_at", c.SavedAt)
		return errors.Join(earlier.ClearCheckpoint(ctx), earlier.Discard(ctx))
	}
	// What was staged after the checkpoint is read again. The rows that are there already do no harm, but are counted.
	r.Run, r.checkpoint, r.surplus, r.resumed = walk, c, staged.Without(c.Totals.Set()), true
	return nil
}

// setRange decides after which updatedAt to read.
func (l *list) setRange() (err error) {
	job := l.session.job
	if job.Stream.Kind != catalog.Incremental {
		return nil
	}
	l.watermark, err = l.session.lease.Watermark()
	switch {
	case err != nil || job.Full:
	case !l.watermark.IsZero():
		l.after = job.overlapping(l.watermark)
	case !job.InitialFrom.IsZero():
		l.after = job.InitialFrom.Add(-time.Millisecond)
	}
	return err
}

func (l *list) mode() string { return l.session.job.mode(l.after) }

// load reads the list and publishes it.
func (l *list) load(ctx context.Context) error {
	fetching := ctx // syncer-7
	ctx, cancel := l.session.outlive(fetching)
	defer cancel()
	seen, err := l.readAll(ctx, fetching)
	if err != nil {
		l.leavePlace(ctx, err)
		return err
	}
	l.run.notice(seen, l.after)
	if err := l.noticeMembers(ctx, seen); err != nil {
		return err
	}
	l.session.metrics.saw(l.run, seen)
	if err := l.run.guardRejects(); err != nil {
		return err
	}
	l.run.gap = seen.gap
	if seen.early > 0 {
		if err := l.dropOld(ctx); err != nil {
			return err
		}
	}
	l.setFrom(seen)
	p := publication{run: l.run, scope: l.session.job.scope(l.after),
		watermark: l.nextWatermark(seen), corrected: l.corrected, last: true}
	if seen.gap != "" || seen.unsure || seen.unchanged {
		p.scope = warehouse.Part // missed rows must not look deleted (syncer-11)
	}
	if p.scope == warehouse.Whole && !l.run.resumed {
		l.run.record.Carried = seen.carried.named(l.run.Stream)
	}
	p.checks = []check{seen.checkCount(l.run), l.run.checkOlder}
	if seen.unchanged {
		p.checks = append(p.checks, l.countLoaded)
	}
	if seen.stale == "" && seen.early == 0 { // nothing of an old answer is loaded
		p.checks = append([]check{l.recognise(fetching, p.scope)}, p.checks...)
	}
	if p.scope == warehouse.Whole {
		l.scopeState()
		if err := l.keepList(seen); err != nil {
			return err
		}
		p.checks = append(p.checks, (&deletes{session: l.session, run: l.run, fetching: fetching, seen: seen}).checks()...)
		p.checks = append(p.checks, l.checkOutside)
	}
	p.state = l.state
	if err := p.publish(ctx); err != nil {
		return err
	}
	return l.run.leftOpen()
}

// read stages the whole list. When fetching ends, it makes no more requests; ctx is for staging what was read by then.
func (l *list) read(ctx, fetching context.Context) (*seen, error) {
	r := l.run
	r.report(PhaseReading)
	start := ""
	if c := r.checkpoint; c != nil {
		start, r.batches, r.record.Totals = c.Next, c.Batch, c.Totals
		l.session.log.Info("continuing from the checkpoint", "run_id", r.ID, "rows", r.record.Totals.Read)
	}
	seen, err := l.reader.readChain(ctx, fetching, l.after, start)
	var api *dealapi.Error
	if r.Stream.Paging != catalog.NextPages || !errors.As(err, &api) || !api.CursorRefused() {
		// The pages before a checkpoint are of other moments.
		seen.still = seen.still && start == ""
		return seen, err // a chain of cursors mends itself
	}
	l.session.log.Warn("the service no longer knows the page: reading the list from its beginning", "error", err)
	if err := l.startOver(ctx); err != nil {
		return nil, err
	}
	return l.reader.readChain(ctx, fetching, l.after, "")
}

// readAll reads the list, and what has changed meanwhile.
func (l *list) readAll(ctx, fetching context.Context) (seen *seen, err error) {
	ctx, span := telemetry.Start(ctx, "read")
	defer func() { span.End(err) }()
	fetching = telemetry.Below(fetching, span)
	if seen, err = l.read(ctx, fetching); err == nil {
		seen, err = l.checkClock(ctx, fetching, seen)
	}
	if err == nil {
		err = l.catchUp(ctx, fetching, seen)
	}
	span.Count("dealhouse.pages", l.run.record.Totals.Pages)
	span.Count("dealhouse.read", l.run.record.Totals.Read)
	return seen, err
}

// catchUp reads what has changed since a full read of the stream began: an item that changes may move to a page that
// was read already, and would look as if it were gone. It reads in ranges of time, because what changes moves to a
// range that is read later (sweep). If that is not possible, nothing is deleted.
func (l *list) catchUp(ctx, fetching context.Context, s *seen) error {
	job := l.session.job
	if job.Stream.Kind != catalog.Incremental || !job.Full || s.gap != "" || s.still || s.rising {
		return nil
	}
	more, err := l.reader.readPages(ctx, fetching, job.overlapping(s.startTime()), (*chain).sweep)
	if err != nil {
		return err
	}
	more.outside = 0 // incremental runs warn about it
	s.add(more)
	if more.gap != "" {
		s.unsure = true
		l.run.warn("deleted rows were kept, because the changes made while the list was read are unknown: " + more.gap)
	}
	return nil
}

// startOver discards what was staged. Batch numbers continue, because a number is used only once (syncer-5).
func (l *list) startOver(ctx context.Context) error {
	r := l.run
	r.record.Totals = warehouse.Totals{Retries: r.record.Totals.Retries}
	r.checkpoint, r.surplus, r.resumed, l.place = nil, warehouse.Set{}, false, nil
	dropped := r.writer().DropStaging(ctx)
	if l.session.job.DryRun {
		return dropped
	}
	return errors.Join(r.writer().ClearCheckpoint(ctx), dropped)
}

// insert writes a batch, beside the one before it.
func (l *list) insert(ctx context.Context, f filled) ([]decode.Reject, error) {
	return l.run.insert(ctx, f.number, f.batch)
}

// stage stores the rejects of a batch, and notes how far a walk is: all batches up to this one are inserted, so nothing
// before its place is missing (syncer-14).
func (l *list) stage(ctx context.Context, f filled) error {
	s, r := l.session, l.run
	if err := r.keep(ctx, f.refused, f.batch); err != nil || s.job.DryRun || r.Stream.Kind != catalog.Walk || f.next == "" {
		return err
	}
	if s.job.Client.HasKey(f.next) { // it is not stored, so a killed walk begins anew
		return nil
	}
	l.place = &warehouse.Checkpoint{RunID: r.ID, StartedAt: r.StartedAt, Origin: s.job.Client.Identity(),
		Next: f.next, Batch: f.number, Totals: r.refused.of(f.totals)}
	few := l.place.Totals.Staged < l.placed+uint64(s.job.BatchRows)
	if r.checkpoint != nil && few && s.local().Sub(l.placedAt) < placeEvery {
		return nil
	}
	return l.savePlace(ctx)
}

// leavePlace saves the place of a walk that ends with an error, so that the next run continues after its last batch. If
// another worker has taken over the stream, that worker has its own place. leavePlace does not wait long for a
// warehouse that does not answer: without the place, only some pages are read again.
func (l *list) leavePlace(ctx context.Context, cause error) {
	if l.place == nil || errors.Is(cause, warehouse.ErrLeaseLost) || !resumable(cause) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.session.cleanupTimeout)
	defer cancel()
	err := l.session.lease.Check(ctx)
	if err == nil {
		err = l.savePlace(ctx)
	}
	if err != nil {
		l.session.log.Warn("the place of the walk was not saved: some pages will be read again", "run_id", l.run.ID,
			"error", err)
	}
}

// unstage keeps what a failed walk has staged, if the next run can continue after its checkpoint.
func (l *list) unstage(ctx context.Context, cause error, lost bool) error {
	w := l.run.writer()
	switch {
	case lost:
		return nil // the walk and its checkpoint belong to the other worker now
	case l.session.job.DryRun:
		return w.Discard(ctx)
	case l.run.checkpoint == nil || !resumable(cause):
		return errors.Join(w.ClearCheckpoint(ctx), w.Discard(ctx))
	}
	// Another worker may have taken the stream over and ended. Then nobody continues the walk, or knows about it.
	if kept, err := w.HasCheckpoint(ctx); err != nil || kept {
		return err
	}
	return w.Discard(ctx)
}

// savePlace saves how far a walk is staged, so that the next run can continue from there.
func (l *list) savePlace(ctx context.Context) error {
	c := l.place
	c.SavedAt = l.session.now(l.session.local())
	if err := l.run.writer().SaveCheckpoint(ctx, *c); err != nil {
		return err
	}
	l.run.checkpoint, l.place, l.placedAt, l.placed = c, nil, l.session.local(), c.Totals.Staged
	return nil
}

// resumable reports whether a walk that ended with this error can continue from its checkpoint. It cannot if the error
// comes from what it read.
func resumable(cause error) bool {
	var api *dealapi.Error
	var guard *GuardError
	var staged *warehouse.StagedError
	switch {
	case errors.As(cause, &guard), errors.As(cause, &staged):
		return false
	case errors.As(cause, &api):
		return api.Kind != dealapi.KindLoop && !api.CursorRefused()
	}
	return true
}

// noticeFrom warns if initial_from asks for older rows than are loaded.
func (l *list) noticeFrom() {
	if from, known := l.session.lease.LoadedFrom(); known && !l.watermark.IsZero() && !l.session.job.Full {
		if text := l.session.job.Behind(from); text != "" {
			l.run.warn(text)
		}
	}
}

// setFrom adds to the state from which updatedAt on everything is loaded, once a first or full read is published.
func (l *list) setFrom(s *seen) {
	job := l.session.job
	if job.Stream.Kind != catalog.Incremental || s.gap != "" || !job.Full && !l.watermark.IsZero() {
		return
	}
	from := job.InitialFrom.UTC().Truncate(time.Millisecond)
	if job.Full {
		from = time.Time{}
	}
	l.setState(warehouse.StateFrom, from.Format(time.RFC3339Nano))
}

// noticeMembers warns about members of the list's envelope that dealhouse does not know, when they are first seen.
func (l *list) noticeMembers(ctx context.Context, seen *seen) error {
	if len(seen.members) == 0 || l.session.job.DryRun {
		return nil
	}
	names := slices.Sorted(maps.Keys(seen.members))
	for i, name := range names {
		names[i] = "(list) " + name
	}
	r := l.run
	fresh, err := l.session.warehouse.NoteUnknownFields(ctx, warehouse.StreamID{Account: r.Account, Stream: r.Stream.Name}, names)
	if len(fresh) > 0 {
		r.warn("the service sends more beside the records of a list than dealhouse knows, and it is not kept: " + joinSome(fresh))
	}
	return err
}
