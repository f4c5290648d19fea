package syncer

import (
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// guardDeletes stops a run that would delete too much (syncer-2).
func (r *run) guardDeletes(c warehouse.Changes) error {
	if c.Deleted == 0 || r.job.AllowMassDelete {
		return nil
	}
	if c.Deleted < c.Live && float64(c.Deleted) <= max(r.job.MaxDeleteRatio, 0)*float64(c.Live) {
		return nil
	}
	return &GuardError{
		Account: r.Account, Stream: r.Stream.Name, Guard: GuardDeletes,
		Reason: fmt.Sprintf("the service no longer lists %d of %d rows, and max_delete_ratio allows %.4g %%", c.Deleted, c.Live, 100*max(r.job.MaxDeleteRatio, 0)),
		Advice: "nothing was changed; if these rows are really gone, run `dealhouse sync " + r.Stream.Name + " --account " + r.Account + " --allow-mass-delete` once",
	}
}

// fewRecords is what a share is taken of at the least where a run reads only what changed: of two records, one that
// cannot be loaded says nothing about the service, and would hold up the stream until a score have come with it. Nothing
// is deleted there.
const fewRecords = 100

// guardRejects stops a run of which too much cannot be loaded: it says more about the service than about the records.
func (r *run) guardRejects() error {
	t := r.record.Totals
	of := t.Read
	if r.Stream.Kind == catalog.Incremental && !r.job.Full {
		of = max(of, fewRecords)
	}
	if float64(t.Unloadable) <= max(r.job.MaxRejectedRatio, 0)*float64(of) {
		return nil
	}
	return &GuardError{
		Account: r.Account, Stream: r.Stream.Name, Guard: GuardRejects,
		Reason: fmt.Sprintf("%d of %d records cannot be loaded, and max_rejected_ratio allows %.4g %%", t.Unloadable, t.Read, 100*max(r.job.MaxRejectedRatio, 0)),
		Advice: "nothing was changed; look at them with `dealhouse rejects --run " + r.ID.String() + "`",
	}
}

// notice turns what the run saw and carried on with into warnings.
func (r *run) notice(seen *seen, after time.Time) {
	r.record.ServerTime, r.ServerTime = seen.serverStart, seen.latest(r.local())
	if seen.outside > 0 {
		r.warn(fmt.Sprintf("the service sent %d rows that were not updated after %s, which was asked for with the parameter %q: it may have another name (account.params.updated_after); all rows were kept",
			seen.outside, after.UTC().Format(time.RFC3339), r.job.Params.UpdatedAfter))
	}
	if seen.noDate {
		r.warn(fmt.Sprintf("the service sends no usable Date header: the local clock less %s stands in for it", noDateMargin))
	}
	if seen.future > 0 {
		r.warn(fmt.Sprintf("%d rows are dated after the server's own time: they are loaded, but do not move the watermark", seen.future))
	}
	if len(seen.unknown) > 0 {
		names := make([]string, 0, len(seen.unknown))
		for name := range seen.unknown {
			names = append(names, name)
		}
		slices.Sort(names)
		r.warn(fmt.Sprintf("the service sends fields that the interface does not name; they are kept in _extra: %s", joinSome(names)))
	}
	if n := r.record.Totals.Rejected; n > 0 {
		r.warn(fmt.Sprintf("values or records that could not be loaded as they were sent: %d; `dealhouse rejects` lists them", n))
	}
}

// warn adds to the run's record; whoever runs it tells the user.
func (r *run) warn(text string) { r.record.Warnings = append(r.record.Warnings, text) }

// joinSome lists names, but not hundreds of them.
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
