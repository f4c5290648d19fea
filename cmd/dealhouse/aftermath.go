package main

import (
	"context"

	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// aftermath is what follows from runs that have ended. What goes wrong in it is told, and is no failure of the runs.
func (a *app) aftermath(ctx context.Context, _ *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	a.quality(ctx, w, results)
}
