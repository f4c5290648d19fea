package syncer

import (
	"context"

	"dealhouse/internal/warehouse"
)

// Observer is called for each run when it begins to read and when it has ended. It is called from many goroutines, and
// must not hold them up. The record of a backfill sums up its runs, and has its own id. It is not called for dry runs,
// nor for runs that could not take their stream.
type Observer struct {
	Began func(Job, warehouse.RunRecord)
	Ended func(Job, warehouse.RunRecord)
}

// observed calls the observer before and after the work that counts as a run of the session.
func (s *session) observed(ctx context.Context, do func() error) error {
	if s.observer == nil || s.job.DryRun {
		return do()
	}
	id := s.run.ID
	record := func() warehouse.RunRecord {
		r := s.run.record
		r.RunID = id // not the id of the last of several runs
		return r
	}
	s.observer.Began(s.job, record())
	err := do()
	ended := record()
	if ended.Outcome == warehouse.OutcomeRunning {
		ended.Outcome = warehouse.OutcomeSuccess
		if err != nil {
			s.fail(ctx, &ended, err)
		}
	}
	if err != nil && ended.Error == "" {
		ended.Error = err.Error()
	}
	if ended.FinishedAt.IsZero() {
		ended.FinishedAt = s.now(s.local())
	}
	s.observer.Ended(s.job, ended)
	return err
}
