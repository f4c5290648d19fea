package main

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// planner makes the daemon's plans out of configurations.
type planner struct {
	*app
	w       *warehouse.Warehouse
	first   *config.Config                // what cannot change without a restart is as it says
	paces   map[string]pace               // by account, as the plan in force has them
	inForce atomic.Pointer[config.Config] // that of the plan in force
}

func newPlanner(a *app, cfg *config.Config) *planner {
	p := &planner{app: a, first: cfg}
	p.inForce.Store(cfg) // the port may be asked before the first plan is in force
	return p
}

func (p *planner) overdueAfter() time.Duration { return p.inForce.Load().Finance.OverdueAfter }

// pace is an account's rate limit. It outlives a reload: runs under way and those of the new plan share it, and what it
// has learnt about the API stays known.
type pace struct {
	requestsPerSecond float64
	limiter           *dealapi.Limiter
}

// load reads the configuration again.
func (p *planner) load(context.Context) (*daemon.Plan, error) {
	cfg, err := p.loadDaemonConfig()
	if err != nil {
		return nil, err
	}
	return p.plan(cfg)
}

// tellFixed says which changes do not take effect.
func (p *planner) tellFixed(cfg *config.Config) {
	was, is := p.first.Daemon, cfg.Daemon
	for _, setting := range []struct {
		name    string
		changed bool
	}{
		{"warehouse.dsn", !p.first.Warehouse.DSN.Equal(cfg.Warehouse.DSN)},
		{"warehouse.database", p.first.Warehouse.Database != cfg.Warehouse.Database},
		{"warehouse.max_retry_elapsed", p.first.Warehouse.MaxRetryElapsed != cfg.Warehouse.MaxRetryElapsed},
		{"daemon.listen", was.Listen != is.Listen},
		{"daemon.user", was.User != is.User},
		{"daemon.password", !was.Password.Equal(is.Password)},
		{"daemon.tls_cert", was.TLSCert != is.TLSCert},
		{"daemon.tls_key", was.TLSKey != is.TLSKey},
		{"daemon.pprof", was.Pprof != is.Pprof},
	} {
		if setting.changed {
			p.log.Warn("a setting was changed that takes effect at the next start only: restart the daemon", "setting", setting.name)
		}
	}
}

// plan makes a plan. It fails for what config.Load cannot know to be wrong, and for one that does nothing. It changes
// nothing of the planner until the daemon adopts the plan (daemon-6).
func (p *planner) plan(cfg *config.Config) (*daemon.Plan, error) {
	zone, err := time.LoadLocation(cfg.Daemon.TimeZone)
	if err != nil {
		return nil, usagef("daemon.time_zone: %w", err)
	}
	if _, err := (selection{}).targets(cfg); err != nil {
		return nil, err
	}
	api := p.newClients(func(o *dealapi.Options) { o.Metrics = p.metrics.API })
	plan := &daemon.Plan{Jitter: cfg.Daemon.Jitter, Grace: cfg.Daemon.Grace, Close: api.close}
	plan.After = func(ctx context.Context, results []syncer.Result) { p.aftermath(ctx, cfg, p.w, api, results) }
	plan.Beside = func(ctx context.Context) {
		if err := p.recallPayouts(ctx, p.w, cfg.Finance.OverdueAfter); err != nil && !isCanceled(err) {
			p.complain("warning", fmt.Errorf("the metrics lack payouts until the next run of payouts: %w", err))
		}
	}
	paces := maps.Clone(p.paces)
	if paces == nil {
		paces = map[string]pace{}
	}
	plan.Adopted = func() {
		p.paces = paces
		p.inForce.Store(cfg)
		p.tellFixed(cfg)
	}
	for _, account := range cfg.Accounts {
		if paces[account.Name].requestsPerSecond != account.RequestsPerSecond {
			paces[account.Name] = pace{account.RequestsPerSecond, dealapi.NewLimiter(account.RequestsPerSecond)}
		}
		api.limiters[account.Name] = paces[account.Name].limiter
		for _, stream := range catalog.All() {
			setting, _ := account.Stream(stream.Name)
			s, err := planStream(api, target{account, setting, stream}, zone)
			if err != nil {
				api.close()
				return nil, err
			}
			plan.Streams = append(plan.Streams, s)
		}
	}
	return plan, nil
}

func planStream(api *clients, t target, zone *time.Location) (daemon.Stream, error) {
	if !t.setting.Enabled { // it is shown, and needs no key
		return daemon.Stream{Job: syncer.Job{Account: t.account.Name, Stream: t.stream}}, nil
	}
	client, err := api.get(t)
	if err != nil {
		return daemon.Stream{}, err
	}
	s := daemon.Stream{Job: t.job(client), Enabled: true}
	if s.Schedule, err = daemon.ParseSchedule(t.setting.Schedule, zone); err != nil {
		return daemon.Stream{}, err
	}
	s.Resync, err = daemon.ParseSchedule(t.setting.Resync, zone)
	return s, err
}
