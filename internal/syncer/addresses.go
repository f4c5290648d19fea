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

// ReferenceResult is the result of requesting rows of one stream by their own addresses.
type ReferenceResult struct {
	// Result is the run, of mode references. Its record counts an address that answered as a page and a row that was
	// kept as inserted.
	Result
	Stored   uint64 // rows that were not known before
	NotFound uint64 // the service does not know them; requested again after Job.ReferenceRetry
	Unusable uint64 // it refused the request, or returned something else; requested again at the same time
}

// References requests deals that transactions name and that are not known: they left the lists before these were first
// read, or are too new for them. from is the job of the transactions, to are the jobs of the streams that may be
// requested. What it finds is kept as rows that no list has (syncer-9).
//
// It requests at most Job.ReferenceLimit deals at a time, those of the newest transactions first. The rest, and
// requests without an answer, wait for the next time. So does a stream that another run holds. There is a result for
// each stream of which something was requested.
func (s *Syncer) References(ctx context.Context, from Job, to []Job) ([]ReferenceResult, error) {
	if from.DryRun {
		return nil, nil
	}
	var streams []*catalog.Stream
	for _, job := range to {
		if job.Account == from.Account && job.Stream.ByID {
			streams = append(streams, job.Stream)
		}
	}
	found, err := s.unknownReferences(ctx, from, streams, from.ReferenceLimit)
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
		r := &addresses{session: s.newSession(job), from: from, limit: wanted[job.Stream.Name]}
		err := r.ask(ctx)
		if record := &r.session.run.record; record.RunID != uuid.Nil || err != nil {
			r.session.conclude(ctx, err)
			r.result.Result = Result{Job: job, Record: *record, Err: err}
			results = append(results, r.result)
		}
	}
	return results, nil
}

func (s tools) unknownReferences(ctx context.Context, from Job, to []*catalog.Stream,
	limit int) ([]warehouse.Reference, error) {
	return s.warehouse.UnknownReferences(ctx, from.Account, from.Stream, to, from.ReferenceRetry, limit)
}

// addresses is the source that reads rows by their own addresses.
type addresses struct {
	session *session
	from    Job
	limit   int
	keys    []string // to ask for
	batch   *decode.Batch
	decoder *decode.Decoder
	fetched int64 // time of reading of the last answer
	misses  []warehouse.Miss
	result  ReferenceResult
	fault   error // the last one that says nothing about the requested row
	faults  int
}

// maxFaults is how many answers may say nothing about the requested row before the run gives up. It is more than one,
// so that a single row at which the service always fails does not block all others.
const maxFaults = 4

// ask takes the stream, if it is free, and requests the rows.
func (r *addresses) ask(ctx context.Context) error {
	err := r.session.take(ctx)
	switch {
	case isTaken(err):
		r.session.log.Debug("not requesting the deals that transactions refer to: another run has the stream", "reason", err)
		return nil
	case err != nil:
		return err
	}
	return r.session.hold(ctx, r.askUnknown)
}

// askUnknown looks up again which rows are unknown, now that no other worker can request the same ones.
func (r *addresses) askUnknown(ctx context.Context) error {
	s := r.session
	found, err := s.unknownReferences(ctx, r.from, []*catalog.Stream{s.job.Stream}, r.limit)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		s.unclean = false
		return nil
	}
	r.keys = make([]string, len(found))
	for i, f := range found {
		r.keys[i] = f.Key.String()
	}
	return s.recorded(ctx, warehouse.ModeReferences, s.job.Timeout, r.load)
}

