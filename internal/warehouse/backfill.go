package warehouse

import "context"

// BackfillPrefix begins the names of the states of backfills in sync_state.
const BackfillPrefix = "backfill:"

// ReadBackfill returns the state of a backfill that was unfinished when the lease was taken, or nil. name begins with
// BackfillPrefix.
func ReadBackfill[T any](l *Lease, name string) (*T, error) {
	return parseState[T](l.account, l.stream, name, l.state(name))
}

// SaveBackfill stores the state of a backfill if there is nothing to publish with it; otherwise the state belongs into
// the Intent. An empty value removes it.
func (w *Writer) SaveBackfill(ctx context.Context, name, value string) error {
	return w.save(ctx, stateRow{name, value, 0})
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
	c.Older += o.Older
	c.Ahead += o.Ahead
}
