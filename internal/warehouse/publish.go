package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// Publish makes the prepared delta visible and moves the state on, in steps of which each can be repeated: the intent
// is durable first, so that whoever comes after a crash finishes the work (warehouse-2). After an error the run must
// not be discarded: Recover carries the intent out.
//
// The lease is checked once more when the intent is durable: a worker that lost it in between withdraws, and returns
// ErrLeaseLost.
func (w *Writer) Publish(ctx context.Context, l *Lease, in Intent) error {
	in.Derived = derivedNames(w.Stream)
	if w.Stream.Child != nil {
		in.Derived = append(in.Derived, childHashes(w.Stream))
	}
	if err := w.saveJSON(ctx, w.Run, intentName(w.ID), in); err != nil {
		return err
	}
	p := publication{w, l, in, false}
	if err := l.Check(ctx); err != nil {
		if errors.Is(err, ErrLeaseLost) {
			return errors.Join(err, p.withdraw(ctx, err))
		}
		return err
	}
	err := p.finish(ctx)
	if errors.Is(err, errDeltaGone) {
		return errors.Join(ErrLeaseLost, err, p.withdraw(ctx, err))
	}
	return err
}

// publication is the carrying out of an intent.
type publication struct {
	*Writer
	lease  *Lease
	intent Intent
	begun  bool // an earlier attempt may have attached something
}

// errDeltaGone says that what was to be attached is not there, or not any more in the structure of the table. The
// intent is withdrawn before a delta is dropped, so another worker took the run for dead before its intent was durable,
// or has migrated since.
var errDeltaGone = errors.New("what the run had prepared has been dropped, or is older than a migration")

const codeIncompatibleColumns = 122 // of a table and a delta that was made before a column was added

// withdraw forgets an intent that will not be carried out. The watermark has not moved, so whatever the run has read
// is read again.
func (p publication) withdraw(ctx context.Context, cause error) error {
	record := p.intent.Record
	record.Outcome, record.Error, record.Changes = OutcomeFailed, cause.Error(), Changes{}
	if err := p.SaveRun(ctx, record); err != nil {
		return err
	}
	return p.save(ctx, stateRow{intentName(p.ID), "", 0})
}

// finish does what the intent says, in the order in which a crash between two steps does no harm (warehouse-2).
func (p publication) finish(ctx context.Context) error {
	for _, t := range p.targets() {
		if err := p.attach(ctx, t); err != nil {
			return fmt.Errorf("publishing run %s to %s: %w", p.ID, t.table, err)
		}
	}
	if err := p.SaveRun(ctx, p.intent.Record); err != nil {
		return err
	}
	if err := p.save(ctx, p.intent.states(p.ID)...); err != nil {
		return err
	}
	if err := p.Discard(ctx); err != nil {
		// The run is done. What it leaves behind is for the next holder of the lease.
		p.log.Warn("could not clear up after a run", "run_id", p.ID, "stream", p.Stream.Name, "error", err)
		p.lease.untidy = true
	}
	return nil
}

// target is a table that a delta is attached to.
type target struct{ table, delta string }

// targets are the tables that the run changes, in the order in which they are.
func (p publication) targets() []target {
	var targets []target
	names := p.script.names
	if p.intent.Record.Changes.Any() {
		if p.Stream.History {
			targets = append(targets, target{names["versions"], names["delta"]})
		}
		targets = append(targets, target{names["latest"], names["delta"]})
		targets = append(targets, p.derivedTargets()...)
	}
	if p.Stream.Child != nil {
		targets = append(targets, target{names["child_latest"], names["child_delta"]})
		if slices.Contains(p.intent.Derived, names["child_hashes"]) { // an intent of an older version has none
			targets = append(targets, target{names["child_hashes"], names["child_hashes_delta"]})
		}
	}
	return targets
}

// states are what becomes true of the stream when the run is published.
func (in Intent) states(run uuid.UUID) []stateRow {
	states := []stateRow{{intentName(run), "", 0}}
	if !in.Beside {
		states = append(states, stateRow{stateCheckpoint, "", 0})
	}
	if !in.Watermark.IsZero() {
		states = append(states, watermarkRow(in.Watermark))
	}
	for name, value := range in.State {
		states = append(states, stateRow{name, value, 0})
	}
	return states
}

// attach attaches a delta, unless an earlier attempt has attached all of it: only then is it worth a look at the whole
// table. Readers see the parts of one statement at once, but a process that is killed may leave some of them: then all
// are attached again, which changes nothing for the rows that are there, since equal versions are one. The delta
// outlives the intent, so one that is missing is errDeltaGone and never taken for an empty one.
func (p publication) attach(ctx context.Context, t target) error {
	statement := attachDelta(t.table, t.delta)
	return p.retry(ctx, statement, func() error {
		if p.begun {
			if all, err := p.isAttached(ctx, t); all || err != nil {
				return goneDelta(err)
			}
		}
		p.begun = true
		return goneDelta(p.conn.Exec(p.write(ctx), statement))
	})
}

// isAttached reports whether the table has all rows of the delta.
func (p publication) isAttached(ctx context.Context, t target) (bool, error) {
	var want, have uint64
	err := p.conn.QueryRow(ctx, countAttached(t.table, t.delta), named("account", p.Account), named("run", p.ID.String())).Scan(&want, &have)
	return have >= want, err
}

// goneDelta makes an errDeltaGone of an error that says so.
func goneDelta(err error) error {
	if e, ok := errors.AsType[*clickhouse.Exception](err); IsMissing(err) || ok && e.Code == codeIncompatibleColumns {
		return fmt.Errorf("%w: %w", errDeltaGone, err)
	}
	return err
}

// Discard drops what a run has staged and prepared.
func (w *Writer) Discard(ctx context.Context) error {
	names := w.script.names
	tables := []string{names["changes"], names["delta"]}
	for _, t := range derivedTables(w.Stream) {
		tables = append(tables, w.dialect.ofRun(w.derivedDelta(t.table)))
	}
	if w.Stream.Child != nil {
		tables = append(tables, names["child_delta"], names["child_hashes_delta"])
	}
	for _, table := range tables {
		if err := w.exec(ctx, dropTable(table)); err != nil {
			return fmt.Errorf("dropping %s: %w", table, err)
		}
	}
	return w.DropStaging(ctx)
}

// DropStaging drops the rows of a run that are staged.
func (w *Writer) DropStaging(ctx context.Context) error {
	table := w.script.names["staging"]
	if err := w.exec(ctx, w.script.dropStaged(table)); err != nil {
		return fmt.Errorf("dropping run %s from %s: %w", w.ID, table, err)
	}
	return nil
}
