package syncer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// MaxConfirmations is the largest number of rows that one run requests before it deletes them. Further
// rows stay until a later run.
const MaxConfirmations = 1000

// askers is the number of requests that are made side by side. The account's rate limit applies to them too.
const askers = 4

// sideBySide calls f for each number below n, askers of them at a time, until the first error.
func sideBySide(ctx context.Context, n int, f func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for i := range n {
		group.Go(func() error { return Contain(func() error { return f(ctx, i) }) })
	}
	return group.Wait()
}

// ask requests records by their own addresses. It passes each result to answer, one at a time, with the local time of
// the request. It ends with the first error that answer returns.
func (s *session) ask(ctx context.Context, keys []string,
	answer func(key string, sent time.Time, object []byte, err error) error) error {
	var mu sync.Mutex
	return sideBySide(ctx, len(keys), func(ctx context.Context, i int) error {
		sent := s.local()
		object, err := s.job.Client.Get(ctx, s.job.Stream.Path+"/"+keys[i], nil)
		mu.Lock()
		defer mu.Unlock()
		return answer(keys[i], sent, object, err)
	})
}

// confirmation is the result of checking the rows that a list no longer has.
type confirmation struct {
	gone    []string
	alive   int // rows that still exist, though the list does not have them
	unclear int // rows for which there was no clear answer
}

// deletes makes the checks of rows that a complete list does not have, and that would therefore be deleted.
type deletes struct {
	session  *session
	run      *run
	fetching context.Context //nolint:containedctx // it lives for one publication; ends when no more is to be asked for
	seen     *seen

	consented bool // an operator has agreed to what the guard counted
}

// checks returns the checks in their order; there are none for a new service. If the service has warned of something,
// nothing is deleted. For a walk the guard comes second, so that it counts only rows that are confirmed: those that
// wait are not deleted by this run.
func (d *deletes) checks() []check {
	switch {
	case d.session.job.NewService: // what it does not have is of another service
		return nil
	case d.seen.notice != "":
		return []check{d.keepAll}
	case d.run.Stream.Kind == catalog.Walk:
		return []check{d.confirm, d.holdBack}
	}
	return []check{d.holdBack, d.confirm}
}

// guard returns a *GuardError for a run that would delete too much (syncer-2).
func (d *deletes) guard(_ context.Context, c *warehouse.Changes) error {
	job := d.session.job
	if c.Deleted == 0 || job.AllowMassDelete || mayDelete(c, job.MaxDeleteRatio) {
		return nil
	}
	// If none of many rows is left, the list may be that of another service: then nothing of it is loaded.
	loaded := !job.DryRun && (c.Deleted < c.Live || c.Live <= catalog.FewDeletes)
	what, really := "nothing was changed", "if these rows are really gone"
	if loaded {
		what = "nothing was deleted, and everything else is loaded"
	}
	if c.Outside > 0 {
		really = "if the scope is as you want it"
	}
	return &GuardError{
		Account: job.Account, Stream: job.Stream.Name, Guard: GuardDeletes, Deletes: c.Deleted, Loaded: loaded,
		Reason: fmt.Sprintf("%s of %d rows, and max_delete_ratio allows %.4g %%", whatLeaves(c, job.Scope), c.Live,
			100*job.MaxDeleteRatio),
		Advice: what + "; " + really + ", agree to it with `dealhouse operate consent " + job.Stream.Name +
			" --account " + job.Account +
			"`, or run `dealhouse sync " + job.Stream.Name + " --account " + job.Account + " --allow-mass-delete` once",
	}
}

// mayDelete reports whether so many rows may be deleted without consent: the share that the ratio allows, but not all
// of them. In a small list each row is a large share, so a few may be deleted if half of the rows stay, and one always.
func mayDelete(c *warehouse.Changes, ratio float64) bool {
	few := c.Deleted == 1 || c.Deleted <= catalog.FewDeletes && 2*c.Deleted <= c.Live
	return ratio > 0 && (few || c.Deleted < c.Live && float64(c.Deleted) <= ratio*float64(c.Live))
}

// whatLeaves says why rows would be removed from the views.
func whatLeaves(c *warehouse.Changes, scope catalog.Scope) string {
	if c.Outside == 0 {
		return fmt.Sprintf("the service no longer lists %d", c.Deleted)
	}
	if c.Outside == c.Deleted {
		return fmt.Sprintf("the scope of the stream, %s, leaves out %d", scope.Brief(), c.Outside)
	}
	return fmt.Sprintf("the scope of the stream, %s, leaves out %d and the service no longer lists %d others",
		scope.Brief(), c.Outside, c.Deleted-c.Outside)
}

