package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	dto "github.com/prometheus/client_model/go"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// publishing is where a batch run leaves its metrics, since nobody can scrape a process that has ended.
type publishing struct {
	gateway  *url.URL // of a Pushgateway; nil: none
	textfile string   // for the node exporter; empty: none

	registry *prometheus.Registry
	streams  []warehouse.StreamID // all that are configured
}

// newPublishing understands the flags; nil means that nobody wants metrics.
func (a *app) newPublishing(ctx context.Context, cfg *config.Config, gateway, textfile string) (*publishing, error) {
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
	// What is published replaces what was there, so the streams of other syncs must be in it too.
	for _, account := range cfg.Accounts {
		for _, name := range catalog.Names() {
			if setting, _ := account.Stream(name); setting.Enabled {
				p.streams = append(p.streams, warehouse.StreamID{Account: account.Name, Stream: name})
				a.metrics.Expect(account.Name, name)
			}
		}
	}
	return p, nil
}

// publish leaves the metrics where they are wanted. What it cannot leave is a warning: the data is in the warehouse all
// the same, and the exit code speaks of that.
func (a *app) publish(ctx context.Context, p *publishing, cfg *config.Config, w *warehouse.Warehouse) {
	if p == nil {
		return
	}
	unknown, err := a.recall(ctx, p, cfg, w)
	if err != nil {
		a.complain("warning", fmt.Errorf("the metrics lack what could not be read: a Pushgateway keeps what it has, and a file stays as it is: %w", err))
	}
	gatherer := onlyBatch{p.registry, unknown}
	if p.textfile != "" && len(unknown) == 0 { // it is replaced as a whole
		if err := prometheus.WriteToTextfile(p.textfile, gatherer); err != nil {
			a.complain("warning", fmt.Errorf("the metrics could not be written to %s: %w", p.textfile, err))
		}
	}
	if p.gateway != nil {
		ctx, cancel := lingering(ctx)
		defer cancel()
		if err := p.push(ctx, gatherer); err != nil {
			a.complain("warning", fmt.Errorf("the metrics could not be pushed to %s: %w", p.gateway.Redacted(), err))
		}
	}
}

// lingering is a context for what is to be done even after a signal.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
}

// recall makes the metrics say where all streams, checks and payouts stand, whatever this process was about. Where the
// warehouse does not tell, it returns how the names of the metrics begin that would be lying.
func (a *app) recall(ctx context.Context, p *publishing, cfg *config.Config, w *warehouse.Warehouse) (unknown []string, err error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = lingering(ctx)
		defer cancel()
	}
	all, statusErr := w.Status(ctx)
	if statusErr != nil {
		unknown = append(unknown, "dealhouse_last_", "dealhouse_live_rows", "dealhouse_watermark_timestamp_")
	}
	a.metrics.Syncer.Observe(all)
	checks, checksErr := w.LatestChecks(ctx)
	if checksErr != nil {
		unknown = append(unknown, "dealhouse_quality_")
	}
	for _, id := range p.streams {
		a.metrics.SetChecks(checks[id])
	}
	payoutsErr := a.recallPayouts(ctx, w, cfg.Finance.OverdueAfter)
	if payoutsErr != nil {
		unknown = append(unknown, "dealhouse_payout")
	}
	return unknown, errors.Join(statusErr, checksErr, payoutsErr)
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
	unknown []string // how the names of metrics begin of which too little is known
}

// Gather is a prometheus.Gatherer's.
func (g onlyBatch) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.Registry.Gather()
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		switch f.GetName() {
		case "dealhouse_look_age_seconds", "dealhouse_watermark_lag_seconds", // would stand still: compare the timestamps with time()
			"dealhouse_lease_held", "dealhouse_runs_in_progress", "dealhouse_next_run_timestamp_seconds", "dealhouse_missed_runs_total",
			"dealhouse_config_reload_success", "dealhouse_config_last_reload_timestamp_seconds", "dealhouse_rate_limit_requests_per_second":
			return true
		}
		return slices.ContainsFunc(g.unknown, func(begin string) bool { return strings.HasPrefix(f.GetName(), begin) })
	}), err
}
