package main

import (
	"context"
	"slices"

	"dealhouse/internal/config"
	"dealhouse/internal/report"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// aftermath is what follows from runs that have succeeded: after payouts or transactions, the payouts are reconciled,
// and what is new is logged. The runs stand whatever comes of it, so that a failure is a warning. ran is false when
// there was nothing to follow from.
func (a *app) aftermath(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) (s report.Summary, ran bool) {
	concerned := slices.ContainsFunc(results, func(r syncer.Result) bool {
		return r.Err == nil && r.Record.Outcome == warehouse.OutcomeSuccess && (r.Record.Stream == "payouts" || r.Record.Stream == "transactions")
	})
	if !concerned || ctx.Err() != nil {
		return s, false
	}
	s, err := report.AfterSync(ctx, w, a.log, cfg.Finance.OverdueAfter)
	if err != nil {
		a.log.Warn("the payouts could not be reconciled; what was loaded is not affected", "error", err)
		return s, false
	}
	return s, true
}
