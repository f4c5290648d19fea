package syncer

import (
	"context"
	"errors"
	"slices"
	"time"

	"dealhouse/internal/warehouse"
)

// Small windows are published together, once they have publishRows rows or publishEvery has passed.
const (
	publishRows  = 50_000
	publishEvery = 30 * time.Second
)

// publisher stages and publishes the bundles of a backfill one after the other, because a stream has only one intent.
type publisher struct {
	backfill *backfill
	pending  *bundle   // staged, to be published with more
	lastTime time.Time // local time of the last publication
	seen     *seen     // adds up what was seen of all that was published
	failed   error     // the first error, which may have left an intent behind: after it, the publisher only clears away
}

// publishAll publishes the bundles that readers hand over, until there are no more. If that fails, it calls cancel,
// which stops the readers.
func (p *publisher) publishAll(ctx context.Context, h *handover, cancel func(error)) error {
	handle := func(u *bundle, do func(context.Context, *bundle) error) {
		if err := p.handle(ctx, u, do); err != nil {
			h.fail(err)
			cancel(err)
		}
		close(u.done)
	}
	for u := h.next(); u != nil; u = h.next() {
		if u.begun {
			handle(u, p.publish)
			continue
		}
		handle(u, p.stage)
		if p.failed == nil && p.isDue() {
			handle(p.popPending(), p.publish)
		}
	}
	if p.pending != nil {
		handle(p.popPending(), p.publish)
	}
	return p.failed
}

// handle stages and publishes a bundle, or gives it up.
func (p *publisher) handle(ctx context.Context, u *bundle, do func(context.Context, *bundle) error) error {
	err := p.failed
	if err == nil {
		err = Contain(func() error { return do(ctx, u) }) // someone waits for u.done
	}
	if err == nil {
		return nil
	}
	p.failed = errors.Join(err, p.giveUp(ctx, u, err))
	return p.failed
}

// isDue reports whether the pending windows are worth publishing.
func (p *publisher) isDue() bool {
	return p.pending != nil && (p.pending.run.record.Totals.Staged >= publishRows ||
		time.Since(p.lastTime) >= publishEvery)
}

func (p *publisher) popPending() *bundle {
	u := p.pending
	p.pending, u.done = nil, make(chan struct{})
	return u
}

// giveUp ends a bundle that cannot be published.
func (p *publisher) giveUp(ctx context.Context, u *bundle, cause error) error {
	b := p.backfill
	durable := b.state.RunID == u.run.ID.String()
	if !u.begun || durable && errors.Is(cause, warehouse.ErrLeaseLost) {
		return nil // in the second case what is staged now belongs to the other worker
	}
	err := u.run.abandon(ctx, cause)
	if durable && !u.run.publishing {
		err = errors.Join(err, b.store(ctx, b.state.unstaged()))
	}
	return err
}

// stage stages small windows in one insert, and stores in the state that they need not be read again.
func (p *publisher) stage(ctx context.Context, u *bundle) error {
	b, windows, kept := p.backfill, u.windows, u.kept
	u.kept = nil
	if p.pending == nil {
		p.pending = u
	} else {
		p.pending.add(u)
	}
	u = p.pending
	if !u.begun {
		if err := u.begin(ctx); err != nil {
			return err
		}
	}
	if err := u.run.stage(ctx, kept...); err != nil {
		return err
	}
	u.run.countRefused()
	state := b.state
	state.RunID, state.Staged, state.Totals = u.run.ID.String(), state.Staged.with(windows...), u.run.record.Totals
	state.Newest = max(state.Newest, u.seen.newest)
	if err := b.store(ctx, state); err != nil {
		return err
	}
	b.meter.finish(len(windows))
	b.show()
	return nil
}

// publish publishes a bundle, and with it the state of the backfill.
func (p *publisher) publish(ctx context.Context, u *bundle) error {
	b, r := p.backfill, u.run
	staged := b.state.RunID == r.ID.String()
	state, to, err := b.after(u)
	if err != nil {
		return err
	}
	if len(u.windows) > 0 {
		r.record.RequestedAfter = b.windows[slices.Min(u.windows)].after()
	}
	p.seen.add(u.seen)
	u.seen.outside = 0 // the backfill warns of it, once
	r.notice(u.seen, time.Time{})
	if err := r.guardRejects(); err != nil {
		return err
	}
	to.run, to.scope, to.checks = r, warehouse.Part, []check{r.checkOlder}
	if err := to.publish(ctx); err != nil {
		return err
	}
	if !staged { // windows that were staged before are counted already
		b.meter.finish(len(u.windows))
	}
	b.state, p.lastTime = state, time.Now()
	b.sum(r.record)
	b.show()
	return nil
}

// sum adds what was published to the record of the backfill.
func (b *backfill) sum(r warehouse.RunRecord) {
	all := &b.session.run.record
	all.Totals.Add(r.Totals)
	all.Changes.Add(r.Changes)
	all.Written.Add(r.Written)
	all.Duplicates += r.Duplicates
	all.Clashes.Add(r.Clashes)
	all.Watermark, all.RunID, all.ServerTime = r.Watermark, r.RunID, r.ServerTime
}

// after returns the state that the backfill has once a bundle is published, and a publication that stores this state. A
// first load sets the watermark with its last window.
func (b *backfill) after(u *bundle) (progressState, publication, error) {
	state := b.state
	if state.RunID == u.run.ID.String() {
		state = state.unstaged()
	}
	state.Done = state.Done.with(u.windows...)
	state.Newest = max(state.Newest, u.seen.newest)
	text, err := state.text()
	if err != nil {
		return state, publication{}, err
	}
	p := publication{watermark: b.watermark, state: map[string]string{b.name: text}}
	if state.Done.count() < len(b.windows) {
		return state, p, nil
	}
	p.state[b.name] = ""
	// What is older than the first load is there once a backfill has read all that lies between.
	from, known := b.session.lease.LoadedFrom()
	if b.name == initialBackfill || known && state.From.Before(from) && !state.To.Before(from) {
		p.state[warehouse.StateFrom] = state.From.Format(time.RFC3339Nano)
	}
	if b.name == initialBackfill {
		read := &seen{newest: state.Newest, serverStart: state.ServerStart,
			took: b.session.now(b.session.local()).Sub(state.BegunAt)}
		p.watermark = read.watermark(b.watermark, b.session.job.overlap()) // syncer-3
		if b.publisher.seen.noDate {
			return state, p, nil
		}
		p.state[warehouse.StateClock], err = clockState(warehouse.ServiceClock{Date: state.ServerStart, At: state.BegunAt})
	}
	return state, p, err
}
