package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dealhouse/internal/catalog"
)

// Publish makes the prepared delta visible and then moves the state. Each of its steps can be repeated, and the intent
// is durable first, so that whoever comes after a crash finishes the work (warehouse-2). After an error the run must
// not be discarded: Recover carries the intent out.
//
// The lease is checked first, unless it was found to be held a moment ago. It is always checked again when the intent
// is durable: a worker that has lost it by then withdraws, and returns ErrLeaseLost.
func (w *Writer) Publish(ctx context.Context, l *Lease, in Intent) error {
	in.divide(derivedNames(w.Stream))
	if w.Stream.Child != nil {
		in.Derived = append(in.Derived, childHashes(w.Stream))
	}
	if !in.Watermark.IsZero() {
		in.Rank = l.rank(in)
	}
	if err := w.certify(ctx, l, &in); err != nil {
		l.untidy = true // nothing was published, and what was prepared is still there
		return err
	}
	p := publication{Writer: w, lease: l, intent: in}
	if !in.Record.Changes.Any() && w.Stream.Child == nil {
		return p.endUnchanged(ctx)
	}
	if err := l.recheck(ctx); err != nil { // a worker that lost the lease long ago then leaves no intent to withdraw
		return err
	}
	text, err := json.Marshal(in)
	if err == nil {
		err = l.save(ctx, stateRow{intentName(w.ID), string(text), 0})
	}
	if err != nil {
		return fmt.Errorf("writing the intent of run %s of %s: %w", w.ID, w.Stream.Name, err)
	}
	if p.reading, err = l.check(ctx, w.ID); err != nil {
		if errors.Is(err, ErrLeaseLost) {
			return errors.Join(err, p.withdraw(ctx, err))
		}
		return err
	}
	err = p.finish(ctx)
	if errors.Is(err, errDeltaGone) {
		return errors.Join(ErrLeaseLost, err, p.withdraw(ctx, err))
	}
	return err
}

// endUnchanged ends a run that has changed nothing. Nothing is attached, so it needs no intent. The run's row is stored
// first, then what it leaves behind is dropped, and the state is stored last. After a crash in between, the next run
// reads the same again, and no other harm is done.
func (p publication) endUnchanged(ctx context.Context) (err error) {
	if p.reading, err = p.lease.check(ctx, p.ID); err != nil {
		return err
	}
	if err := p.saveRow(ctx); err != nil {
		return err
	}
	if err := p.dropUnchanged(ctx); err != nil {
		p.leave(err)
	}
	states := p.intent.states(p.ID)
	if p.intent.Last && p.Stream.Kind != catalog.Walk { // walks and backfills write over what the lease found
		states = slices.DeleteFunc(states, func(s stateRow) bool { return s.value == p.lease.state(s.name) })
	}
	p.lease.certificate = p.intent.Record.Certificate
	if p.intent.Last {
		p.lease.pending, p.lease.settled = states, p.reading.local
		return nil
	}
	if len(states) == 0 {
		return nil
	}
	return p.lease.save(ctx, states...)
}

// dropUnchanged drops what a run that has changed nothing leaves behind.
func (p publication) dropUnchanged(ctx context.Context) error {
	if p.intent.Record.Changes.Same {
		return p.DropStaging(ctx)
	}
	return p.drop(ctx, []string{p.script.names["changes"]})
}

// leave logs that a run could not clean up after itself, and leaves that to the next holder of the lease.
func (p publication) leave(err error) {
	p.pool.log.Warn("could not clean up after a run", "run_id", p.ID, "stream", p.Stream.Name, "error", err)
	p.lease.untidy = true
}

// withdraw forgets an intent that will not be carried out. The watermark has not moved, so whatever the run has read
// is read again.
func (p publication) withdraw(ctx context.Context, cause error) error {
	record := p.intent.Record
	record.Outcome, record.Error, record.Changes = OutcomeFailed, cause.Error(), Changes{}
	record.Certificate, record.Signature = "", ""
	if err := p.pool.saveRun(ctx, record); err != nil {
		return err
	}
	return p.save(ctx, stateRow{intentName(p.ID), "", 0})
}

// finish does what the intent says, in the order in which a crash between two steps does no harm (warehouse-2).
func (p publication) finish(ctx context.Context) error {
	if err := p.attachAll(ctx); err != nil {
		return fmt.Errorf("publishing run %s of %s: %w", p.ID, p.Stream.Name, err)
	}
	if err := p.saveRow(ctx); err != nil {
		return err
	}
	if err := p.lease.save(ctx, slices.Concat(p.intent.states(p.ID), p.intent.live(p.Stream), p.derivedState())...); err != nil {
		return err
	}
	p.lease.certificate = p.intent.Record.Certificate
	if err := p.Discard(ctx); err != nil {
		p.leave(err)
	}
	return nil
}

