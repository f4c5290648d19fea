package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// RecoverAll finishes what runs that died had begun to publish, in all streams and accounts, without waiting for the
// next run of each. It returns the intents that readers see now. If another worker has the lease of a stream, the
// stream is left to that worker. A stream that cannot be finished, or is not in the catalog, does not delay the others;
// the error joins those of all streams.
func (w *Warehouse) RecoverAll(ctx context.Context) (recovered []Intent, err error) {
	var errs []error
	for _, shard := range w.each() {
		finished, err := shard.recoverAll(ctx)
		recovered = append(recovered, finished...)
		errs = append(errs, err)
	}
	return recovered, errors.Join(errs...)
}

// FinishInterrupted does the same for a command that only reads, if the schema is that of this binary. An engine that
// was killed may come back with a part of what a run had begun to publish, and nobody else would finish it before the
// command reads.
func (w *Warehouse) FinishInterrupted(ctx context.Context) error {
	var open uint64
	for _, shard := range w.each() {
		var here uint64
		if err := shard.conn.QueryRow(ctx, countInterrupted).Scan(&here); err != nil && !IsMissing(err) {
			return fmt.Errorf("looking for runs that were interrupted: %w", err)
		}
		open += here
	}
	if open == 0 || w.CheckSchema(ctx) != nil {
		return nil //nolint:nilerr // whoever reads says what is wrong with the schema
	}
	_, err := w.RecoverAll(ctx)
	return err
}

func (w *Warehouse) recoverAll(ctx context.Context) (recovered []Intent, err error) {
	rows, err := w.conn.Query(ctx, selectInterrupted)
	open, err := scanned(rows, err, func(id *StreamID) []any { return []any{&id.Account, &id.Stream} })
	if err != nil {
		return nil, fmt.Errorf("looking for runs that were interrupted: %w", err)
	}
	var errs []error
	for _, id := range open {
		finished, err := w.recoverStream(ctx, id)
		recovered = append(recovered, finished...)
		errs = append(errs, err)
	}
	return recovered, errors.Join(errs...)
}

// recoverStream finishes what was interrupted of one stream, if it is free.
func (w *Warehouse) recoverStream(ctx context.Context, id StreamID) (recovered []Intent, err error) {
	s, err := catalog.Find(id.Stream)
	if err != nil {
		return nil, err
	}
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: id.Account, Stream: s}
	recovered, err = w.recoverAs(ctx, r)
	var held *HeldError
	if errors.As(err, &held) || errors.Is(err, ErrLeaseLost) {
		w.log.Info("an interrupted run is left to the worker that has its stream", "account", id.Account,
			"stream", id.Stream, "reason", err)
		return recovered, nil
	}
	return recovered, err
}

func (w *Warehouse) recoverAs(ctx context.Context, r Run) (recovered []Intent, err error) {
	l, err := w.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	r.StartedAt = l.Begun()
	if recovered, err = w.Writer(r).Recover(ctx, l, r.ID); err != nil {
		return recovered, errors.Join(err, l.Expire(context.WithoutCancel(ctx)))
	}
	return recovered, l.Release(context.WithoutCancel(ctx))
}

// DerivedOf lists the streams of accounts that have derived tables, with the names of these.
func (w *Warehouse) DerivedOf(ctx context.Context) (map[StreamID][]string, error) {
	all := map[StreamID][]string{}
	for _, s := range catalog.All() {
		tables := derivedNames(s)
		if len(tables) == 0 {
			continue
		}
		accounts, err := w.accountsOf(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, account := range accounts {
			all[StreamID{account, s.Name}] = tables
		}
	}
	return all, nil
}

// RebuildDerived makes the derived tables of a stream of an account again from its rows. It waits some minutes for a
// run that is under way. If the run takes longer, it returns a *HeldError.
func (w *Warehouse) RebuildDerived(ctx context.Context, id StreamID) error {
	return w.holding(ctx, id, func(w *Writer) error {
		// If the process dies in between, the next holder of the lease starts over.
		if err := w.save(ctx, stateRow{stateDerived, "", 0}); err != nil {
			return err
		}
		if err := w.rebuildDerived(ctx); err != nil {
			return err
		}
		if err := w.recountLive(ctx); err != nil {
			return err
		}
		return w.save(ctx, stateRow{stateDerived, strings.Join(derivedNames(w.Stream), " "), 0})
	})
}

// CheckDerived compares the derived tables of a stream of an account with what they would be if they were rebuilt,
// and names those that differ. It waits for runs as RebuildDerived does.
func (w *Warehouse) CheckDerived(ctx context.Context, id StreamID) (wrong []string, err error) {
	if s, err := catalog.Find(id.Stream); err != nil || len(derivedTables(s)) == 0 {
		return nil, err
	}
	err = w.holding(ctx, id, func(w *Writer) error {
		for _, t := range derivedTables(w.Stream) {
			same, err := w.isAsRebuilt(ctx, t)
			if err != nil {
				return fmt.Errorf("comparing %s of account %s with what follows from the rows: %w",
					t.table, w.Account, err)
			}
			if !same {
				wrong = append(wrong, t.table)
			}
		}
		return nil
	})
	return wrong, err
}

// holding takes the lease of a stream, finishes what dead runs had begun, and calls do.
func (w *Warehouse) holding(ctx context.Context, id StreamID, do func(*Writer) error) error {
	s, err := catalog.Find(id.Stream)
	if err != nil {
		return err
	}
	w = w.At(id.Account)
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: id.Account, Stream: s}
	l, err := w.await(ctx, r)
	if err != nil {
		return err
	}
	r.StartedAt = l.Begun()
	writer := w.Writer(r)
	if _, err = (recovery{writer, l, r.ID}).finishIntents(ctx); err == nil {
		err = do(writer)
	}
	return giveBack(ctx, l, err)
}

// giveBack gives a lease back after the work under it. If that failed, the rest is left to the next holder.
func giveBack(ctx context.Context, l *Lease, err error) error {
	if err != nil {
		return errors.Join(err, l.Expire(context.WithoutCancel(ctx)))
	}
	return l.Release(context.WithoutCancel(ctx))
}
