package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Jobs makes the jobs of what is selected; change may change each of them, and be nil. The clients are to be closed
// after the runs. An error of the selection is a SettingError.
func (s *Service) Jobs(cfg *config.Config, selected Selection,
	change func(*syncer.Job)) ([]syncer.Job, *Clients, error) {
	targets, err := selected.Targets(cfg)
	if err != nil {
		return nil, nil, err
	}
	api := s.measured()
	var jobs []syncer.Job
	for _, t := range targets {
		client, err := api.Get(t)
		if err != nil {
			api.Close()
			return nil, nil, err
		}
		job := t.job(client)
		if change != nil {
			change(&job)
		}
		jobs = append(jobs, job)
	}
	return jobs, api, nil
}

// job is the run of a target, with the settings as they are configured.
func (t Target) job(client *dealapi.Client) syncer.Job {
	job := syncer.Job{
		Account: t.Account.Name, Stream: t.Stream, Client: client,
		Params: syncer.Params{
			UpdatedAfter: t.Account.Params.UpdatedAfter, UpdatedBefore: t.Account.Params.UpdatedBefore,
			Page: t.Account.Params.Page, Cursor: t.Account.Params.Cursor, Filters: t.Account.Params.Filters,
		},
		Scope:            t.Setting.Scope,
		DropPrivate:      t.Account.Passback == config.PassbackDrop,
		BatchRows:        t.Account.BatchRows,
		Overlap:          t.Setting.Overlap,
		InitialFrom:      t.Setting.InitialFrom,
		MaxDeleteRatio:   t.Setting.MaxDeleteRatio,
		MaxRejectedRatio: t.Setting.MaxRejectedRatio,
		ConfirmDeletes:   t.Setting.ConfirmDeletes,
		DeleteAfterLists: t.Setting.DeleteAfterLists,
		ResumeWithin:     t.Setting.ResumeWithin,
		ReferenceLimit:   t.Setting.ReferenceLimit,
		ReferenceRetry:   t.Setting.ReferenceRetry,
		Timeout:          t.Setting.RunTimeout,
	}
	if t.Account.Passback == config.PassbackHash {
		job.HashPrivate = []byte(t.Account.PassbackKey.Reveal())
	}
	return job
}

// FirstPages asks for the pages of each list of a target's scope, with what each is of; "" is all of the stream.
func (t Target) FirstPages() (names []string, queries []dealapi.Query) {
	job := t.job(nil)
	return job.FirstPages()
}

// Behind does what syncer.Job.Behind does.
func (t Target) Behind(from time.Time) string {
	job := t.job(nil)
	return job.Behind(from)
}

// Probes asks whether the service knows the date filters of a target.
func (t Target) Probes(now time.Time) []syncer.Probe {
	job := t.job(nil)
	return job.Probes(now)
}

// Watch has the functions that follow runs. Both are called from several goroutines at once.
type Watch struct {
	Progress func(syncer.Progress) // called often
	Ended    func(syncer.Result)   // each run once
}

// Sync makes all runs side by side. One that fails does not stop the others. An error means that no run was made.
func (s *Service) Sync(ctx context.Context, w *warehouse.Warehouse, jobs []syncer.Job,
	watch Watch) ([]syncer.Result, error) {
	runner, err := syncer.New(syncer.Options{Warehouse: w, Logger: s.log, Metrics: s.metrics.Syncer,
		Progress: watch.Progress, Observer: s.observer})
	if err != nil {
		return nil, fmt.Errorf("preparing the sync: %w", err)
	}
	return s.sideBySide(ctx, jobs, watch, func(ctx context.Context, job syncer.Job) syncer.Result {
		record, err := runner.Run(ctx, job)
		return syncer.Result{Job: job, Record: record, Err: err}
	}), nil
}

// Backfill reads a range of time for all jobs side by side. One that fails does not stop the others. Its error says
// that nothing was read.
func (s *Service) Backfill(ctx context.Context, w *warehouse.Warehouse, jobs []syncer.Job, asked syncer.Range,
	watch Watch) ([]syncer.Result, error) {
	runner, err := syncer.New(syncer.Options{Warehouse: w, Logger: s.log, Progress: watch.Progress, Observer: s.observer})
	if err != nil {
		return nil, fmt.Errorf("preparing the backfill: %w", err)
	}
	return s.sideBySide(ctx, jobs, watch, func(ctx context.Context, job syncer.Job) syncer.Result {
		record, err := runner.Backfill(ctx, job, asked)
		if err != nil && record.Windows > 0 {
			s.log.Warn("the backfill is not complete: run the same command again to continue", "account", job.Account,
				"windows", record.Windows, "done", record.Done)
		}
		return syncer.Result{Job: job, Record: record.RunRecord, Err: err}
	}), nil
}

// sideBySide runs the jobs at the same time, as many as the limit allows, and returns their results in the order of the
// jobs.
func (s *Service) sideBySide(ctx context.Context, jobs []syncer.Job, watch Watch,
	run func(context.Context, syncer.Job) syncer.Result) []syncer.Result {
	defer s.announceDrain(ctx)()
	results := make([]syncer.Result, len(jobs))
	var group sync.WaitGroup
	limit := s.maxRuns
	if limit == 0 {
		limit = len(jobs)
	}
	places, longer := make(chan struct{}, limit), make(chan struct{}, daemon.MostLong(limit))
	for i, job := range jobs {
		group.Go(func() {
			if job.Stream.Kind == catalog.Walk {
				longer <- struct{}{}
				defer func() { <-longer }()
			}
			places <- struct{}{} // the jobs that still wait when the program is stopped end at once
			defer func() { <-places }()
			ctx, ended := syncer.StartSpan(ctx, job)
			results[i] = run(ctx, job)
			ended(results[i].Record, results[i].Err)
			watch.Ended(results[i])
		})
	}
	group.Wait()
	return results
}

// announceDrain tells the user who stops the program why it does not end at once.
func (s *Service) announceDrain(ctx context.Context) (done func() bool) {
	return context.AfterFunc(ctx, func() {
		s.log.Info("stopping: the current work is finished first; a second signal stops it at once", "grace",
			syncer.DefaultGrace)
	})
}
