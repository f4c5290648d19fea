package syncer

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// tally counts what decoding adds to a batch. The record belongs to the decoder while that is running.
func (r *run) tally(b *decode.Batch, decode func() error) error {
	records, rows, rejects, noise := b.Records, b.Len(), len(b.Rejects), b.Noise
	if err := decode(); err != nil {
		return fmt.Errorf("account %s: %w", r.Account, err)
	}
	t := &r.record.Totals
	t.Read += uint64(b.Records - records)
	t.Staged += uint64(b.Len() - rows)
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

// of returns the totals of the decoder, corrected by what the warehouse refused.
func (n refused) of(t warehouse.Totals) warehouse.Totals {
	t.Staged -= n.records
	t.Unloadable += n.records
	t.Rejected += n.all
	return t
}
