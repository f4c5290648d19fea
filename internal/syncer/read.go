package syncer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// noDateMargin is taken off the local clock where the service does not say what time it is.
const noDateMargin = 15 * time.Minute

// seen is what a run learnt from the pages beside their rows.
type seen struct {
	serverStart time.Time // the server's time when the run began
	begun       time.Time // local time then
	noDate      bool
	newest      int64 // newest updatedAt, in milliseconds
	rows        int   // rows with an updatedAt
	outside     int   // rows of them that the date filter should have left out
	future      int   // rows dated after serverStart by more than futureTolerance
	unknown     map[string]int
}

func newSeen() *seen { return &seen{unknown: map[string]int{}} }

// add takes in what another chain saw, but for its clock.
func (s *seen) add(o *seen) {
	s.noDate = s.noDate || o.noDate
	s.newest = max(s.newest, o.newest)
	s.rows += o.rows
	s.outside += o.outside
	s.future += o.future
	s.unnamed(o.unknown)
}

// The names of fields are the service's to choose, and may be as many as its records: those past mostUnknown are
// counted together.
const (
	mostUnknown = 1000
	moreUnknown = "(others)"
)

// unnamed counts fields that the interface does not name.
func (s *seen) unnamed(fields map[string]int) {
	for name, n := range fields {
		if _, known := s.unknown[name]; !known && len(s.unknown) >= mostUnknown {
			name = moreUnknown
		}
		s.unknown[name] += n
	}
}

// futureTolerance is how far a row may be ahead of the server's clock before it is worth a warning: rows do change
// while the run reads.
const futureTolerance = time.Hour

// watermark is the one to store after the run (syncer-3).
func (s *seen) watermark(old time.Time) time.Time {
	next := time.UnixMilli(min(s.newest, s.serverStart.UnixMilli())).UTC()
	if s.newest == 0 || next.Before(old) {
		return old
	}
	return next
}

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
		return r.job.InitialFrom, watermark, nil
	}
	return watermark.Add(-max(r.job.Overlap, 0)), watermark, nil
}

// read stages the whole list. A chain that breaks because its cursor has vanished is started over once. When fetching
// ends, no more is asked for; ctx is there for what was read by then.
func (r *run) read(ctx, fetching context.Context, after time.Time) (*seen, error) {
	r.report(PhaseReading)
	start := ""
	if r.checkpoint != nil {
		start, r.batches, r.record.Totals = r.checkpoint.Next, r.checkpoint.Batch, r.checkpoint.Totals
		r.log.Info("going on from the checkpoint", "run_id", r.ID, "rows", r.record.Totals.Read)
	}
	for again := false; ; again = true {
		seen, err := r.readChain(ctx, fetching, after, start)
		var api *dealapi.Error
		if again || !errors.As(err, &api) || !api.CursorRefused() {
			return seen, err
		}
		r.log.Warn("the service no longer knows the cursor: the list is read from its beginning", "error", err)
		if err := r.startOver(ctx); err != nil {
			return nil, err
		}
		start = ""
	}
}

// catchUp reads what has changed since a run began that reads all of a stream with a filter. What changes meanwhile may
// move to a page that was read already, and would look as if it were gone.
func (r *run) catchUp(ctx, fetching context.Context, s *seen) error {
	if r.Stream.Kind != catalog.Incremental || !r.job.Full {
		return nil
	}
	more, err := r.readChain(ctx, fetching, s.serverStart.Add(-max(r.job.Overlap, 0)), "")
	if err != nil {
		return err
	}
	more.outside = 0 // it is the incremental runs that say so
	s.add(more)
	return nil
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
	totals warehouse.Totals
}

// readChain reads one chain of pages. Decoding and staging work side by side: two batches go round between them, so
// memory is bounded whatever the list's length.
func (r *run) readChain(ctx, fetching context.Context, after time.Time, start string) (*seen, error) {
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
		return contain(func() error { return r.decodePages(staging, fetching, s, after, start, full, empty) })
	})
	// When the reading fails, the batch in hand is still staged: a walk goes on after it, and nothing arrives later.
	group.Go(func() error { return contain(func() error { return r.stageBatches(ctx, full, empty) }) })
	err := group.Wait()
	r.countRefused()
	return s, err
}

// decodePages fills batches until the list ends, or fetching does. staging ends when no more batches are taken.
func (r *run) decodePages(staging, fetching context.Context, s *seen, after time.Time, start string, full chan<- filled, empty <-chan *decode.Batch) error {
	decoder := decode.New(r.Stream)
	before := uint32(r.record.Totals.Pages) // pages of the attempts that came before
	var batch *decode.Batch
	var lastFetched int64
	next := ""
	flush := func() error {
		s.note(batch, after, r.before)
		if r.strict && 2*s.outside > s.rows {
			return errUnfiltered
		}
		select {
		case full <- filled{batch: batch, next: next, totals: r.record.Totals}:
			batch = nil
			return nil
		case <-staging.Done():
			return context.Cause(staging)
		}
	}
	for page, err := range r.job.Client.Pages(fetching, r.query(after, start)) {
		if err != nil {
			// A walk goes on from its last batch, so what is in hand is made one (syncer-7).
			if r.Stream.Kind == catalog.Walk && !r.job.DryRun && batch != nil && batch.Records > 0 {
				return errors.Join(err, flush())
			}
			return err
		}
		if batch == nil {
			select {
			case batch = <-empty:
			case <-fetching.Done():
				return context.Cause(fetching)
			}
		}
		if page.Number == 1 {
			s.begin(page)
			r.metrics.compareClocks(r, page)
		}
		r.metrics.page(r)
		// Two pages never share a time of reading: of two reads of one record, one is the later.
		lastFetched = max(lastFetched+1, r.now(page.SentAt).UnixMicro())
		if err := r.decode(decoder, batch, page, before+uint32(page.Number), lastFetched); err != nil {
			return err
		}
		next = page.Next
		r.report(PhaseReading)
		if batch.Len() >= r.job.BatchRows || batch.Bytes >= r.job.BatchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if batch == nil || batch.Records == 0 {
		return nil
	}
	return flush()
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

// begin takes the server's time from the first page.
func (s *seen) begin(first *dealapi.Page) {
	s.serverStart, s.begun = first.ServerTime, first.SentAt
	if s.serverStart.IsZero() {
		s.noDate = true
		s.serverStart = first.SentAt.Add(-noDateMargin)
	}
}

// note looks at the updatedAt of a batch's rows, between which borders they were asked for (zero: none).
func (s *seen) note(b *decode.Batch, after, before time.Time) {
	s.unnamed(b.Unknown)
	i := b.Stream.VersionField()
	if i < 0 {
		return
	}
	lower, upper := int64(0), s.serverStart.Add(futureTolerance).UnixMilli()
	if !after.IsZero() {
		lower = after.UnixMilli()
	}
	highest := int64(math.MaxInt64)
	if !before.IsZero() {
		highest = before.UnixMilli()
	}
	for row, ms := range b.Columns[i].Ints {
		if !b.Present(i, row) {
			continue
		}
		s.rows++
		s.newest = max(s.newest, ms)
		if ms < lower && !after.IsZero() || ms > highest {
			s.outside++
		}
		if ms > upper {
			s.future++
		}
	}
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
		if f.next != "" { // the last batch is not needed again, and may be kept
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
