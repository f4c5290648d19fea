package service

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

// Publishing is where a batch run leaves its metrics, since nobody can scrape a process that has ended.
type Publishing struct {
	Gateway  *url.URL // of a Pushgateway; nil: none
	Textfile string   // for the node exporter; empty: none
	Registry *prometheus.Registry

	streams []warehouse.StreamID // all that are configured
}

// ExpectStreams creates the series of every configured stream. Published metrics replace the earlier ones, so they must
// include the streams of other syncs. nil means that none are published.
func (s *Service) ExpectStreams(p *Publishing, cfg *config.Config) {
	if p == nil {
		return
	}
	for _, account := range cfg.Accounts {
		for _, name := range catalog.Names() {
			if setting, _ := account.Stream(name); setting.Enabled {
				p.streams = append(p.streams, warehouse.StreamID{Account: account.Name, Stream: name})
				s.metrics.Expect(account.Name, name)
			}
		}
	}
}

// Publish publishes the metrics; nil means nowhere. A failure is only a warning, because the data is in the warehouse
// (what comes after a run never fails it).
func (s *Service) Publish(ctx context.Context, p *Publishing, cfg *config.Config, w *warehouse.Warehouse) {
	if p == nil {
		return
	}
	unknown, err := s.fillMetrics(ctx, p, cfg, w)
	if err != nil {
		s.warn(Warning{Err: fmt.Errorf("the metrics could not be read completely, so the Pushgateway or the file keeps what it has: %w", err)})
	}
	s.metrics.EndJob(s.now())
	gatherer := onlyBatch{p.Registry, unknown}
	if p.Textfile != "" && len(unknown) == 0 { // it is replaced as a whole
		if err := prometheus.WriteToTextfile(p.Textfile, gatherer); err != nil {
			s.warn(Warning{Err: fmt.Errorf("the metrics could not be written to %s: %w", p.Textfile, err)})
		}
	}
	if p.Gateway != nil {
		ctx, cancel := afterSignal(ctx)
		defer cancel()
		if err := p.push(ctx, gatherer); err != nil {
			s.warn(Warning{Err: fmt.Errorf("the metrics could not be pushed to %s: %w", p.Gateway.Redacted(), err)})
		}
	}
}

// afterSignal is a context for what is to be done even after a signal.
func afterSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
}

// fillMetrics sets the metrics of all configured streams, checks and payouts, not only of those that this process
// handled (published metrics replace the earlier ones). If the warehouse cannot be queried, it returns the prefixes of
// the metrics that would be wrong.
func (s *Service) fillMetrics(ctx context.Context, p *Publishing, cfg *config.Config,
	w *warehouse.Warehouse) (unknown []string, err error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = afterSignal(ctx)
		defer cancel()
	}
	all, statusErr := w.Status(ctx)
	if statusErr != nil {
		unknown = append(unknown, "dealhouse_last_", "dealhouse_live_rows", "dealhouse_watermark_timestamp_")
	}
	s.metrics.Syncer.Observe(all)
	checks, checksErr := w.LatestChecks(ctx)
	if checksErr != nil {
		unknown = append(unknown, "dealhouse_quality_")
	}
	for _, id := range p.streams {
		s.metrics.SetChecks(checks[id])
	}
	payoutsErr := s.fillPayoutMetrics(ctx, w, cfg.Finance.OverdueAfter)
	if payoutsErr != nil {
		unknown = append(unknown, "dealhouse_payout")
	}
	return unknown, errors.Join(statusErr, checksErr, payoutsErr)
}

// push adds the metrics to the group of the job. The group has no name of a host or pod: the next run, wherever it is,
// replaces them.
func (p *Publishing) push(ctx context.Context, gatherer prometheus.Gatherer) error {
	target := *p.Gateway
	target.User = nil // or errors would show it
	pusher := push.New(target.String(), "dealhouse").Gatherer(gatherer).Client(&http.Client{})
	if user := p.Gateway.User; user != nil {
		password, _ := user.Password()
		pusher = pusher.BasicAuth(user.Username(), password)
	}
	err := pusher.AddContext(ctx)
	if cause, ok := errors.AsType[*url.Error](err); ok {
		return cause.Err
	}
	return err
}

// onlyBatch leaves out the metrics that would be wrong as soon as the process has ended (published metrics replace the
// earlier ones).
type onlyBatch struct {
	*prometheus.Registry
	unknown []string // prefixes of the metrics that could not be filled
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
