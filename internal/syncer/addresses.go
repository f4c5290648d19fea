package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// ReferenceResult is how asking for rows of one stream by their own addresses ended.
type ReferenceResult struct {
	// Result is the run, of mode references. Its record counts an address that answered as a page and a row that was
	// kept as inserted.
	Result
	Stored   uint64 // rows of which nothing was known
	NotFound uint64 // the service does not know them; asked for again after Job.ReferenceRetry
	Unusable uint64 // it refused the request, or gave something else; asked for again at the same time
}

// References asks for deals that transactions name and of which nothing is known: they have left the lists before these
// were first read, or are too new for them. from is the job of the transactions, to those of the streams that may be
// asked for. What it finds is kept as rows that no list has (syncer-9).
//
// It asks for no more than Job.ReferenceLimit at a time, those of the newest transactions first; what is left, and what
// gave no answer, is for the next time. A stream that another run has is left for the next time as well. There is a
// result for each stream that was asked for something.
func (s *Syncer) References(ctx context.Context, from Job, to []Job) ([]ReferenceResult, error) {
	from.setDefaults()
	if from.DryRun {
		return nil, nil
	}
	var streams []*catalog.Stream
	for _, job := range to {
		if job.Account == from.Account && job.Stream.ByID {
			streams = append(streams, job.Stream)
		}
	}
	found, err := s.unknown(ctx, from, streams, from.ReferenceLimit)
	if err != nil {
		return nil, err
	}
	wanted := map[string]int{}
	for _, f := range found {
		wanted[f.Stream]++
	}
	var results []ReferenceResult
	for _, job := range to {
		if job.Account != from.Account || wanted[job.Stream.Name] == 0 {
			continue
		}
		r := &references{run: s.newRun(job), from: from, limit: wanted[job.Stream.Name]}
		if err := r.try(ctx); r.record.RunID != uuid.Nil || err != nil {
			r.conclude(ctx, err)
			r.result.Result = Result{Job: job, Record: r.record, Err: err}
			results = append(results, r.result)
		}
	}
	return results, nil
}

func (s *Syncer) unknown(ctx context.Context, from Job, to []*catalog.Stream, limit int) ([]warehouse.Reference, error) {
	return s.warehouse.UnknownReferences(ctx, from.Account, from.Stream, to, max(from.ReferenceRetry, 0), limit)
}

// references is a run that asks for rows by their own addresses.
type references struct {
	*run
	from   Job
	limit  int
	result ReferenceResult
	fault  error // the last of those that say nothing of the row that was asked for
	faults int
}

// maxFaults is after how many answers that say nothing of what was asked for the asking ends. It is more than one, so
// that a single row at which the service always fails does not keep all others waiting.
const maxFaults = 4

// try takes the stream, if it is free, and asks. What is unknown is looked up once more under the lease, when another
// worker can no longer be asking for the same.
func (r *references) try(ctx context.Context) error {
	err := r.tryTake(ctx)
	var held *warehouse.HeldError
	switch {
	case errors.As(err, &held), errors.Is(err, warehouse.ErrLeaseLost):
		r.log.Debug("not asking for what transactions name: another run has the stream", "reason", err)
		return nil
	case err != nil:
		return err
	}
	err = r.main(ctx)
	return errors.Join(err, r.release(ctx))
}

func (r *references) main(ctx context.Context) error {
	if err := r.recover(ctx); err != nil {
		return err
	}
	found, err := r.unknown(ctx, r.from, []*catalog.Stream{r.Stream}, r.limit)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		r.unclean = false
		return nil
	}
	keys := make([]string, len(found))
	for i, f := range found {
		keys[i] = f.Key.String()
	}
	r.record.Mode = warehouse.ModeReferences
	return r.recorded(ctx, func(ctx context.Context) error { return r.load(ctx, keys) })
}

