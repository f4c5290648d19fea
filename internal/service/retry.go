package service

import (
	"context"
	"fmt"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// RetryJobs makes a job for each stream of which rejected records are open.
func (s *Service) RetryJobs(open []warehouse.OpenRejects, dryRun bool) []syncer.Job {
	var jobs []syncer.Job
	for _, o := range open {
		stream, err := catalog.Find(o.Stream)
		if err != nil {
			s.log.Warn("rejected records of a stream that this version does not know stay open", "stream", o.Stream, "rejects",
				o.Rejects)
			continue
		}
		job := syncer.NewJob(o.Account, stream, nil)
		job.DryRun = dryRun
		jobs = append(jobs, job)
	}
	return jobs
}

// Retry loads what was rejected and can be read now, one job after the other. One that fails does not stop the others.
// Its error says that the program was told to stop, or that no retry was made.
func (s *Service) Retry(ctx context.Context, w *warehouse.Warehouse, jobs []syncer.Job, f warehouse.RejectFilter,
	watch Watch) (results []syncer.Result, records []syncer.RetryRecord, err error) {
	runner, err := syncer.New(syncer.Options{Warehouse: w, Logger: s.log, Progress: watch.Progress, Observer: s.observer})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the retry: %w", err)
	}
	for _, job := range jobs {
		record, err := runner.Retry(ctx, job, f)
		if WasStopped(ctx, err) {
			return nil, nil, context.Cause(ctx)
		}
		result := syncer.Result{Job: job, Record: record.RunRecord, Err: err}
		ended := result
		ended.Record.Totals.Rejected = uint64(record.Rejected) // what is rejected still, as the result has it
		watch.Ended(ended)
		results, records = append(results, result), append(records, record)
	}
	return results, records, nil
}
