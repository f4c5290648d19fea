package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// opener opens warehouses for commands: each says whether it reads or loads, and whether a warehouse is made where
// there is none.
type opener struct {
	log         *slog.Logger
	metrics     *warehouse.Metrics // nil: nobody wants any
	limits      chdb.Limits        // of the embedded engine, if others may query it; zero: none
	fewRows     bool               // statements over few rows are cheap in the embedded engine: for tests (chdb.Options)
	patience    time.Duration      // how long a command that writes waits for another process to close the warehouse
	downloading func(percent int)
	showWaiting func(what string) (done func())
	// confine enters the sandbox of a command that loads (confinement).
	confine func(ctx context.Context, dir string, files ...string) error
}

// opening is one of the ways to open a warehouse.
type opening func(context.Context, *config.Config) (*warehouse.Warehouse, error)

// opener returns what opens warehouses. The logger and the metrics must exist by then.
func (a *app) opener() *opener {
	return &opener{log: a.log, metrics: a.metrics.Warehouse, fewRows: a.fewRows, patience: a.waits.folder,
		downloading: a.download.reached, showWaiting: a.showWaiting, confine: a.confine}
}

// existing opens the warehouse for a command that only reads it, and never creates one. A person waits for the
// answer, so failed statements are not retried.
func (o *opener) existing(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.made(ctx, cfg, throughAnybody)
}

// made opens a warehouse that exists, without retries.
func (o *opener) made(ctx context.Context, cfg *config.Config, lasting bool) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := mustExist(dir); err != nil {
			return nil, err
		}
	}
	if w, err := o.join(ctx, cfg, lasting, -1); w != nil || err != nil {
		return w, err
	}
	return o.open(ctx, cfg, -1)
}

// orCreate opens the warehouse for a command that writes, and creates it if it does not exist.
func (o *opener) orCreate(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	if w, err := o.join(ctx, cfg, throughDaemon, patienceOf(cfg)); w != nil || err != nil {
		return w, err
	}
	return o.alone(ctx, cfg)
}

// existingToLoad opens the warehouse for a command that loads. It does not create one.
func (o *opener) existingToLoad(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.made(ctx, cfg, throughDaemon)
}

// alone opens the warehouse for a command that must open an embedded one itself, and not through another process.
func (o *opener) alone(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.open(ctx, cfg, patienceOf(cfg))
}

// patienceOf returns how long a command that writes retries a statement.
func patienceOf(cfg *config.Config) time.Duration {
	if cfg.Warehouse.MaxRetryElapsed == 0 {
		return -1 // configured so: no second attempt
	}
	return cfg.Warehouse.MaxRetryElapsed
}

// How a command waits for an embedded warehouse that another process has open.
const (
	throughAnybody = false // it is done in a moment
	throughDaemon  = true  // it may take longer than a sync that is under way
)

// join opens an embedded warehouse that another process has open and shares. Both results are nil where nobody does.
func (o *opener) join(ctx context.Context, cfg *config.Config, lasting bool,
	maxRetryElapsed time.Duration) (*warehouse.Warehouse, error) {
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		return nil, nil //nolint:nilnil // nobody to join is no error
	}
	guest, err := chdb.Join(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		o.log.Debug("no other process shares the embedded warehouse", "reason", err)
		return nil, nil //nolint:nilnil // nobody to join is no error
	}
	if lasting && !guest.Lasting() {
		guest.Close()
		return nil, nil //nolint:nilnil // the caller waits for its end
	}
	o.log.Log(ctx, sharing(guest), "another dealhouse has the embedded warehouse open: working through it", "pid",
		guest.PID())
	return o.connect(ctx, cfg, warehouse.Options{MaxRetryElapsed: maxRetryElapsed, Guest: guest})
}

// sharing is the log level of the message that a command works through another process. Users know that of a daemon.
func sharing(g *chdb.Guest) slog.Level {
	if g.Lasting() {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// open opens the warehouse, and checks that it answers and that this version can work with it.
func (o *opener) open(ctx context.Context, cfg *config.Config,
	maxRetryElapsed time.Duration) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := o.confine(ctx, dir, cfg.Lineage.File); err != nil {
			return nil, err
		}
	}
	return o.connect(ctx, cfg, warehouse.Options{MaxRetryElapsed: maxRetryElapsed})
}

// connect opens the warehouse with the options that are the same for every command, and checks that it answers.
func (o *opener) connect(ctx context.Context, cfg *config.Config, x warehouse.Options) (*warehouse.Warehouse, error) {
	x.DSN, x.Database, x.Logger, x.Metrics = cfg.Warehouse.DSN.Reveal(), cfg.Warehouse.Database, o.log, o.metrics
	x.Limits, x.Downloading, x.FewRows = o.limits, o.downloading, o.fewRows
	x.Cluster, x.ViewsDatabase = cfg.Warehouse.Cluster, cfg.Warehouse.ViewsDatabase
	x.TLS = warehouse.TLS{CAFile: cfg.Warehouse.CAFile, CertFile: cfg.Warehouse.CertFile, KeyFile: cfg.Warehouse.KeyFile}
	done := o.showWaiting("starting the embedded ClickHouse")
	w, err := warehouse.Open(ctx, x)
	done()
	if err != nil {
		return nil, err
	}
	if _, err := w.Identify(ctx); err != nil {
		return nil, errors.Join(unreachable(cfg.Warehouse.RedactedDSN(), err), w.Close())
	}
	return w, nil
}

// share lets other processes of the user work with an embedded warehouse that this one has opened. If that fails, the
// command works all the same.
func (o *opener) share(w *warehouse.Warehouse, lasting bool) {
	if err := w.Share(lasting); err != nil {
		o.log.Warn("other commands cannot use the embedded warehouse while this one runs", "error", err)
	}
}

// whenFree opens an embedded warehouse as soon as no other process has it open.
func (o *opener) whenFree(ctx context.Context, cfg *config.Config, open opening) (*warehouse.Warehouse, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(o.patience)
	for first := true; ; first = false {
		w, err := open(ctx, cfg)
		if !errors.Is(err, chdb.ErrLocked) || time.Now().After(deadline) {
			return w, err
		}
		if first {
			o.log.Info("waiting for another process to close the embedded warehouse", "patience", o.patience)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
