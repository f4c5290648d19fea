package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// from decides after which updatedAt to read (zero: everything), and returns the stored watermark.
func (r *run) from() (after, watermark time.Time, err error) {
	if r.Stream.Kind != catalog.Incremental {
		return time.Time{}, time.Time{}, nil
	}
	watermark, err = r.lease.Watermark()
	switch {
	case err != nil || r.job.Full:
		return time.Time{}, watermark, err
	case watermark.IsZero():
		if r.job.InitialFrom.IsZero() {
			return time.Time{}, watermark, nil
		}
		return r.job.InitialFrom.Add(-time.Millisecond), watermark, nil
	}
	return r.overlapping(watermark), watermark, nil
}

// read stages the whole list. When fetching ends, no more is asked for; ctx is there for what was read by then.
func (r *run) read(ctx, fetching context.Context, after time.Time) (*seen, error) {
	r.report(PhaseReading)
	start := ""
	if r.checkpoint != nil {
		start, r.batches, r.record.Totals = r.checkpoint.Next, r.checkpoint.Batch, r.checkpoint.Totals
		r.log.Info("going on from the checkpoint", "run_id", r.ID, "rows", r.record.Totals.Read)
	}
	seen, err := r.readChain(ctx, fetching, after, start)
	var api *dealapi.Error
	if r.Stream.Paging != catalog.NextPages || !errors.As(err, &api) || !api.CursorRefused() {
		seen.still = seen.still && start == "" // the pages before a checkpoint are of other moments
		return seen, err                       // a chain of cursors mends itself
	}
	r.log.Warn("the service no longer knows the page: the list is read from its beginning", "error", err)
	if err := r.startOver(ctx); err != nil {
		return nil, err
	}
	return r.readChain(ctx, fetching, after, "")
}

// catchUp reads what has changed since a run began that reads all of a stream with a filter: an item that changes may
// move to a page that was read already, and would look as if it were gone. It reads in ranges of time, since what changes
// meanwhile moves to a range that is read later (sweep). Where that is not possible, nothing is deleted.
func (r *run) catchUp(ctx, fetching context.Context, s *seen) error {
	if r.Stream.Kind != catalog.Incremental || !r.job.Full || s.gap != "" || s.still || s.rising {
		return nil
	}
	more, err := r.readPages(ctx, fetching, r.overlapping(s.start()), (*chain).sweep)
	if err != nil {
		return err
	}
	more.outside = 0 // it is the incremental runs that say so
	s.add(more)
	if more.gap != "" {
		s.unsure = true
		r.warn("rows that are gone were not deleted: what changed while the list was read could not be told, since " + more.gap)
	}
	return nil
}

// overlapping is the time to ask after, so that all that changed since t is read: the overlap earlier, and one
// millisecond more, since the API leaves out what changed exactly then.
func (r *run) overlapping(t time.Time) time.Time {
	return t.Add(-r.job.overlap() - time.Millisecond)
}

// startOver forgets what was staged. Batch numbers go on, since a number is used once (syncer-5).
func (r *run) startOver(ctx context.Context) error {
	r.record.Totals = warehouse.Totals{Retries: r.record.Totals.Retries}
	r.checkpoint, r.surplus = nil, 0
	dropped := r.warehouse.DropStaging(ctx, r.Stream, r.ID)
	if r.job.DryRun {
		return dropped
	}
	return errors.Join(r.warehouse.ClearCheckpoint(ctx, r.Run), dropped)
}

// filled is a batch that is ready to be staged, with what is true once it is.
type filled struct {
	batch  *decode.Batch
	next   string // page after the batch
	last   bool   // no batch follows
	totals warehouse.Totals
}

// readChain reads one chain of pages.
func (r *run) readChain(ctx, fetching context.Context, after time.Time, start string) (*seen, error) {
	return r.readPages(ctx, fetching, after, func(c *chain) error { return c.read(start) })
}

