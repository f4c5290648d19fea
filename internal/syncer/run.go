package syncer

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"dealhouse/internal/warehouse"
)

// writer returns what writes into the warehouse for the run.
func (r *run) writer() *warehouse.Writer { return r.session.warehouse.Writer(r.Run) }

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

// leftOpen returns the error of a run that is published but may have missed rows, or did not delete what is gone. It
// returns nil if the run did everything.
func (r *run) leftOpen() error {
	switch {
	case r.held != nil:
		return r.held
	case r.gap != "":
		return &IncompleteError{Account: r.Account, Stream: r.Stream.Name, Reason: r.gap, Unused: r.unused}
	}
	return nil
}

// isLoaded reports whether an error is one of leftOpen.
func isLoaded(err error) bool {
	guard, held := errors.AsType[*GuardError](err)
	_, incomplete := errors.AsType[*IncompleteError](err)
	return incomplete || held && guard.Loaded
}

// abandon records a failed run, and lets its source drop what it staged.
func (r *run) abandon(ctx context.Context, cause error) error {
	s := r.session
	s.fail(ctx, &r.record, cause)
	r.record.Totals.Retries += retriesOf(cause)
	if !r.publishing {
		r.recordUnchanged()
	}
	if guard, ok := errors.AsType[*GuardError](cause); ok {
		r.record.WouldDelete = guard.Deletes
	} else if !r.publishing {
		r.record.WouldDelete = 0
	}
	ctx, cancel := s.cleanup(ctx)
	defer cancel()
	r.record.FinishedAt = s.now(s.local())
	err := r.save(ctx)
	lost := errors.Is(cause, warehouse.ErrLeaseLost)
	if r.publishing && !lost {
		s.log.Warn("publishing was interrupted: the next run of this stream finishes it", "run_id", r.ID)
		return err
	}
	return errors.Join(err, r.unstage(ctx, cause, lost))
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

// fail records with what a run has ended, and why. ctx is the context of the run.
func (s *session) fail(ctx context.Context, r *warehouse.RunRecord, err error) {
	r.Outcome, r.Error, r.Cause = outcome(ctx, err), err.Error(), ""
	if r.Outcome != warehouse.OutcomeStopped {
		r.Cause = cause(err, s.job.Client.Origin())
	}
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
