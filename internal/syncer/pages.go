package syncer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// readChain reads one chain of pages.
func (r *pageReader) readChain(ctx, fetching context.Context, after time.Time, start string) (*seen, error) {
	return r.readPages(ctx, fetching, after, func(c *chain) error { return c.read(start) })
}

// readPages calls read for each list of the scope, with a chain to read it by. Decoding and staging run side by side
// and pass a few batches to and fro, so memory is bounded, however long the list is.
func (r *pageReader) readPages(ctx, fetching context.Context, after time.Time, read func(*chain) error) (*seen, error) {
	group, staging := errgroup.WithContext(ctx)
	fetching, stop := context.WithCancelCause(fetching)
	defer stop(nil)
	defer context.AfterFunc(staging, func() { stop(context.Cause(staging)) })()
	inserts := r.inserts()
	full, empty := make(chan filled), make(chan *decode.Batch, inserts+1)
	for range inserts + 1 { // one more, to decode into
		empty <- decode.NewBatch(r.run.Stream)
	}
	s := newSeen()
	s.shown = r.session.shown
	group.Go(func() error {
		defer close(full)
		return Contain(func() error {
			decoder, err := r.session.decoder()
			if err != nil {
				return err
			}
			d := &pager{reader: r, staging: staging, fetching: fetching, seen: s, after: after, full: full, empty: empty,
				decoder: decoder}
			d.filters = scopeFilters(r.run.Stream, r.session.job.Scope)
			return d.read(read)
		})
	})
	// If reading fails, the batch in hand is still staged, so staging does not use the context that ends then. A walk
	// can continue after that batch, and nothing arrives at the warehouse later.
	group.Go(func() error { return Contain(func() error { return r.stageBatches(ctx, full, empty) }) })
	err := group.Wait()
	r.run.countRefused()
	return s, err
}

// read reads the list, and stages what is left at the end.
func (d *pager) read(read func(*chain) error) error {
	err := d.readLists(read)
	// A walk continues after its last batch, so what is in hand becomes a batch too (syncer-7).
	resumable := d.reader.run.Stream.Kind == catalog.Walk && !d.reader.session.job.DryRun
	if err != nil && !resumable || d.batch == nil || d.batch.Records == 0 {
		return err
	}
	return errors.Join(err, d.flush(err == nil))
}

// whole returns the requested range.
func (d *pager) whole() timeRange { return timeRange{after: d.after, before: d.reader.before} }

// pages requests a range of updatedAt, from the page start on, and fetches up to ahead pages in advance.
func (d *pager) pages(r timeRange, start string, ahead int) iter.Seq2[*dealapi.Page, error] {
	job := &d.reader.session.job
	q := job.query(r.after, start)
	q.Ahead = ahead
	q.Unless, d.reader.unless = d.reader.unless, "" // what is read again is read to mend it
	job.bound(&q, r.before)
	job.narrow(&q, d.filter)
	return job.Client.Pages(d.fetching, q)
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
	s, r := d.reader.session, d.reader.run
	d.seen.addPage(page, s.early(page))
	if page.Number == 1 {
		s.metrics.compareClocks(r, page)
	}
	s.metrics.page(r)
	// No two pages have the same time of reading, so of two reads of one record, one is always the later.
	d.fetched = max(d.fetched+1, s.now(page.SentAt.Add(-page.Age)).UnixMicro())
	from := d.batch.Len()
	totals := &r.record.Totals
	totals.Bytes += uint64(page.Bytes)
	totals.Retries += uint64(page.Retries)
	err := r.tally(d.batch, func() error { return d.decoder.Page(d.batch, page.Data, uint32(totals.Pages)+1, d.fetched) })
	if err != nil {
		return span{}, err
	}
	totals.Pages++
	d.next = page.Next
	d.reader.report()
	return span{batch: d.batch, from: from, to: d.batch.Len(), first: decode.FirstKey(r.Stream, page.Data)}, nil
}

// flushFull hands the batch over once it is full.
func (d *pager) flushFull() error {
	if d.batch.Len() < d.reader.session.job.BatchRows && d.batch.Bytes < d.reader.batchBytes {
		return nil
	}
	return d.flush(false)
}

func (d *pager) flush(last bool) error {
	d.leaveOut()
	d.seen.addBatch(d.batch, d.after, d.reader.before)
	if d.reader.strict && 2*d.seen.outside > d.seen.rows {
		return errUnfiltered
	}
	next := d.next
	if d.seen.doubt+d.seen.stale != "" || d.seen.early > 0 {
		next = "" // a walk does not continue behind a page that is not whole: the next run would take the list for whole
	}
	select {
	case d.full <- filled{batch: d.batch, next: next, last: last, totals: d.reader.run.record.Totals}:
		d.batch = nil
		return nil
	case <-d.staging.Done():
		return context.Cause(d.staging)
	}
}

// tally counts what decoding adds to a batch. The record belongs to the decoder while that is running.
func (r *run) tally(b *decode.Batch, decode func() error) error {
	records, rows, rejects, noise := b.Records, b.Len(), len(b.Rejects), b.Noise
	if err := decode(); err != nil {
		return fmt.Errorf("account %s: %w", r.Account, err)
	}
	t := &r.record.Totals
	t.Read += uint64(b.Records - records)
	t.Staged += uint64(b.Len() - rows)
	for _, sum := range b.Sums[rows:] {
		t.Sum += warehouse.Sum(sum)
	}
	t.Unloadable += uint64(b.Records - records - (b.Len() - rows))
	t.Rejected += uint64(len(b.Rejects) - rejects)
	t.Noise += uint64(b.Noise - noise)
	return nil
}