// readPages lets a chain read what it has to. Decoding and staging work side by side: two batches go round between them, so
// memory is bounded whatever the list's length.
func (r *run) readPages(ctx, fetching context.Context, after time.Time, read func(*chain) error) (*seen, error) {
	group, staging := errgroup.WithContext(ctx)
	fetching, stop := context.WithCancelCause(fetching)
	defer stop(nil)
	defer context.AfterFunc(staging, func() { stop(context.Cause(staging)) })()
	full, empty := make(chan filled), make(chan *decode.Batch, 2)
	empty <- decode.NewBatch(r.Stream)
	empty <- decode.NewBatch(r.Stream)
	s := newSeen()
	group.Go(func() error {
		defer close(full)
		return contain(func() error {
			return (&pager{run: r, staging: staging, fetching: fetching, seen: s, after: after, full: full, empty: empty, decoder: decode.New(r.Stream)}).read(read)
		})
	})
	// When the reading fails, the batch in hand is still staged: a walk goes on after it, and nothing arrives later.
	group.Go(func() error { return contain(func() error { return r.stageBatches(ctx, full, empty) }) })
	err := group.Wait()
	r.countRefused()
	return s, err
}

// pager decodes pages into batches, and hands these to whoever stages them.
type pager struct {
	*run
	//nolint:containedctx // a pager lives for one call
	staging context.Context // ends when no more batches are taken
	//nolint:containedctx // the same
	fetching context.Context // ends when no more is to be asked for
	seen     *seen
	after    time.Time // updatedAt after which rows are asked for; zero: all
	full     chan<- filled
	empty    <-chan *decode.Batch
	decoder  *decode.Decoder
	batch    *decode.Batch // in hand; nil: none
	fetched  int64         // time of reading of the last page
	next     string        // page after the batch in hand
}

// read reads the list, and stages what is left at the end.
func (d *pager) read(read func(*chain) error) error {
	c := newChain(d)
	err := read(c)
	d.seen.learn(c)
	d.seen.after = d.after
	// A walk goes on from its last batch, so what is in hand is made one (syncer-7).
	if err != nil && (d.Stream.Kind != catalog.Walk || d.job.DryRun) || d.batch == nil || d.batch.Records == 0 {
		return err
	}
	return errors.Join(err, d.flush(err == nil))
}

// page decodes a page into the batch in hand.
func (d *pager) page(page *dealapi.Page) (span, error) {
	if d.batch == nil {
		select {
		case d.batch = <-d.empty:
		case <-d.fetching.Done():
			return span{}, context.Cause(d.fetching)
		}
	}
	d.seen.see(page)
	if page.Number == 1 {
		d.metrics.compareClocks(d.run, page)
	}
	d.metrics.page(d.run)
	// Two pages never share a time of reading: of two reads of one record, one is the later.
	d.fetched = max(d.fetched+1, d.now(page.SentAt).UnixMicro())
	from := d.batch.Len()
	if err := d.decode(d.decoder, d.batch, page, uint32(d.record.Totals.Pages)+1, d.fetched); err != nil {
		return span{}, err
	}
	d.next = page.Next
	d.report(PhaseReading)
	return span{batch: d.batch, from: from, to: d.batch.Len(), first: decode.FirstKey(d.Stream, page.Data)}, nil
}

// flushFull hands the batch over once it is full.
func (d *pager) flushFull() error {
	if d.batch.Len() < d.job.BatchRows && d.batch.Bytes < d.job.BatchBytes {
		return nil
	}
	return d.flush(false)
}

func (d *pager) flush(last bool) error {
	d.seen.note(d.batch, d.after, d.before)
	if d.strict && 2*d.seen.outside > d.seen.rows {
		return errUnfiltered
	}
	select {
	case d.full <- filled{batch: d.batch, next: d.next, last: last, totals: d.record.Totals}:
		d.batch = nil
		return nil
	case <-d.staging.Done():
		return context.Cause(d.staging)
	}
}

