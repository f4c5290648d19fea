package main

import (
	"context"

	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// aftermath is what follows from runs that have ended. What goes wrong in it is told, and is no failure of the runs: an
// error means that the program is to end.
func (a *app) aftermath(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, api *clients, results []syncer.Result) error {
	return a.references(ctx, cfg, w, api, results)
}
