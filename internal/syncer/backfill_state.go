package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/warehouse"
)

// initialBackfill names the state of the backfill that is a stream's first sync.
const initialBackfill = warehouse.BackfillPrefix + "initial"

// stateName returns the name of the state of a backfill. A backfill continues an earlier one of
// the same range and window.
func stateName(r Range) string {
	return fmt.Sprintf("%s%s/%s/%s", warehouse.BackfillPrefix, r.From.Format(time.RFC3339Nano),
		r.To.Format(time.RFC3339Nano), r.Window)
}

// has reports whether a window need not be read.
func (s *progressState) has(window int) bool { return s.Done.has(window) || s.Staged.has(window) }

// count returns the number of windows that need not be read.
func (s *progressState) count() int { return s.Done.count() + s.Staged.count() }

// isOf reports whether the backfill was begun on the present service: windows that another service returned are not
// done here.
func (s *progressState) isOf(origin string) bool { return s.Origin == "" || s.Origin == origin }

// unstaged returns the state without its staged load.
func (s progressState) unstaged() progressState {
	s.RunID, s.Staged, s.Totals = "", nil, warehouse.Totals{}
	return s
}

// store saves the state by itself, without a publication.
func (b *backfill) store(ctx context.Context, s progressState) error {
	if err := b.session.lease.Check(ctx); err != nil {
		return err
	}
	text, err := s.text()
	if err != nil {
		return err
	}
	if err := b.session.run.writer().SaveBackfill(ctx, b.name, text); err != nil {
		return err
	}
	b.state = s
	return nil
}

func (s *progressState) text() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("writing the state of a backfill: %w", err)
	}
	return string(text), nil
}

// restore returns the bundle that an interrupted backfill had staged, nil if there is none. Rows that were staged
// after the state was last saved belong to windows that will be read again: they do no harm. If rows are missing,
// the windows are read again.
func (b *backfill) restore(ctx context.Context) (*bundle, error) {
	if b.state.RunID == "" {
		return nil, nil
	}
	id, err := uuid.Parse(b.state.RunID)
	if err != nil {
		return nil, fmt.Errorf("reading the state %s: %w", b.name, err)
	}
	u, err := b.newBundle()
	if err != nil {
		return nil, err
	}
	r := u.run
	r.ID, r.record.RunID = id, id
	staged, err := r.writer().CountStaged(ctx)
	if err != nil {
		return nil, err
	}
	if staged.Rows < b.state.Totals.Staged {
		b.session.log.Warn("the staged rows of an interrupted backfill are gone: reading them again", "run_id", id)
		b.state = b.state.unstaged()
		return nil, r.writer().Discard(ctx)
	}
	u.windows, r.record.Totals, u.seen.newest = b.state.Staged.numbers(), b.state.Totals, b.state.Newest
	r.surplus = staged.Without(b.state.Totals.Set())
	return u, u.begin(ctx)
}

// Small windows are published together, once they have publishRows rows or publishEvery has passed: what is staged need
// not be read again, so few publications cost nothing but the wait for what is read.
const (
	publishRows  = 200_000
	publishEvery = 30 * time.Second
)

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