// saveRow writes the row of the run. If the row that is there was read before, the new one replaces it. What the run
// changes is attached by then. The run is dated as ended now only if the lease is still held: a worker that was paused
// and lost the stream must not date its run after what the next one has read.
func (p publication) saveRow(ctx context.Context) error {
	record := p.intent.Record
	if p.intent.Ended != nil && p.stillHeld(ctx) == nil {
		record.FinishedAt = p.intent.Ended()
	}
	if p.reading.local.IsZero() {
		return p.pool.saveRun(ctx, record)
	}
	return p.pool.insertRun(ctx, record, laterOf(p.reading.clock(), p.reading.runVersion))
}

// attachAll attaches the deltas, and checks before and after that no row is missing: a server that lacks the rows of a
// delta attaches nothing, and reports success (warehouse-16).
func (p publication) attachAll(ctx context.Context) error {
	targets := p.targets()
	if len(targets) == 0 {
		return nil
	}
	counts, err := p.countTargets(ctx, targets)
	if err == nil {
		err = p.checkDeltas(targets, counts)
	}
	for again := p.pool.dialect.attempts(); err == nil && again > 0; again-- {
		for _, t := range targets {
			if err == nil {
				err = p.attach(ctx, t)
			}
		}
		if err == nil {
			err = p.checkAttached(ctx, targets)
		}
		if _, missing := errors.AsType[*PublishedError](err); missing && again > 1 {
			p.begun, err = true, nil
		}
	}
	return err
}

// attach attaches a delta, unless an earlier attempt has attached all of it. Only if there may have been such an
// attempt does it look for the rows in the whole table. Readers see the parts of one statement at once, but a server
// that is killed may come back with only some of them. Then those that are missing are attached: partition by partition
// if the table has several, else all parts again, which changes nothing for the rows that are there, since equal
// versions are one. The delta outlives the intent, so a missing delta is errDeltaGone and never taken for an empty one.
func (p publication) attach(ctx context.Context, t target) error {
	statement := p.pool.dialect.attachDelta(p.Stream, t.table, t.delta)
	if t.key != "" { // the rows replace equal ones, so attaching them again changes nothing
		statement = attachDerived(t.table, t.delta, p.Account)
		return p.pool.retry(ctx, statement, func() error {
			if err := p.stillHeld(ctx); err != nil {
				return err
			}
			return goneDelta(p.pool.conn.Exec(p.pool.write(ctx), statement))
		})
	}
	return p.pool.retry(ctx, statement, func() error {
		if err := p.stillHeld(ctx); err != nil {
			return err
		}
		if p.begun {
			if missing, err := p.isMissing(ctx, t); !missing || err != nil {
				return err
			}
			if p.pool.dialect.byMonth(p.Stream) {
				return p.attachMissing(ctx, t)
			}
		}
		p.begun = true
		return goneDelta(p.pool.conn.Exec(p.pool.write(ctx), statement))
	})
}

// attachMissing attaches the months of a delta that the table lacks. If it has none of them, they are attached at once.
func (p publication) attachMissing(ctx context.Context, t target) error {
	type month struct {
		id      string
		missing bool
	}
	rows, err := p.pool.conn.Query(ctx, selectMonths(t), named("account", p.Account), named("run", p.ID.String()))
	months, err := scanned(rows, err, func(m *month) []any { return []any{&m.id, &m.missing} })
	if err != nil {
		return goneDelta(fmt.Errorf("looking which months were published: %w", err))
	}
	if !slices.ContainsFunc(months, func(m month) bool { return !m.missing }) {
		return goneDelta(p.pool.conn.Exec(p.pool.write(ctx), p.pool.dialect.attachDelta(p.Stream, t.table, t.delta)))
	}
	for _, m := range months {
		if !m.missing {
			continue
		}
		if err := p.pool.conn.Exec(p.pool.write(ctx), attachMonth(t, m.id)); err != nil {
			return goneDelta(err)
		}
	}
	return nil
}

// stillHeld returns an error if another worker has taken the stream over while an attachment waited or was tried again.
// On replicas the next worker cannot drop what this one has prepared, since that is on another server (warehouse-20).
func (p publication) stillHeld(ctx context.Context) error {
	if p.lease == nil {
		return nil
	}
	return p.lease.recheck(ctx)
}

// Discard drops what a run has staged and prepared.
func (w *Writer) Discard(ctx context.Context) error {
	return w.drop(ctx, append(w.prepared(), w.script.names["changes"]))
}

// drop drops tables of the run, and what it has staged.
func (w *Writer) drop(ctx context.Context, tables []string) error {
	if err := w.pool.exec(ctx, dropTable(tables...)); err != nil {
		return fmt.Errorf("dropping what run %s has prepared: %w", w.ID, err)
	}
	return w.DropStaging(ctx)
}

// DropStaging drops the rows of a run that are staged.
func (w *Writer) DropStaging(ctx context.Context) error {
	table := w.script.names["staging"]
	if err := w.pool.exec(ctx, w.script.dropStaged(table)); err != nil {
		return fmt.Errorf("dropping run %s from %s: %w", w.ID, table, err)
	}
	return nil
}
