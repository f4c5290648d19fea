package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// check looks at the changes of a publication. It may reduce them, or stop the publication with a *GuardError.
type check func(context.Context, *warehouse.Changes) error

// publish is the only way to make rows visible. ctx outlives a signal, so that a publication that was started is
// finished. If the time is too short, the next run finishes it.
func (p publication) publish(ctx context.Context) error {
	r, s := p.run, p.run.session
	staged := s.local()
	changes, err := p.compare(ctx)
	if err != nil {
		return err
	}
	if s.job.DryRun {
		if s.job.Differences > 0 {
			r.record.Differences, err = r.writer().Differences(ctx, changes, s.job.Differences)
		}
		return errors.Join(err, r.writer().Discard(ctx))
	}
	if err := p.makeVisible(ctx, changes); err != nil {
		return err
	}
	s.metrics.merged(r, s.local().Sub(staged))
	s.metrics.published(r.record)
	return nil
}

// makeVisible publishes what was compared.
func (p publication) makeVisible(ctx context.Context, changes warehouse.Changes) (err error) {
	r, s := p.run, p.run.session
	ctx, span := telemetry.Start(ctx, "publish")
	defer func() { span.End(err) }()
	r.report(PhaseMerging)
	mergedAt := s.now(s.local())
	prepared, err := r.writer().Prepare(ctx, changes, mergedAt)
	if err != nil {
		return err
	}
	if r.record.Written, err = r.writer().Inspect(ctx, changes, prepared); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.writer().Publish(ctx, s.lease, p.intent(mergedAt, prepared)) // syncer-4
}

// compare counts what the publication would change, and runs the checks on it.
func (p publication) compare(ctx context.Context) (changes warehouse.Changes, err error) {
	r := p.run
	ctx, span := telemetry.Start(ctx, "compare")
	defer func() { span.End(err) }()
	r.report(PhaseComparing)
	changes, err = r.writer().Plan(ctx, p.scope, r.record.Totals.Set().And(r.surplus))
	if err != nil {
		return changes, err
	}
	r.record.Changes = changes
	r.record.Duplicates = r.record.Totals.Staged - min(changes.Distinct, r.record.Totals.Staged)
	if r.record.Duplicates > 0 {
		if r.record.Clashes, err = r.writer().Clashes(ctx, r.resumed); err != nil {
			return changes, err
		}
	}
	if r.record.Clashes.Keys > 0 {
		r.warn(r.record.Clashes.Words(r.Stream))
	}
	for _, look := range p.checks {
		if err := look(ctx, &changes); err != nil {
			return changes, err
		}
	}
	r.record.Changes = changes
	return changes, nil
}

// intent completes the record of the run, and returns the intent of its publication. Once the intent is stored, the
// warehouse carries it out, whatever happens.
func (p publication) intent(mergedAt time.Time, prepared warehouse.Prepared) warehouse.Intent {
	r := p.run
	if r.Stream.Kind == catalog.Incremental && r.gap == "" {
		r.record.Watermark = p.watermark
	}
	r.record.FinishedAt, r.record.Outcome, r.publishing = mergedAt, warehouse.OutcomeSuccess, true
	if err := r.leftOpen(); err != nil {
		r.session.fail(context.Background(), &r.record, err)
	}
	if s := r.session; s.identity != "" && s.identity != s.lease.Origin() {
		if p.state == nil {
			p.state = map[string]string{}
		}
		p.state[warehouse.StateOrigin] = s.identity
	}
	if r.held != nil {
		delete(p.state, warehouse.StateScope) // rows that are outside of it stay
	}
	return warehouse.Intent{RunID: r.ID, MergedAt: mergedAt, Watermark: r.record.Watermark, Corrected: p.corrected,
		Record: r.record, State: p.state, Prepared: prepared, Last: p.last, Beside: r.beside, Ended: r.published}
}

// published moves the end of the run from the time at which it began to publish to now, and returns it. If the local
// clock was set back meanwhile, the end stays: a run does not end before the time that its rows are dated.
func (r *run) published() time.Time {
	if now := r.session.now(r.session.local()); now.After(r.record.FinishedAt) {
		r.record.FinishedAt = now
	}
	return r.record.FinishedAt
}

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
	if seen.outside > 0 && r.session.job.Params.UpdatedAfter != "" {
		r.warn(fmt.Sprintf("the service sent %d rows that were not updated after %s, which was asked for with the parameter %q: it may have another name (account.params.updated_after), which dealhouse probe looks for; all rows were kept",
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

// countedRecords is the number of records of a run that are counted field by field. In later records, only fields
// that no record had so far are looked for. This still shows whether a field has vanished, and a large stream costs
// no more than a small one.
const countedRecords = 10_000
