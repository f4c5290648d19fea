package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/lineage"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// exports holds the receivers of OpenLineage events, traces and metrics of a command. All of them may be missing.
type exports struct {
	*lineage.Emitter
	sender *telemetry.Sender
	span   *telemetry.Span
	within time.Duration // what close takes at the most
}

// exported returns what the variables of OpenTelemetry ask for. If they ask for metrics, everything created afterwards
// is counted in them. registry is the registry that exists already.
func (a *app) exported(registry *prometheus.Registry) (telemetry.Settings, *prometheus.Registry) {
	settings := telemetry.Read(a.env)
	for _, problem := range settings.Problems {
		a.log.Warn("an OpenTelemetry variable is invalid, so nothing is sent for it", "problem", problem)
	}
	if settings.Metrics != nil && registry == nil {
		registry = a.measure()
	}
	return settings, registry
}

// startExports begins to send events, traces and metrics of a command, and returns the context that carries them. span
// is the name of the command's own span, if it has one.
func (a *app) startExports(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, settings telemetry.Settings,
	registry *prometheus.Registry, span string) (context.Context, exports, error) {
	t := exports{within: a.waits.exports}
	if l := cfg.Lineage; l.On() {
		server, err := w.Identify(ctx)
		if err != nil {
			return ctx, t, fmt.Errorf("asking the warehouse for its version: %w", err)
		}
		t.Emitter = lineage.New(lineage.Options{
			URL: l.URL, Key: l.Key.Reveal(), File: l.File, Namespace: l.Namespace,
			Parent:    lineage.Parent{Namespace: l.ParentNamespace, Job: l.ParentJob, Run: l.ParentRun},
			Warehouse: addressOf(cfg.Warehouse), Database: cfg.Warehouse.Database, Engine: server.Version,
			Version: readBuild().version,
			Lost:    func(events int) { a.metrics.Lost(daemon.SignalLineage, events) }, Logger: a.log,
		})
	}
	if settings.On() {
		o := telemetry.Options{Settings: settings, Version: readBuild().version, Lost: a.metrics.Lost, Logger: a.log}
		if registry != nil {
			o.Gatherer = registry
		}
		var err error
		if t.sender, err = telemetry.StartSender(ctx, o); err != nil { // the variables are not ours: no reason not to work
			a.log.Warn("traces and metrics cannot be sent", "error", err)
		}
		ctx = t.sender.Context(ctx)
		if span != "" {
			ctx, t.span = telemetry.Start(ctx, span)
		}
	}
	return ctx, t, nil
}

// close sends what is left, for a bounded time, even after a signal.
func (t exports) close(ctx context.Context) {
	t.span.End(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.within)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() { t.Close(ctx) })
	group.Go(func() { t.sender.Close(ctx) })
	group.Wait()
}

// addressOf names a warehouse for catalogs of data: clickhouse://host:port, or the folder of an embedded one.
func addressOf(w config.Warehouse) string {
	if dir, embedded := w.EmbeddedDir(); embedded {
		if whole, err := filepath.Abs(dir); err == nil {
			dir = whole
		}
		return warehouse.EmbeddedScheme + dir
	}
	host, port := w.Address()
	return "clickhouse://" + host + ":" + port
}
