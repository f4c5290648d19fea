package warehouse

import (
	"context"
	"errors"
	"fmt"

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
