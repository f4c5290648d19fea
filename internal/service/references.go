package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// askForReferences fetches deals that no list had and that transactions name, for each account whose transactions were
// loaded.
func (s *Service) askForReferences(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, api *Clients,
	results []syncer.Result) error {
	runner, err := syncer.New(syncer.Options{Warehouse: w, Logger: s.log, Observer: s.observer})
	if err != nil {
		return err
	}
	done := s.showWaiting("requesting deals that transactions refer to and no list contains")
	defer done()
	var group sync.WaitGroup
	for _, r := range results {
		if !s.mayNameDeals(r) {
			continue
		}
		deals, err := dealJobs(cfg, api, r.Job.Account)
		if err != nil {
			return err
		}
		group.Go(func() {
			found, err := runner.References(ctx, r.Job, deals)
			s.noteLook(r.Record.Account, len(found) == 0 && err == nil)
			s.reportReferences(ctx, r.Record.Account, r.Record.Stream, found, err)
		})
	}
	group.Wait()
	return nil
}

// lookAnyway is the time after which deals are looked up and the views are checked even if nothing has changed: a deal
// that was not found may be due for another request.
const lookAnyway = time.Hour

// mayNameDeals reports whether it is worth looking for deals to fetch after a run. It is not if nothing was found the
// last time and nothing has changed since.
func (s *Service) mayNameDeals(r syncer.Result) bool {
	if r.Err != nil || !r.Job.Stream.NamesDeals() {
		return false
	}
	looked, inVain := s.nothingLeft.Load(r.Record.Account)
	return r.Job.Full || r.Record.Changes.Any() || !inVain || s.now().Sub(looked.(time.Time)) >= lookAnyway
}

func (s *Service) noteLook(account string, nothingLeft bool) {
	if nothingLeft {
		s.nothingLeft.Store(account, s.now())
	} else {
		s.nothingLeft.Delete(account)
	}
}

// dealJobs are runs of the account's enabled streams whose records have addresses of their own.
func dealJobs(cfg *config.Config, api *Clients, account string) ([]syncer.Job, error) {
	targets, err := Selection{Accounts: []string{account}}.Targets(cfg)
	if err != nil {
		return nil, err
	}
	var jobs []syncer.Job
	for _, t := range targets {
		if !t.Stream.ByID {
			continue
		}
		client, err := api.Get(t)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, t.job(client))
	}
	return jobs, nil
}

// reportReferences logs which deals were found, and warns of errors. They are no failure of the sync: the next one asks
// again.
func (s *Service) reportReferences(ctx context.Context, account, stream string, found []syncer.ReferenceResult,
	err error) {
	if err != nil && !WasStopped(ctx, err) {
		s.warnOf(account, stream, err)
	}
	var stored, missing, unusable uint64
	for _, r := range found {
		s.metrics.AddReferences(account, r.Record.Stream, r.Stored, r.NotFound)
		stored, missing, unusable = stored+r.Stored, missing+r.NotFound, unusable+r.Unusable
		s.WarnAbout(r.Record)
		if r.Err != nil && !WasStopped(ctx, r.Err) {
			s.warnOf(account, r.Record.Stream, r.Err)
		}
	}
	if stored+missing+unusable > 0 {
		s.log.Info("requested deals that transactions refer to and no list contains", "account", account,
			"stored", stored, "not_found", missing, "unusable", unusable)
	}
}

// WarnAbout passes on what a run noticed and carried on with.
func (s *Service) WarnAbout(r warehouse.RunRecord) {
	for _, warning := range r.Warnings {
		s.warnOf(r.Account, r.Stream, errors.New(warning))
	}
}
