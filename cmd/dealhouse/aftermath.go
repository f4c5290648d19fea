package main

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/report"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// aftermath is what follows from runs that have ended. What goes wrong in it is told, and is no failure of the runs; a
// signal ends it, and the next sync makes up for it.
func (a *app) aftermath(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, api *clients, results []syncer.Result) {
	if ctx.Err() != nil {
		return
	}
	if err := a.references(ctx, cfg, w, api, results); err != nil {
		a.complain("warning", err)
	}
	a.quality(ctx, w, results)
	a.reconciled(ctx, cfg, w, results)
}

// reconciled reconciles the payouts of the accounts whose payouts or transactions were loaded, and logs what is new.
func (a *app) reconciled(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	done := map[string]bool{}
	for _, r := range results {
		account := r.Record.Account
		if done[account] || !concernsPayouts(r) || ctx.Err() != nil {
			continue
		}
		done[account] = true
		if err := a.reconcileAfter(ctx, w, account, cfg.Finance.OverdueAfter); err != nil && !isCanceled(err) {
			a.complain("warning", fmt.Errorf("the payouts of account %s could not be reconciled; what was loaded is not affected: %w", account, err))
		}
	}
}

// concernsPayouts reports a run after which the reconciliation may find something else. One of payouts that changed
// nothing still makes certain which payouts are not there.
func concernsPayouts(r syncer.Result) bool {
	if r.Err != nil || r.Record.Outcome != warehouse.OutcomeSuccess {
		return false
	}
	return r.Job.Stream.Payouts || r.Job.Stream.NamesPayouts() && r.Record.Changes.Any()
}

func (a *app) reconcileAfter(ctx context.Context, w *warehouse.Warehouse, account string, overdueAfter time.Duration) error {
	a.reconciling.Lock() // of two at once, both would find the same to be new
	defer a.reconciling.Unlock()
	found, _, err := report.AfterSync(ctx, w, a.log, account, overdueAfter)
	if err == nil {
		a.metrics.SetPayouts(account, found.Counts())
	}
	return err
}

// recallPayouts brings the metrics of payouts up to date for accounts whose payouts this process has not reconciled: it
// has just begun, or was about something else.
func (a *app) recallPayouts(ctx context.Context, w *warehouse.Warehouse, overdueAfter time.Duration) error {
	a.reconciling.Lock() // what is newer must not be overtaken
	defer a.reconciling.Unlock()
	accounts := a.metrics.WithoutPayouts()
	if len(accounts) == 0 {
		return nil
	}
	found, err := report.Reconcile(ctx, w, report.Filter{OverdueAfter: overdueAfter})
	if err != nil {
		return err
	}
	for _, account := range accounts {
		a.metrics.SetPayouts(account, found.Of(account).Counts())
	}
	return nil
}