// load reads, compares and publishes; when ctx ends, what was read until then. There is no guard: a row that cannot be
// loaded says nothing of the others.
func (r *references) load(ctx context.Context, keys []string) error {
	fetching := ctx // syncer-7
	ctx, cancel := outlive(fetching, r.grace)
	defer cancel()
	r.report(PhaseReading)
	batch := decode.NewBatch(r.Stream)
	misses, err := r.read(fetching, keys, batch)
	if err != nil {
		return err
	}
	if err := r.warehouse.SaveMisses(ctx, r.Run, misses); err != nil {
		return err
	}
	if err := r.stage(ctx, filled{batch: batch}); err != nil {
		return err
	}
	r.countRefused()
	r.notice(&seen{unknown: batch.Unknown}, time.Time{})
	r.staged = r.local()
	r.report(PhaseComparing)
	changes, err := r.warehouse.Plan(ctx, r.Run, warehouse.Unlisted, r.record.Totals.Staged)
	if err != nil {
		return err
	}
	r.record.Changes = changes
	if err := r.publish(ctx, changes, time.Time{}); err != nil {
		return err
	}
	r.result.Stored = changes.Inserted
	return nil
}

// read asks for each key. An error says that there was no answer at all, or that the run is to end.
func (r *references) read(ctx context.Context, keys []string, batch *decode.Batch) ([]warehouse.Miss, error) {
	decoder := decode.New(r.Stream)
	var misses []warehouse.Miss
	var lastFetched int64
	answered := func() uint64 { return r.record.Totals.Pages }
	err := r.ask(ctx, keys, func(key string, sent time.Time, object []byte, err error) error {
		miss := ""
		var api *dealapi.Error
		switch {
		case err == nil:
			lastFetched = max(lastFetched+1, r.now(sent).UnixMicro())
			rows := batch.Len()
			r.record.Totals.Bytes += uint64(len(object))
			if err := r.tally(batch, func() error { return decoder.Item(batch, object, key, uint32(answered()+1), lastFetched) }); err != nil {
				return err
			}
			if batch.Len() == rows {
				miss = warehouse.MissUnusable
				r.result.Unusable++
			}
			r.report(PhaseReading)
		case errors.As(err, &api) && api.Kind == dealapi.KindNotFound:
			miss = warehouse.MissNotFound
			r.result.NotFound++
			r.record.Totals.Pages++
		case errors.As(err, &api) && api.Kind == dealapi.KindBadRequest:
			miss = warehouse.MissRefused
			r.result.Unusable++
			r.record.Totals.Pages++
		default:
			return r.blame(ctx, err)
		}
		if miss != "" {
			misses = append(misses, warehouse.Miss{Key: uuid.MustParse(key), Reason: miss})
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return nil, err
	case r.fault != nil && answered() == 0:
		return nil, r.fault
	case r.fault != nil:
		r.warn(fmt.Sprintf("%d of %d deals that transactions name gave no answer and are asked for again later: %v", uint64(len(keys))-answered(), len(keys), r.fault))
	}
	if r.result.Unusable > 0 {
		r.warn(fmt.Sprintf("for %d deals that transactions name the service gave no usable answer: see reference_misses", r.result.Unusable))
	}
	return misses, nil
}

// errEnough ends the asking; what was read until then is kept.
var errEnough = errors.New("asking for more is of no use")

// blame notes a fault that says nothing of the row that was asked for, and ends the asking where others would fare no
// better.
func (r *references) blame(ctx context.Context, err error) error {
	var api *dealapi.Error
	switch canceled := errors.As(err, &api) && api.Kind == dealapi.KindCanceled; {
	case ctx.Err() != nil:
		r.fault = context.Cause(ctx)
		return errEnough
	case canceled:
		return errEnough // those under way when it ended
	}
	r.fault = err
	r.faults++
	if r.faults >= maxFaults || api != nil && api.Kind == dealapi.KindAuth {
		return errEnough
	}
	return nil
}
