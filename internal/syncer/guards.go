package syncer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// fewRecords is the smallest number of records that the share of rejects is computed from in a run that reads only what
// changed. If one of two records cannot be loaded, that says nothing about the service. But at the default limit of 5 %
// it would stop the stream until twenty records have changed. Such a run deletes nothing.
const fewRecords = 100

// guardRejects stops a run in which too many records cannot be loaded: then the problem is the service, and not the
// records.
func (r *run) guardRejects() error {
	t := r.record.Totals
	of := t.Read
	if r.Stream.Kind == catalog.Incremental && !r.session.job.Full {
		of = max(of, fewRecords)
	}
	if float64(t.Unloadable) <= r.session.job.MaxRejectedRatio*float64(of) {
		return nil
	}
	return &GuardError{
		Account: r.Account, Stream: r.Stream.Name, Guard: GuardRejects,
		Reason: fmt.Sprintf("%d of %d records cannot be loaded, and max_rejected_ratio allows %.4g %%", t.Unloadable, t.Read,
			100*r.session.job.MaxRejectedRatio),
		Advice: "nothing was changed; look at them with `dealhouse rejects --run " + r.ID.String() + "`",
	}
}

// notice turns problems that did not stop the run into warnings.
func (r *run) notice(seen *seen, after time.Time) {
	r.record.ServerTime, r.ServerTime = seen.serverStart, seen.latest(r.session.local())
	if seen.outside > 0 {
		r.warn(fmt.Sprintf("the service sent %d rows that were not updated after %s, which was asked for with the parameter %q: it may have another name (account.params.updated_after); all rows were kept",
			seen.outside, after.UTC().Format(time.RFC3339), r.session.job.Params.UpdatedAfter))
	}
	r.noticeStrangers(seen)
	if seen.doubt != "" {
		r.warn(notWhole(seen.doubt) + ": report it to the people who run the service")
	}
	if seen.stale != "" {
		r.warn(seen.stale)
	}
	if seen.notice != "" {
		r.warn("the service warns of a change, and while it does, no row is deleted: " + seen.notice)
	}
	if seen.noDate {
		r.warn(fmt.Sprintf("the service sends no usable Date header: the local clock minus %s is used instead", noDateMargin))
	}
	if seen.future > 0 {
		r.warn(fmt.Sprintf("%d rows are dated after the server's own time: they are loaded, but do not move the watermark",
			seen.future))
	}
	if len(seen.unknown) > 0 {
		names := make([]string, 0, len(seen.unknown))
		for name := range seen.unknown {
			names = append(names, name)
		}
		slices.Sort(names)
		r.record.Unknown = names
		r.warn(fmt.Sprintf("the service sends fields that dealhouse does not know; they are kept in _extra: %s",
			joinSome(names)))
	}
	if n := r.record.Totals.Rejected; n > 0 {
		r.warn(fmt.Sprintf("values or records that could not be loaded as they were sent: %d; `dealhouse rejects` lists them",
			n))
	}
}

// noticeOlder warns about rows that a comparison left unchanged, although the service now sends other content, because
// that has an older updatedAt.
func (r *run) noticeOlder(c warehouse.Changes) {
	if c.Older == 0 {
		return
	}
	r.warn(fmt.Sprintf("%d rows came with other content than is loaded, but with an older updatedAt, and were left as they are: "+
		"the service gave an older state or set their updatedAt back; the next `dealhouse sync %s --full` loads what it then says", c.Older, r.Stream.Name))
}

// checkOlder is a check: it calls noticeOlder.
func (r *run) checkOlder(_ context.Context, c *warehouse.Changes) error {
	r.noticeOlder(*c)
	return nil
}

// checkCount returns a check of a list that was asked for by time and has, by the service's own count, more rows than
// were read. If the count is at least that of all known rows, the service counts what was not asked for.
func (s *seen) checkCount(r *run) check {
	return func(_ context.Context, c *warehouse.Changes) error {
		if s.short != "" && s.shortOf < c.Live {
			r.gap = cmp.Or(r.gap, notWhole(s.short))
			r.warn(notWhole(s.short))
		}
		return nil
	}
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

// joinSome lists up to 20 names, and says how many more there are.
func joinSome(names []string) string {
	const most = 20
	text := ""
	for i, name := range names {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}