func (r *run) decode(d *decode.Decoder, b *decode.Batch, page *dealapi.Page, number uint32, fetched int64) error {
	r.record.Totals.Bytes += uint64(page.Bytes)
	r.record.Totals.Retries += uint64(page.Retries)
	return r.tally(b, func() error { return d.Page(b, page.Data, number, fetched) })
}

// tally counts what decoding a page adds to the batch.
func (r *run) tally(b *decode.Batch, decode func() error) error {
	records, rows, rejects, noise := b.Records, b.Len(), len(b.Rejects), b.Noise
	if err := decode(); err != nil {
		return fmt.Errorf("account %s: %w", r.Account, err)
	}
	t := &r.record.Totals
	t.Pages++
	t.Read += uint64(b.Records - records)
	t.Staged += uint64(b.Len() - rows)
	t.Unloadable += uint64(b.Records - records - (b.Len() - rows))
	t.Rejected += uint64(len(b.Rejects) - rejects)
	t.Noise += uint64(b.Noise - noise)
	return nil
}

// stageBatches writes batches until there are no more.
func (r *run) stageBatches(ctx context.Context, full <-chan filled, empty chan<- *decode.Batch) error {
	stage := r.stage
	if r.window != nil {
		stage = r.window.stageWindow
	}
	for f := range full {
		if err := stage(ctx, f); err != nil {
			return err
		}
		if !f.last { // the last batch is not needed again, and may be kept
			f.batch.Reset()
			empty <- f.batch
		}
	}
	return nil
}

// stage writes a batch, and saves the place of a walk after it.
func (r *run) stage(ctx context.Context, f filled) error {
	r.batches++
	if err := r.stageRows(ctx, f.batch); err != nil || r.job.DryRun {
		return err
	}
	if r.Stream.Kind == catalog.Walk && f.next != "" {
		c := warehouse.Checkpoint{RunID: r.ID, StartedAt: r.StartedAt, SavedAt: r.now(r.local()), Next: f.next, Batch: r.batches, Totals: r.refused.of(f.totals)}
		if err := r.warehouse.SaveCheckpoint(ctx, r.Run, c); err != nil {
			return err
		}
		r.checkpoint = &c
	}
	return nil
}

// stageRows writes batches as the current one, and keeps what cannot be loaded: what the decoder left out, and what the
// warehouse refuses.
func (r *run) stageRows(ctx context.Context, batches ...*decode.Batch) error {
	refused, err := r.warehouse.Stage(ctx, r.Run, r.batches, batches...)
	var poisoned *warehouse.RefusedError
	if errors.As(err, &poisoned) {
		return &GuardError{Account: r.Account, Stream: r.Stream.Name, Guard: GuardRejects, Reason: poisoned.Error(),
			Advice: "nothing was changed; look at the constraints and the columns of " + poisoned.Table + "_staging"}
	}
	if err != nil {
		return err
	}
	r.refused.add(refused)
	if r.job.DryRun {
		return nil
	}
	for _, b := range batches {
		refused = append(refused, b.Rejects...)
	}
	return r.warehouse.Reject(ctx, r.Run, refused)
}

// refused counts what the warehouse did not take. The goroutine that stages counts, while the record belongs to the one
// that reads.
type refused struct{ records, all uint64 }

func (n *refused) add(rejects []decode.Reject) {
	n.all += uint64(len(rejects))
	for _, x := range rejects {
		if x.Field == "" {
			n.records++
		}
	}
}

// of corrects what the decoder counted.
func (n refused) of(t warehouse.Totals) warehouse.Totals {
	t.Staged -= n.records
	t.Unloadable += n.records
	t.Rejected += n.all
	return t
}

// countRefused moves the count to the record, when nobody else has it.
func (r *run) countRefused() { r.record.Totals, r.refused = r.refused.of(r.record.Totals), refused{} }
