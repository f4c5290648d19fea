package main

import (
	"context"
	"fmt"
	"slices"

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

// reconciled reconciles the payouts after payouts or transactions were loaded, and logs what is new.
func (a *app) reconciled(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	concerned := slices.ContainsFunc(results, func(r syncer.Result) bool {
		return r.Err == nil && r.Record.Outcome == warehouse.OutcomeSuccess && (r.Record.Stream == "payouts" || r.Record.Stream == "transactions")
	})
	if !concerned || ctx.Err() != nil {
		return
	}
	if _, err := report.AfterSync(ctx, w, a.log, cfg.Finance.OverdueAfter); err != nil {
		a.complain("warning", fmt.Errorf("the payouts could not be reconciled; what was loaded is not affected: %w", err))
	}
}
