package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	dto "github.com/prometheus/client_model/go"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// publishing is where a batch run leaves its metrics, since nobody can scrape a process that has ended.
type publishing struct {
	gateway  *url.URL // of a Pushgateway; nil: none
	textfile string   // for the node exporter; empty: none

	registry *prometheus.Registry
}

// newPublishing understands the flags; nil means that nobody wants metrics.
func (a *app) newPublishing(ctx context.Context, gateway, textfile string) (*publishing, error) {
	if gateway == "" && textfile == "" {
		return nil, nil
	}
	p := &publishing{textfile: textfile}
	if gateway != "" {
		u, err := url.Parse(gateway)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usagef("--push-gateway: want a URL such as http://pushgateway:9091") // the URL may hold a password
		}
		p.gateway = u
	}
	p.registry = a.measure(ctx)
	return p, nil
}

// publish leaves the metrics where they are wanted. What it cannot leave is a warning: the data is in the warehouse all
// the same, and the exit code speaks of that.
func (a *app) publish(ctx context.Context, p *publishing, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second) // also after a signal
	defer cancel()
	// A group of the Pushgateway has one value for each series: the streams of other syncs must be in it too.
	for _, account := range cfg.Accounts {
		for _, name := range catalog.Names() {
			if setting, _ := account.Stream(name); setting.Enabled {
				a.metrics.Expect(account.Name, name)
			}
		}
	}
	all, err := w.Status(ctx)
	if err != nil {
		a.complain("warning", fmt.Errorf("the metrics lack where the streams stand: %w", err))
	}
	a.metrics.Syncer.Observe(all)
	gatherer := onlyBatch{p.registry, slices.ContainsFunc(results, func(r syncer.Result) bool { return r.Err == nil })}
	if p.textfile != "" {
		if err := prometheus.WriteToTextfile(p.textfile, gatherer); err != nil {
			a.complain("warning", fmt.Errorf("the metrics could not be written to %s: %w", p.textfile, err))
		}
	}
	if p.gateway != nil {
		if err := p.push(ctx, gatherer); err != nil {
			a.complain("warning", fmt.Errorf("the metrics could not be pushed to %s: %w", p.gateway.Redacted(), err))
		}
	}
}

// push adds the metrics to the group of the job. The group has no name of a host or pod: the next run, wherever it is,
// replaces them.
func (p *publishing) push(ctx context.Context, gatherer prometheus.Gatherer) error {
	target := *p.gateway
	target.User = nil // or errors would show it
	pusher := push.New(target.String(), "dealhouse").Gatherer(gatherer).Client(&http.Client{})
	if user := p.gateway.User; user != nil {
		password, _ := user.Password()
		pusher = pusher.BasicAuth(user.Username(), password)
	}
	err := pusher.AddContext(ctx)
	if cause, ok := errors.AsType[*url.Error](err); ok {
		return cause.Err
	}
	return err
}

// onlyBatch leaves out what a process that has ended would be lying about.
type onlyBatch struct {
	*prometheus.Registry
	succeeded bool // at least one stream did
}

// Gather is a prometheus.Gatherer's.
func (g onlyBatch) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.Registry.Gather()
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		switch f.GetName() {
		case "dealhouse_last_success_timestamp_seconds":
			// A failure leaves the value that is there, and so the alert on its age.
			f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool { return m.GetGauge().GetValue() == 0 })
			return !g.succeeded || len(f.Metric) == 0
		case "dealhouse_look_age_seconds", "dealhouse_watermark_lag_seconds", // would stand still: compare the timestamps with time()
			"dealhouse_lease_held", "dealhouse_runs_in_progress", "dealhouse_next_run_timestamp_seconds", "dealhouse_missed_runs_total",
			"dealhouse_config_reload_success", "dealhouse_config_last_reload_timestamp_seconds", "dealhouse_rate_limit_requests_per_second":
			return true
		}
		return false
	}), err
}
