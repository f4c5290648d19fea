package main

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
)

// opener returns what opens warehouses. The logger and the metrics must exist by then.
func (a *app) opener() *service.Opener { return service.NewOpener(a.access()) }

// access returns how this program opens warehouses.
func (a *app) access() service.OpenOptions {
	o := service.OpenOptions{Logger: a.log, Metrics: a.metrics.Warehouse, FewRows: a.fewRows, Patience: a.waits.folder,
		Downloading: a.download.reached, ShowWaiting: a.showWaiting}
	if a.door != nil {
		o.Limits, o.LimitReaders = a.door.limits.engine(), true
	}
	if a.apart && a.become != nil {
		o.Apart = new(engineApart{app: a}).open
	}
	return o
}

// readWarehouse opens the warehouse for a command that only reads it, and closes it after do. If do fails because a
// table or column is missing, the error says that the schema is old.
func (a *app) readWarehouse(ctx context.Context, do func(*config.Config, *warehouse.Warehouse) error) (err error) {
	cfg, err := a.readOnly("warehouse")
	if err != nil {
		return err
	}
	w, err := a.opener().Existing(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return orOldSchema(do(cfg, w))
}

// orOldSchema adds to an error about a missing table or column that the schema is old.
func orOldSchema(err error) error {
	if warehouse.IsMissing(err) {
		return fmt.Errorf("%w (%w)", warehouse.ErrSchemaOld, err)
	}
	return err
}

// place is the database and where it is, for messages.
func place(cfg *config.Config) string {
	return cfg.Warehouse.Database + " in " + cfg.Warehouse.RedactedDSN()
}
