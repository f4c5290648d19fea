package warehouse

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/decode"
)

var rejectColumns = append(columns("account String, stream String, key String, field String, reason String, raw String, first_seen_at DateTime64(3), seen_at DateTime64(3)"),
	column{name: "last", typ: reading})

// Reject stores values that could not be loaded as sent in rejected_records. A value is stored once (warehouse-11), so
// the same rejects can be stored again without harm.
func (w *Writer) Reject(ctx context.Context, rejects []decode.Reject) error {
	if len(rejects) == 0 {
		return nil
	}
	if err := w.keepRejects(ctx, rejects); err != nil {
		return fmt.Errorf("keeping the rejects of %s: %w", w.Stream.Name, err)
	}
	return nil
}

func (w *Writer) keepRejects(ctx context.Context, rejects []decode.Reject) error {
	if err := w.countRejects(ctx); err != nil {
		return err
	}
	version, now, err := w.rejectVersion(ctx)
	if err != nil {
		return err
	}
	return insertEach(ctx, w.pool, "rejects_log", rejectColumns, rejects, func(x decode.Reject) []any {
		last := []any{version, w.ID, x.Page, time.UnixMicro(x.Fetched).UTC(), x.Updated}
		return []any{w.Account, w.Stream.Name, x.Key, x.Field, x.Reason, x.Raw, now, now, last}
	})
}

// rejectVersion returns a version above all versions that the rejects of the stream have, even if the clock of the
// warehouse was set back: what is written now is the last reading. It also returns the time.
func (w *Writer) rejectVersion(ctx context.Context) (version uint64, now time.Time, err error) {
	err = w.pool.conn.QueryRow(ctx, selectRejectVersion, named("account", w.Account),
		named("stream", w.Stream.Name)).Scan(&version, &now)
	return version, now, err
}

// countRejects counts the readings of earlier runs, before those of this run replace them. Every step can be repeated:
// a reading that is counted is not counted again.
func (w *Writer) countRejects(ctx context.Context) error {
	id := StreamID{w.Account, w.Stream.Name}
	if last, known := w.pool.counted.Load(id); known && last == w.ID {
		return nil // all that is not counted is of this run
	}
	err := w.pool.exec(ctx, insertCounted, named("account", w.Account), named("stream", w.Stream.Name),
		named("run", w.ID.String()))
	if err == nil {
		w.pool.counted.Store(id, w.ID)
	}
	return err
}