// holdBack is a check: it cancels deletions that the guard stops, and leaves the rest of the publication as it is. If
// the guard stops that too, holdBack returns the guard's error.
func (d *deletes) holdBack(ctx context.Context, c *warehouse.Changes) error {
	stopped := d.guardUnlessConsented(ctx, c)
	guard, ok := errors.AsType[*GuardError](stopped)
	if !ok || !guard.Loaded {
		return stopped
	}
	d.run.held, d.run.record.WouldDelete = guard, guard.Deletes
	d.run.warn(fmt.Sprintf("nothing was deleted: %d rows that would be gone stay until an operator agrees", guard.Deletes))
	return d.keepAll(ctx, c)
}

// keepAll is a check: it cancels all deletions.
func (d *deletes) keepAll(ctx context.Context, c *warehouse.Changes) error {
	if c.Deleted == 0 {
		return nil
	}
	c.Kept, c.Deleted, c.Outside = c.Kept+c.Deleted, 0, 0
	return d.run.writer().KeepAll(ctx)
}

// guardUnlessConsented does what guard does, unless an operator has agreed to at least as many deletions
// since a run was stopped.
func (d *deletes) guardUnlessConsented(ctx context.Context, c *warehouse.Changes) error {
	stopped := d.guard(ctx, c)
	guard, ok := errors.AsType[*GuardError](stopped)
	if !ok {
		return stopped
	}
	s := d.session
	consent, err := s.warehouse.Consent(ctx, warehouse.StreamID{Account: guard.Account, Stream: guard.Stream}, d.run.ID,
		c.Deleted, s.job.DryRun)
	switch {
	case err != nil:
		return fmt.Errorf("reading the consent of an operator: %w", err)
	case consent == nil:
		return stopped
	case c.Deleted > consent.Deletes:
		guard.Reason += fmt.Sprintf("; %s has agreed to %d", consent.Actor, consent.Deletes)
		return stopped
	}
	d.consented = true
	d.run.warn(fmt.Sprintf("%s has agreed to the deletion of up to %d rows", consent.Actor, consent.Deletes))
	return nil
}

// confirm makes sure that rows which a complete list does not have are gone. If the list moved while it was read, a row
// may have gone from a page that was not read yet to one that was, so that no page had it when it was read (syncer-12).
// What is not confirmed stays until a later run.
func (d *deletes) confirm(ctx context.Context, c *warehouse.Changes) error {
	job, s := d.session.job, d.seen
	switch always := job.ConfirmDeletes && job.Stream.ByID; {
	case job.Stream.Kind == catalog.Walk:
		return d.confirmByLists(ctx, c)
	case c.Deleted == 0, s.still && !always:
		return nil
	}
	limit := MaxConfirmations
	if job.AllowMassDelete || d.consented { // consent is for this run
		limit = int(c.Deleted)
	}
	planned, err := d.run.writer().PlannedDeletes(ctx, limit)
	if err != nil {
		return err
	}
	found, err := d.lookFor(d.fetching, planned)
	if err != nil {
		return fmt.Errorf("confirming deletes: %w", err)
	}
	if found.alive > 0 {
		d.run.warn(fmt.Sprintf("the list left out %d rows that the service still has: they were kept", found.alive))
	}
	if waiting := int(c.Deleted-c.Outside) - len(found.gone) - found.alive; waiting > 0 {
		d.run.warn(fmt.Sprintf("%d rows that the list no longer has are kept until a later run can confirm that they are gone (%d answers were unclear)", waiting, found.unclear))
	}
	gone := c.Outside + uint64(len(found.gone))
	c.Kept, c.Deleted = c.Deleted-gone, gone
	if c.Kept == 0 {
		return nil
	}
	return d.run.writer().KeepUnconfirmed(ctx, found.gone)
}

// confirmByLists confirms rows that cannot be requested by themselves: they are gone when Job.DeleteAfterLists complete
// lists in a row do not have them. If the list cannot have moved, one is enough.
func (d *deletes) confirmByLists(ctx context.Context, c *warehouse.Changes) error {
	lists := d.session.job.DeleteAfterLists
	if d.seen.still {
		lists = 1
	}
	kept, err := d.run.writer().KeepUntilAbsent(ctx, lists, !d.session.job.DryRun)
	c.Kept, c.Deleted = kept, c.Deleted-kept
	return err
}

func (d *deletes) lookFor(ctx context.Context, planned []warehouse.PlannedDelete) (confirmation, error) {
	if d.session.job.Stream.ByID {
		return d.lookByAddress(ctx, planned)
	}
	return d.lookByTime(ctx, planned)
}

