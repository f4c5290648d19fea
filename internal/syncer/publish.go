package syncer

import (
	"context"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// publication makes the staged rows of a run visible: it compares them with the warehouse, checks the difference, and
// publishes all at once (syncer-1). Every source ends in a publication.
type publication struct {
	run       *run
	scope     warehouse.Scope   // what it means if a row is not staged
	checks    []check           // in the order in which they run
	watermark time.Time         // to store; of a stream that has one
	corrected bool              // the stored watermark was never true
	state     map[string]string // stored with the publication (warehouse.Intent)
	last      bool              // the last publication of the session
}

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
		return r.writer().Discard(ctx)
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
	changes, err = r.writer().Plan(ctx, p.scope, r.record.Totals.Staged+r.surplus)
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
