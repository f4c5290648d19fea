package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/lineage"
	"dealhouse/internal/warehouse"
)

// lastWords is how long the end of a command may take for what others are still to be told.
const lastWords = 2 * time.Second

// told is who is told of runs; nobody may be.
type told struct{ *lineage.Emitter }

// tell begins to tell others of runs, if the configuration names any.
func (a *app) tell(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) (told, error) {
	l := cfg.Lineage
	if !l.On() {
		return told{}, nil
	}
	server, err := w.Identify(ctx)
	if err != nil {
		return told{}, fmt.Errorf("asking the warehouse for its version: %w", err)
	}
	return told{lineage.New(lineage.Options{
		URL: l.URL, Key: l.Key.Reveal(), File: l.File, Namespace: l.Namespace,
		Parent:    lineage.Parent{Namespace: l.ParentNamespace, Job: l.ParentJob, Run: l.ParentRun},
		Warehouse: addressOf(cfg.Warehouse), Database: cfg.Warehouse.Database, Engine: server.Version, Version: readBuild().version,
		Lost: func(events int) { a.metrics.Lost(daemon.SignalLineage, events) }, Logger: a.log,
	})}, nil
}

// close tells what is left to be told, for a bounded time, even after a signal.
func (t told) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	t.Close(ctx)
}

// addressOf names a warehouse for catalogs of data: clickhouse://host:port, or the folder of an embedded one.
func addressOf(w config.Warehouse) string {
	if dir, embedded := w.EmbeddedDir(); embedded {
		if whole, err := filepath.Abs(dir); err == nil {
			dir = whole
		}
		return "embedded:" + dir
	}
	host, port := w.Address()
	return "clickhouse://" + host + ":" + port
}