// lookByAddress requests each row by its own address. A row that does not exist, or is outside the scope now, is gone.
// So is a row that exists and has not changed since it was loaded: it kept its place, and a chain of pages has every
// row that did not change, so the list no longer has it. A row that did change may have moved, and stays.
func (d *deletes) lookByAddress(ctx context.Context,
	planned []warehouse.PlannedDelete) (found confirmation, err error) {
	keys, stored := make([]string, len(planned)), map[string]warehouse.PlannedDelete{}
	for i, p := range planned {
		keys[i], stored[p.Key] = p.Key, p
	}
	filters := scopeFilters(d.run.Stream, d.session.job.Scope)
	decoder, batch := decode.New(d.run.Stream), decode.NewBatch(d.run.Stream)
	err = d.session.ask(ctx, keys, func(key string, _ time.Time, object []byte, err error) error {
		var api *dealapi.Error
		switch {
		case err == nil:
			batch.Reset()
			known := decoder.Item(batch, object, key, 1, 1) == nil && batch.Len() == 1
			left := known && !inScope(filters, batch, 0, false)
			if left || known && d.keptItsPlace(batch, filters, stored[key]) && d.seen.ordered && !d.session.job.ConfirmDeletes {
				found.gone = append(found.gone, key)
			} else {
				found.alive++
			}
		case errors.As(err, &api) && api.Kind == dealapi.KindNotFound:
			found.gone = append(found.gone, key)
		case errors.As(err, &api) && (api.Kind == dealapi.KindAuth || api.Kind == dealapi.KindCanceled):
			return err
		default:
			found.unclear++
			d.session.log.Warn("could not confirm that a row is gone; it stays", "key", key, "error", err)
		}
		return nil
	})
	return found, err
}

// keptItsPlace reports whether a row, as its own address returns it, has not changed since it was loaded. In a scope,
// whose lists come from different moments, it is enough that it has not changed since before they were read. It must
// also belong to the same lists as when it was loaded.
func (d *deletes) keptItsPlace(b *decode.Batch, filters []scopeFilter, stored warehouse.PlannedDelete) bool {
	if filtered(filters, b, 0) != stored.Filtered {
		return false
	}
	now := (span{batch: b, to: 1}).updates()[0]
	before := max(d.seen.startTime().Add(-catalog.MinOverlap).UnixMilli(), d.seen.serverStart.Add(-maxClockError).UnixMilli())
	return now != 0 && (now == stored.Updated || len(filters) > 0 && now < before)
}

// lookByTime requests rows by their updatedAt: all rows that changed in the same millisecond. A row that is not there
// is gone or has changed. It has not changed, because the run would have read it then: a full read has all that changed
// meanwhile, or deletes nothing. If not even the newest row that was read is found this way, the service does not find
// rows by the millisecond, and nothing is confirmed.
func (d *deletes) lookByTime(ctx context.Context, planned []warehouse.PlannedDelete) (found confirmation, err error) {
	probe, _, err := d.listedAt(ctx, d.seen.newest)
	if err != nil || len(probe) == 0 {
		found.unclear = len(planned)
		return found, err
	}
	byTime := map[int64][]string{}
	for _, p := range planned {
		byTime[p.Updated] = append(byTime[p.Updated], p.Key)
	}
	found.unclear = len(byTime[0]) // without an updatedAt
	delete(byTime, 0)
	var times []int64
	for at := range byTime {
		times = append(times, at)
	}
	var mu sync.Mutex
	err = sideBySide(ctx, len(times), func(ctx context.Context, i int) error {
		listed, certain, err := d.listedAt(ctx, times[i])
		mu.Lock()
		defer mu.Unlock()
		for _, key := range byTime[times[i]] {
			switch {
			case listed[key]:
				found.alive++
			case certain:
				found.gone = append(found.gone, key)
			default:
				found.unclear++
			}
		}
		return err
	})
	return found, err
}

// listedAt returns the ids of the rows with this updatedAt, in milliseconds since 1970. certain says that there are no
// others: the service sent only rows of that time, and the pages follow each other.
func (d *deletes) listedAt(ctx context.Context, updated int64) (ids map[string]bool, certain bool, err error) {
	ids, certain = map[string]bool{}, true
	decoder, batch := decode.New(d.run.Stream), decode.NewBatch(d.run.Stream)
	q := d.session.job.query(time.UnixMilli(updated-1), "")
	q.Ahead = -1
	d.session.job.bound(&q, time.UnixMilli(updated+1))
	for page, err := range d.session.job.Client.Pages(ctx, q) {
		var api *dealapi.Error
		if errors.As(err, &api) && api.CursorRefused() {
			return ids, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		batch.Reset()
		if err := decoder.Page(batch, page.Data, uint32(page.Number), 1); err != nil {
			return nil, false, err
		}
		rows := span{batch: batch, to: batch.Len()}
		for i, at := range rows.updates() {
			ids[batch.Key(i)] = true
			certain = certain && at == updated
		}
		certain = certain && page.Doubt+page.Notice == ""
		certain = certain && len(batch.Rejects) == 0 &&
			(page.Token == "" || strings.EqualFold(decode.FirstKey(d.run.Stream, page.Data), page.Token))
	}
	return ids, certain, nil
}
