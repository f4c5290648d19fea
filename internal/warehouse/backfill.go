package warehouse

import "context"

// BackfillPrefix begins the names of the states of backfills in sync_state.
const BackfillPrefix = "backfill:"

// ReadBackfill returns the state of a backfill that was unfinished when the lease was taken, or nil. name begins with
// BackfillPrefix.
func ReadBackfill[T any](l *Lease, name string) (*T, error) {
	return parseState[T](l.account, l.stream, name, l.state(name))
}

// SaveBackfill stores the state of a backfill when there is nothing to publish with it. Otherwise the state belongs in
// the Intent. An empty value removes it.
func (w *Writer) SaveBackfill(ctx context.Context, name, value string) error {
	return w.save(ctx, stateRow{name, value, 0})
}

// Add adds the numbers of o.
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

// Add adds the changes of a later merge. Live stays that of the first merge.
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