// load reads the rows and publishes them. If ctx ends, it publishes what it has read. There is no guard: a row that
// cannot be loaded says nothing about the others.
func (r *addresses) load(ctx context.Context) error {
	s, run := r.session, r.session.run
	fetching := ctx // syncer-7
	ctx, cancel := s.outlive(fetching)
	defer cancel()
	run.report(PhaseReading)
	r.batch, r.decoder = decode.NewBatch(run.Stream), decode.New(run.Stream)
	if err := r.read(fetching); err != nil {
		return err
	}
	if err := run.writer().SaveMisses(ctx, r.misses); err != nil {
		return err
	}
	if err := run.stage(ctx, r.batch); err != nil {
		return err
	}
	run.countRefused()
	run.notice(&seen{unknown: r.batch.Unknown}, time.Time{})
	if err := (publication{run: run, scope: warehouse.Unlisted, last: true}).publish(ctx); err != nil {
		return err
	}
	r.result.Stored = run.record.Changes.Inserted
	return nil
}

// read requests each key. An error says that there was no answer at all, or that the run must end.
func (r *addresses) read(ctx context.Context) error {
	run := r.session.run
	err := r.session.ask(ctx, r.keys, func(key string, sent time.Time, object []byte, err error) error {
		return r.answer(ctx, key, sent, object, err)
	})
	answered := run.record.Totals.Pages
	switch {
	case err != nil && !errors.Is(err, errStopRequests):
		return err
	case r.fault != nil && answered == 0:
		return r.fault
	case r.fault != nil:
		run.warn(fmt.Sprintf("%d of %d deals that transactions refer to could not be requested, and will be requested again later: %v",
			uint64(len(r.keys))-answered, len(r.keys), r.fault))
	}
	if r.result.Unusable > 0 {
		run.warn(fmt.Sprintf("the service gave no usable answer for %d deals that transactions refer to: see reference_misses",
			r.result.Unusable))
	}
	return nil
}

// answer takes in what the service says about one key.
func (r *addresses) answer(ctx context.Context, key string, sent time.Time, object []byte, err error) error {
	totals := &r.session.run.record.Totals
	var api *dealapi.Error
	switch {
	case err == nil:
		return r.decode(key, sent, object)
	case errors.As(err, &api) && api.Kind == dealapi.KindNotFound:
		totals.Pages++
		r.result.NotFound++
		r.miss(key, warehouse.MissNotFound)
	case errors.As(err, &api) && api.Kind == dealapi.KindBadRequest:
		totals.Pages++
		r.result.Unusable++
		r.miss(key, warehouse.MissRefused)
	default:
		return r.blame(ctx, err)
	}
	return nil
}

// decode adds the row to the batch.
func (r *addresses) decode(key string, sent time.Time, object []byte) error {
	run := r.session.run
	totals := &run.record.Totals
	r.fetched = max(r.fetched+1, r.session.now(sent).UnixMicro())
	rows := r.batch.Len()
	totals.Bytes += uint64(len(object))
	err := run.tally(r.batch, func() error {
		return r.decoder.Item(r.batch, object, key, uint32(totals.Pages+1),
			r.fetched)
	})
	if err != nil {
		return err
	}
	totals.Pages++
	if r.batch.Len() == rows {
		r.result.Unusable++
		r.miss(key, warehouse.MissUnusable)
	}
	run.report(PhaseReading)
	return nil
}

func (r *addresses) miss(key, reason string) {
	r.misses = append(r.misses, warehouse.Miss{Key: uuid.MustParse(key), Reason: reason})
}

// errStopRequests ends the requests; what was read before is kept.
var errStopRequests = errors.New("more requests would also fail")

// blame notes a fault that says nothing about the requested row. It ends the requests if the next one would fail as
// well.
func (r *addresses) blame(ctx context.Context, err error) error {
	var api *dealapi.Error
	switch canceled := errors.As(err, &api) && api.Kind == dealapi.KindCanceled; {
	case ctx.Err() != nil:
		r.fault = context.Cause(ctx)
		return errStopRequests
	case canceled:
		return errStopRequests // those under way when it ended
	}
	r.fault = err
	r.faults++
	if r.faults >= maxFaults || api != nil && api.Kind == dealapi.KindAuth {
		return errStopRequests
	}
	return nil
}
