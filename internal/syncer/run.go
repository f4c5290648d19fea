package syncer

import (
	"context"
	"errors"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// abandon records a failed run and drops what it staged, but for a walk that can go on from its checkpoint.
func (r *run) abandon(ctx context.Context, cause error) error {
	r.record.Outcome = outcome(ctx, cause)
	ctx, cancel := r.tidying(ctx)
	defer cancel()
	r.record.Error, r.record.FinishedAt = cause.Error(), r.now(r.local())
	errs := []error{r.save(ctx)}
	switch {
	case errors.Is(cause, warehouse.ErrLeaseLost):
		// A walk and its checkpoint now belong to the other worker; the rows of another kind of run are nobody else's.
		if r.Stream.Kind != catalog.Walk || r.retry != nil {
			errs = append(errs, r.warehouse.Discard(ctx, r.Run))
		}
	case r.publishing:
		r.log.Warn("publishing was interrupted: the next run of this stream finishes it", "run_id", r.ID)
	case r.retry != nil, r.job.DryRun: // the checkpoint is another run's
		errs = append(errs, r.warehouse.Discard(ctx, r.Run))
	case r.checkpoint == nil || !resumable(cause):
		errs = append(errs, r.warehouse.ClearCheckpoint(ctx, r.Run), r.warehouse.Discard(ctx, r.Run))
	}
	return errors.Join(errs...)
}

// outcome is that of a run which ended with an error; ctx is the run's.
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
	case ctx.Err() != nil:
		return warehouse.OutcomeStopped
	}
	return warehouse.OutcomeFailed
}

// resumable reports whether a walk that ended so can go on from its checkpoint: not when what it read is at fault.
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

func (r *run) save(ctx context.Context) error {
	if r.job.DryRun {
		return nil
	}
	return r.warehouse.SaveRun(ctx, r.record)
}

// conclude fills in what the record of an ended run still lacks.
func (r *run) conclude(ctx context.Context, err error) {
	switch {
	case err != nil:
		if r.record.Outcome == warehouse.OutcomeRunning {
			r.record.Outcome, r.record.Error = outcome(ctx, err), err.Error()
		}
		r.report(PhaseFailed)
		return
	case r.job.DryRun:
		r.record.Outcome = warehouse.OutcomeDryRun
	}
	if r.record.FinishedAt.IsZero() {
		r.record.FinishedAt = r.now(r.local())
	}
	r.report(PhaseDone)
}

func (r *run) report(p Phase) {
	progress := Progress{Account: r.job.Account, Stream: r.job.Stream.Name, Phase: p, Totals: r.record.Totals}
	if r.backfill != nil {
		_, progress.Windows = r.backfill.meter.now()
	}
	r.progress(progress)
}
