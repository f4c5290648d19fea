package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// run is one row of sync_runs, and the rows that are staged under its id. They are published all at once, or not at
// all. A session has one run, and makes more if it reads in windows.
type run struct {
	warehouse.Run
	session *session
	record  warehouse.RunRecord
	report  func(Phase)

	beside     bool                  // it does not read the stream's list: the checkpoint of a walk is another run's
	checkpoint *warehouse.Checkpoint // of a walk: where the next run can continue
	surplus    uint64                // rows that were staged after the checkpoint, and are read again
	batches    int                   // staged so far, over all attempts (syncer-5)
	refused    refused               // not yet in the record
	gap        string                // why rows may have been missed; "" when none were
	publishing bool                  // the intent may be durable: from here on the run is finished, never discarded
}

// writer returns what writes into the warehouse for the run.
func (r *run) writer() *warehouse.Writer { return r.session.warehouse.Writer(r.Run) }

// newRun makes the run of a session, which has no row in sync_runs yet.
func (s *session) newRun(id warehouse.Run) *run {
	id.Account, id.Stream, id.Within = s.job.Account, s.job.Stream, s.job.Scope
	return &run{
		Run: id, session: s, report: s.report,
		record: warehouse.RunRecord{Account: id.Account, Stream: id.Stream.Name, Outcome: warehouse.OutcomeRunning},
	}
}

// newPart makes one of the runs that a session is divided into. Its progress is shown as that of the session.
func (s *session) newPart(mode string, watermark time.Time) (*run, error) {
	id, err := newRunID()
	if err != nil {
		return nil, err
	}
	r := s.newRun(warehouse.Run{ID: id, Attempt: uuid.New(), StartedAt: s.now(s.local())})
	r.report = func(Phase) {}
	r.record.RunID, r.record.StartedAt, r.record.Mode, r.record.Watermark = r.ID, r.StartedAt, mode, watermark
	return r, nil
}

// newRunID makes an id that sorts by the time at which it was made.
func newRunID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("making a run id: %w", err)
	}
	return id, nil
}

func (r *run) save(ctx context.Context) error {
	if r.session.job.DryRun {
		return nil
	}
	return r.session.warehouse.SaveRun(ctx, r.record)
}

// begin makes the row of the run. A run that continues a walk has one already.
func (r *run) begin(ctx context.Context) error {
	if r.session.job.DryRun || r.checkpoint != nil {
		return r.save(ctx)
	}
	return r.session.warehouse.BeginRun(ctx, r.record)
}

// warn adds to the run's record; its caller tells the user.
func (r *run) warn(text string) { r.record.Warnings = append(r.record.Warnings, text) }

// incomplete returns the error of a run that is published but may have missed rows, nil if it missed none.
func (r *run) incomplete() error {
	if r.gap == "" {
		return nil
	}
	return &IncompleteError{Account: r.Account, Stream: r.Stream.Name, Reason: r.gap}
}

// abandon records a failed run and drops what it staged, except for a walk that can continue from its checkpoint.
func (r *run) abandon(ctx context.Context, cause error) error {
	s := r.session
	r.record.Outcome = outcome(ctx, cause)
	if !r.publishing {
		r.recordUnchanged()
	}
	if guard, ok := errors.AsType[*GuardError](cause); ok {
		r.record.WouldDelete = guard.Deletes
	}
	ctx, cancel := s.cleanup(ctx)
	defer cancel()
	r.record.Error, r.record.FinishedAt = cause.Error(), s.now(s.local())
	errs := []error{r.save(ctx)}
	switch {
	case errors.Is(cause, warehouse.ErrLeaseLost):
		// A walk and its checkpoint now belong to the other worker. The rows of any other run belong to nobody else.
		if r.Stream.Kind != catalog.Walk || r.beside {
			errs = append(errs, r.writer().Discard(ctx))
		}
	case r.publishing:
		s.log.Warn("publishing was interrupted: the next run of this stream finishes it", "run_id", r.ID)
	case r.beside, s.job.DryRun:
		errs = append(errs, r.writer().Discard(ctx))
	case r.checkpoint == nil || !resumable(cause):
		errs = append(errs, r.writer().ClearCheckpoint(ctx), r.writer().Discard(ctx))
	default:
		// Another worker may have taken the stream over and ended. Then nobody continues the walk, or knows about it.
		kept, err := r.writer().HasCheckpoint(ctx)
		if err == nil && !kept {
			err = r.writer().Discard(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// recordUnchanged moves what the run would have changed from the counts of its record to a warning, because the counts
// say what a run has changed.
func (r *run) recordUnchanged() {
	if c := r.record.Changes; c.Any() {
		r.warn(fmt.Sprintf("nothing was changed: it would have inserted %d rows, updated %d and deleted %d", c.Inserted,
			c.Updated, c.Deleted))
	}
	r.record.Changes = warehouse.Changes{}
}

// outcome returns the outcome of a run that ended with an error. ctx is the context of the run.
func outcome(ctx context.Context, cause error) string {
	var guard *GuardError
	var late *DeadlineError
	var incomplete *IncompleteError
	switch {
	case errors.As(cause, &guard):
		return warehouse.OutcomeGuarded
	case errors.As(cause, &late):
		return warehouse.OutcomeFailed
	case errors.As(cause, &incomplete):
		return warehouse.OutcomeIncomplete
	case ctx.Err() != nil && !errors.As(context.Cause(ctx), new(*partError)):
		return warehouse.OutcomeStopped
	}
	return warehouse.OutcomeFailed
}

// partError is why the other parts of a session are given up: one of them failed. Nobody has stopped the session.
type partError struct{ error }

func (e *partError) Unwrap() error { return e.error }

// resumable reports whether a walk that ended with this error can continue from its checkpoint. It cannot if the error
// comes from what it read.
func resumable(cause error) bool {
	var api *dealapi.Error
	var guard *GuardError
	var staged *warehouse.StagedError
	switch {
	case errors.As(cause, &guard), errors.As(cause, &staged):
		return false
	case errors.As(cause, &api):
		return api.Kind != dealapi.KindLoop && !api.CursorRefused()
	}
	return true
}
