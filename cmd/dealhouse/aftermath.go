package main

import (
	"context"

	"dealhouse/internal/config"
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
}
