package main

import (
	"context"
	"fmt"
	"slices"

	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
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

// reconciled reconciles the payouts after payouts or transactions were loaded, and logs what is new.
func (a *app) reconciled(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	concerned := slices.ContainsFunc(results, func(r syncer.Result) bool {
		return r.Err == nil && r.Record.Outcome == warehouse.OutcomeSuccess && (r.Record.Stream == "payouts" || r.Record.Stream == "transactions")
	})
	if !concerned || ctx.Err() != nil {
		return
	}
	a.reconciling.Lock() // of two at once, both would find the same to be new
	defer a.reconciling.Unlock()
	found, err := report.AfterSync(ctx, w, a.log, cfg.Finance.OverdueAfter)
	if err != nil {
		if !isCanceled(err) {
			a.complain("warning", fmt.Errorf("the payouts could not be reconciled; what was loaded is not affected: %w", err))
		}
		return
	}
	for _, account := range cfg.Accounts {
		name := account.Name
		a.metrics.SetPayouts(name, found.ByVerdict[name])
		a.metrics.SetPayoutCount(name, daemon.PayoutsAltered, found.Altered[name])
		a.metrics.SetPayoutCount(name, daemon.PayoutsMixedCurrency, found.MixedCurrency[name])
		a.metrics.SetPayoutCount(name, daemon.PayoutOrphanTransactions, found.Orphans[name])
		a.metrics.SetPayoutCount(name, daemon.PayoutOverdue, found.Overdue[name])
	}
}
