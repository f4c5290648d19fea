package warehouse

import (
	"context"
	"fmt"
)

// BackfillPrefix begins the names of the states of backfills in sync_state.
const BackfillPrefix = "backfill:"

// LoadBackfill is the state of a backfill that has not ended, or nil. name begins with BackfillPrefix.
func LoadBackfill[T any](ctx context.Context, w *Warehouse, account, stream, name string) (*T, error) {
	return loadJSON[T](ctx, w, account, stream, name)
}

// SaveBackfill keeps the state of a backfill where there is nothing to publish with it; otherwise it belongs into the
// Intent. An empty value forgets it.
func (w *Warehouse) SaveBackfill(ctx context.Context, r Run, name, value string) error {
	return w.saveStates(ctx, r.Account, r.Stream.Name, stateRow{name, value, 0})
}

// CountStaged is how many rows of the run are staged.
func (w *Warehouse) CountStaged(ctx context.Context, r Run) (rows uint64, err error) {
	err = w.conn.QueryRow(ctx, "SELECT count() FROM "+r.Stream.Name+"_staging WHERE run_id = {run:UUID}", named("run", r.ID.String())).Scan(&rows)
	if err != nil {
		return 0, fmt.Errorf("counting what run %s of %s has staged: %w", r.ID, r.Stream.Name, err)
	}
	return rows, nil
}

// Add sums up.
func (t *Totals) Add(o Totals) {
	t.Pages += o.Pages
	t.Read += o.Read
	t.Staged += o.Staged
	t.Rejected += o.Rejected
	t.Unloadable += o.Unloadable
	t.Noise += o.Noise
	t.Bytes += o.Bytes
	t.Retries += o.Retries
}

// Add sums up the changes of merges that followed each other; Live stays that of the first.
func (c *Changes) Add(o Changes) {
	if c.Staged == 0 && c.Live == 0 {
		c.Live = o.Live
	}
	c.Inserted += o.Inserted
	c.Updated += o.Updated
	c.Deleted += o.Deleted
	c.Unchanged += o.Unchanged
	c.Staged += o.Staged
	c.Distinct += o.Distinct
}
