package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// references asks for the deals that transactions name and no list had, for each account whose transactions were loaded.
func (a *app) references(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, api *clients, results []syncer.Result) error {
	s, err := syncer.New(syncer.Options{Warehouse: w, Logger: a.log})
	if err != nil {
		return err
	}
	done := a.beIn("asking for deals that transactions name and no list has")
	defer done()
	var group sync.WaitGroup
	for _, r := range results {
		if !a.mayNameDeals(r) {
			continue
		}
		deals, err := dealJobs(cfg, api, r.Job.Account)
		if err != nil {
			return err
		}
		group.Go(func() {
			found, err := s.References(ctx, r.Job, deals)
			a.noteLook(r.Record.Account, len(found) == 0 && err == nil)
			a.tellReferences(ctx, r.Record.Account, r.Record.Stream, found, err)
		})
	}
	group.Wait()
	return nil
}

// lookAnyway is after which time transactions that have not changed are searched anew: the time to ask again for a deal
// that was not there may have come.
const lookAnyway = time.Hour

// mayNameDeals reports a run after which it is worth reading all transactions for deals to ask for. That takes long, so
// it is left out where nothing has changed since nothing was found.
func (a *app) mayNameDeals(r syncer.Result) bool {
	if r.Err != nil || !slices.ContainsFunc(r.Job.Stream.Fields, func(f catalog.Field) bool { return f.RefersTo != "" }) {
		return false
	}
	looked, inVain := a.nothingLeft.Load(r.Record.Account)
	return r.Record.Changes.Any() || !inVain || time.Since(looked.(time.Time)) >= lookAnyway
}

func (a *app) noteLook(account string, nothingLeft bool) {
	if nothingLeft {
		a.nothingLeft.Store(account, time.Now())
	} else {
		a.nothingLeft.Delete(account)
	}
}

// dealJobs are runs of the account's enabled streams whose records have addresses of their own.
func dealJobs(cfg *config.Config, api *clients, account string) ([]syncer.Job, error) {
	targets, err := selection{accounts: []string{account}}.targets(cfg)
	if err != nil {
		return nil, err
	}
	var jobs []syncer.Job
	for _, t := range targets {
		if !t.stream.ByID {
			continue
		}
		client, err := api.get(t)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, t.job(client))
	}
	return jobs, nil
}

// tellReferences says what was found, and what went wrong, which is no failure of the sync: the next one asks again.
func (a *app) tellReferences(ctx context.Context, account, stream string, found []syncer.ReferenceResult, err error) {
	if err != nil && !wasStopped(ctx, err) {
		a.aboutStreams("warning", account, []string{stream}, err)
	}
	var stored, missing, unusable uint64
	for _, r := range found {
		a.metrics.AddReferences(account, r.Record.Stream, r.Stored, r.NotFound)
		stored, missing, unusable = stored+r.Stored, missing+r.NotFound, unusable+r.Unusable
		a.warnings(r.Record)
		if r.Err != nil && !wasStopped(ctx, r.Err) {
			a.aboutStreams("warning", account, []string{r.Record.Stream}, r.Err)
		}
	}
	if stored+missing+unusable > 0 {
		a.log.Info("asked for deals that transactions name and no list has", "account", account,
			"stored", stored, "not_found", missing, "unusable", unusable)
	}
}