// stage writes rows in one insert, and keeps what cannot be loaded: what the decoder left out, and what the warehouse
// refuses.
func (r *run) stage(ctx context.Context, batches ...*decode.Batch) error {
	r.batches++
	refused, err := r.insert(ctx, r.batches, batches...)
	if err != nil {
		return err
	}
	return r.keep(ctx, refused, batches...)
}

// insert writes rows in one insert, and returns those that the warehouse refuses. Several inserts of a run
// may be under way at once.
func (r *run) insert(ctx context.Context, number int, batches ...*decode.Batch) ([]decode.Reject, error) {
	refused, err := r.writer().Stage(ctx, number, batches...)
	if poisoned, is := errors.AsType[*warehouse.RefusedError](err); is {
		return nil, &GuardError{Account: r.Account, Stream: r.Stream.Name, Guard: GuardRejects, Reason: poisoned.Error(),
			Advice: "nothing was changed; look at the constraints and the columns of " + poisoned.Table}
	}
	return refused, err
}

// keep stores the rejects of batches that are inserted. It is called in the order of the batches.
func (r *run) keep(ctx context.Context, refused []decode.Reject, batches ...*decode.Batch) error {
	r.refused.add(refused)
	if r.session.job.DryRun {
		return nil
	}
	for _, b := range batches {
		refused = append(refused, b.Rejects...)
	}
	return r.writer().Reject(ctx, refused)
}

// countRefused moves the count of what the warehouse refused to the record, once no other goroutine uses that.
func (r *run) countRefused() { r.record.Totals, r.refused = r.refused.of(r.record.Totals), refused{} }

func (n *refused) add(rejects []decode.Reject) {
	n.all += uint64(len(rejects))
	for _, x := range rejects {
		if x.Field == "" {
			n.records.Rows++
			n.records.Sum += warehouse.Sum(x.Sum)
		}
	}
}

// of returns the totals of the decoder, corrected by what the warehouse refused.
func (n refused) of(t warehouse.Totals) warehouse.Totals {
	t.Staged -= n.records.Rows
	t.Sum -= n.records.Sum
	t.Unloadable += n.records.Rows
	t.Rejected += n.all
	return t
}

// insertsAtOnce is how many batches of a list are inserted at once. A single insert leaves cores idle, because its data
// is sent, parsed, sorted and written in turn. More than two would only need more memory.
const insertsAtOnce = 2

// inserts returns how many batches may be inserted at once.
func (r *pageReader) inserts() int {
	if r.insert == nil {
		return 1
	}
	return insertsAtOnce
}

// stageBatches stages batches until there are no more. Their inserts run side by side, and may end in any order. But
// r.stage is called in the order of the batches: when it is called for a batch, all batches before that are inserted
// too. After an error no other insert starts, and stageBatches waits for those under way.
func (r *pageReader) stageBatches(ctx context.Context, full <-chan filled, empty chan<- *decode.Batch) error {
	var queue []*insertion // the oldest first
	defer func() {
		for _, x := range queue {
			<-x.done
		}
	}()
	for full != nil || len(queue) > 0 {
		var next <-chan filled // nil while there are enough inserts
		var oldest <-chan struct{}
		if len(queue) < r.inserts() {
			next = full
		}
		if len(queue) > 0 {
			oldest = queue[0].done
		}
		select {
		case f, more := <-next:
			if !more {
				full = nil
				continue
			}
			queue = append(queue, r.start(ctx, f))
		case <-oldest:
			f, err := queue[0].filled, queue[0].err
			queue = queue[1:]
			if err == nil {
				err = r.stage(ctx, f)
			}
			if err != nil {
				return err
			}
			if !f.last { // the last batch is not needed again, and may be kept
				f.batch.Reset()
				empty <- f.batch
			}
		}
	}
	return nil
}

// start starts the insert of a batch, beside the one that is under way.
func (r *pageReader) start(ctx context.Context, f filled) *insertion {
	x := &insertion{filled: f, done: make(chan struct{})}
	if r.insert == nil {
		close(x.done)
		return x
	}
	r.run.batches++
	x.number = r.run.batches
	go func() {
		defer close(x.done)
		x.err = Contain(func() (err error) {
			x.refused, err = r.insert(ctx, x.filled)
			return err
		})
	}()
	return x
}

// early returns by how much a page is at least from before what the service's clock has shown, 0 if it is not. An
// answer from a cache is as old as the cache says, whatever its Date.
func (s *session) early(page *dealapi.Page) time.Duration {
	if page.ServerTime.IsZero() || s.shown.IsZero() {
		return 0
	}
	latest := page.ServerTime.Add(page.ReceivedAt.Sub(page.SentAt))
	if !s.known.Date.IsZero() && page.Age > clockStep {
		if kept := s.known.Date.Add(s.now(page.ReceivedAt).Sub(s.known.At) - page.Age); kept.Before(latest) {
			latest = kept
		}
	}
	if by := s.shown.Sub(latest); by > clockStep {
		return by
	}
	return 0
}
