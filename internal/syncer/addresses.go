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
	// Result is the run, of mode references. Its record counts each address that answered as a page, and each row
	// that was kept as inserted.
	Result
	Stored   uint64 // rows that were not known before
	NotFound uint64 // the service does not know them; requested again after Job.ReferenceRetry
	Unusable uint64 // the service refused the request, or its answer was no such row; requested again like NotFound
}

// References requests the deals that transactions name and the warehouse does not have: they left their lists before
// these were first read, or are newer than the lists. from is the job of the transactions, to are the jobs of the
// streams that may be requested. The deals that it finds are stored as rows that no list has (syncer-9).
//
// It requests at most Job.ReferenceLimit deals at a time, those of the newest transactions first. The rest, and
// requests without an answer, wait for the next time. So does a stream that another run holds. It returns a result for
// each stream that it requested something of, and for each that failed.
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
	if from.Full { // whatever was not found before
		from.ReferenceRetry = 0
	}
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
	fetched int64 // when the last answer was read, in microseconds since 1970
	misses  []warehouse.Miss
	result  ReferenceResult
	fault   error // the last error that says nothing about the requested row
	faults  int
}

// maxFaults is the number of errors that say nothing about the requested row, after which the run gives up. It is more
// than one, so that a single row at which the service always fails does not block all others.
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
	var err error
	if r.decoder, err = s.decoder(); err != nil {
		return err
	}
	r.batch = decode.NewBatch(run.Stream)
	if err := r.read(fetching); err != nil {
		return err
	}
	if err := r.doubt(ctx, fetching); err != nil {
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

// read requests each key. It returns an error if no request was answered, or if the run must end.
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

// controls is how many deals that the list has are requested if no other was found.
const controls = 3

// doubt forgets what was not found if nothing was, not even deals that the list has: then it is perhaps another service
// that answers, or the address is wrong.
func (r *addresses) doubt(ctx, fetching context.Context) error {
	s, run := r.session, r.session.run
	if len(r.misses) == 0 || r.batch.Len() > 0 {
		return nil
	}
	known, err := run.writer().Newest(ctx, controls)
	if err != nil || len(known) == 0 {
		return err
	}
	for _, k := range known {
		if _, err := s.job.Client.Get(fetching, s.job.Stream.Path+"/"+k.Key, nil); err == nil {
			return nil
		}
	}
	run.warn(fmt.Sprintf("none of %d deals that transactions refer to was found, nor any of %d that are in the list: base_url may be wrong, or another service answers; they are requested again by the next run (reference_limit = 0: never)",
		len(r.misses), len(known)))
	r.misses = nil
	return nil
}

// answer handles the service's answer for one key.
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
		return r.decoder.Item(r.batch, object, key, uint32(totals.Pages+1), r.fetched)
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

// blame notes an error that says nothing about the requested row. It returns errStopRequests if the
// next request would fail too.
func (r *addresses) blame(ctx context.Context, err error) error {
	var api *dealapi.Error
	switch canceled := errors.As(err, &api) && api.Kind == dealapi.KindCanceled; {
	case ctx.Err() != nil:
		r.fault = context.Cause(ctx)
		return errStopRequests
	case canceled:
		return errStopRequests // another answer ended the requests while this one was under way
	}
	r.fault = err
	r.faults++
	if r.faults >= maxFaults || api != nil && api.Kind == dealapi.KindAuth {
		return errStopRequests
	}
	return nil
}
