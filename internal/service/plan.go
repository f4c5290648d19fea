package service

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
	"dealhouse/internal/notify"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Planner makes the daemon's plans out of configurations.
type Planner struct {
	// Warehouse must be set before the first plan takes effect, and may be nil until then: a configuration without a
	// valid plan is refused before anything is opened.
	Warehouse *warehouse.Warehouse
	// Notifier gets the receivers of each plan that takes effect, and after each run. It is to be set as Warehouse
	// is.
	Notifier *notify.Notifier

	service *Service
	read    func() (*config.Config, error)
	first   *config.Config                // has the settings that cannot change without a restart
	paces   map[string]pace               // by account, as the plan in force has them
	inForce atomic.Pointer[config.Config] // that of the plan in force
}

// Planner returns a planner that starts with a configuration and reads it again with read.
func (s *Service) Planner(first *config.Config, read func() (*config.Config, error)) *Planner {
	p := &Planner{service: s, read: read, first: first}
	p.inForce.Store(first) // the port may be asked before the first plan is in force
	return p
}

// OverdueAfter is the age from which transactions that are in no payout are overdue, by the plan in force.
func (p *Planner) OverdueAfter() time.Duration { return p.inForce.Load().Finance.OverdueAfter }

// Tolerances returns the tolerances of the plan in force: differences of payouts up to these need nobody's attention.
func (p *Planner) Tolerances() map[string]int64 { return p.inForce.Load().Finance.Tolerances }

// pace is an account's rate limit. It outlives a reload (one limit for an account): runs under way and those of the new
// plan share it, and what it has learnt about the API stays known.
type pace struct {
	requestsPerSecond float64
	limiter           *dealapi.Limiter
}

// Reread makes a plan of the configuration as it is now.
func (p *Planner) Reread(context.Context) (*daemon.Plan, error) {
	cfg, err := p.read()
	if err != nil {
		return nil, err
	}
	return p.Plan(cfg)
}

// warnOfFixed says which changes do not take effect.
func (p *Planner) warnOfFixed(cfg *config.Config) {
	was, is := p.first.Daemon, cfg.Daemon
	for _, setting := range []struct {
		name    string
		changed bool
	}{
		{"warehouse.dsn", !p.first.Warehouse.DSN.Equal(cfg.Warehouse.DSN)},
		{"warehouse.views_database", p.first.Warehouse.ViewsDatabase != cfg.Warehouse.ViewsDatabase},
		{"warehouse.cluster", p.first.Warehouse.Cluster != cfg.Warehouse.Cluster},
		{"warehouse.ca_file", p.first.Warehouse.CAFile != cfg.Warehouse.CAFile},
		{"warehouse.cert_file", p.first.Warehouse.CertFile != cfg.Warehouse.CertFile},
		{"warehouse.key_file", p.first.Warehouse.KeyFile != cfg.Warehouse.KeyFile},
		{"warehouse.signing_key_file", p.first.Warehouse.SigningKeyFile != cfg.Warehouse.SigningKeyFile},
		{"warehouse.database", p.first.Warehouse.Database != cfg.Warehouse.Database},
		{"warehouse.max_retry_elapsed", p.first.Warehouse.MaxRetryElapsed != cfg.Warehouse.MaxRetryElapsed},
		{"[lineage]", !sameLineage(p.first.Lineage, cfg.Lineage)},
		{"daemon.listen", was.Listen != is.Listen},
		{"daemon.user", was.User != is.User},
		{"daemon.password", !was.Password.Equal(is.Password)},
		{"daemon.tls_cert", was.TLSCert != is.TLSCert},
		{"daemon.tls_key", was.TLSKey != is.TLSKey},
		{"[door]", !sameDoor(p.first.Door, cfg.Door)},
		{"daemon.pprof", was.Pprof != is.Pprof},
	} {
		if setting.changed {
			p.service.log.Warn("a changed setting takes effect at the next start only: restart the daemon", "setting",
				setting.name)
		}
	}
}

func sameDoor(a, b config.Door) bool {
	same := a.Password.Equal(b.Password)
	a.Password, b.Password = config.Secret{}, config.Secret{}
	return same && a == b
}

// sameLineage reports whether runs are reported to the same receiver.
func sameLineage(a, b config.Lineage) bool {
	same := a.Key.Equal(b.Key)
	a.Key, b.Key = config.Secret{}, config.Secret{}
	return same && a == b
}

// Plan makes a plan. Its error is a SettingError (a mistake that config.Read cannot see, or a plan that does nothing)
// or the error of a client. The planner does not change before the daemon adopts the plan (daemon-6).
func (p *Planner) Plan(cfg *config.Config) (*daemon.Plan, error) {
	zone, err := time.LoadLocation(cfg.Daemon.TimeZone)
	if err != nil {
		return nil, settingf("daemon.time_zone: %w", err)
	}
	if _, err := (Selection{}).Targets(cfg); err != nil {
		return nil, err
	}
	receivers, err := p.service.Receivers(cfg)
	if err != nil {
		return nil, err
	}
	api := p.service.measured()
	plan := &daemon.Plan{Jitter: cfg.Daemon.Jitter, Grace: cfg.Daemon.Grace, Retry: cfg.Daemon.Retry, MaxRuns: cfg.Daemon.MaxRuns, Close: api.Close}
	plan.After = func(ctx context.Context, results []syncer.Result) {
		p.service.AfterRuns(ctx, cfg, p.Warehouse, api, results)
		if p.Notifier != nil {
			p.Notifier.Wake()
		}
	}
	plan.Beside = func(ctx context.Context) {
		if err := p.service.fillPayoutMetrics(ctx, p.Warehouse, cfg.Finance.OverdueAfter); err != nil && !Canceled(err) {
			p.service.warn(Warning{Err: fmt.Errorf("the metrics lack payouts until the next run of payouts: %w", err)})
		}
	}
	paces := maps.Clone(p.paces)
	if paces == nil {
		paces = map[string]pace{}
	}
	plan.Adopted = func() {
		p.paces = paces
		p.inForce.Store(cfg)
		p.warnOfFixed(cfg)
		if p.Notifier != nil {
			p.Notifier.Adopt(receivers)
		}
	}
	for _, account := range cfg.Accounts {
		if paces[account.Name].requestsPerSecond != account.RequestsPerSecond {
			paces[account.Name] = pace{account.RequestsPerSecond, dealapi.NewLimiter(account.RequestsPerSecond)}
		}
		api.limiters[account.Name] = paces[account.Name].limiter
		for _, stream := range catalog.All() {
			setting, _ := account.Stream(stream.Name)
			s, err := planStream(api, Target{account, setting, stream}, zone)
			if err != nil {
				api.Close()
				return nil, err
			}
			plan.Streams = append(plan.Streams, s)
		}
	}
	return plan, nil
}

func planStream(api *Clients, t Target, zone *time.Location) (daemon.Stream, error) {
	if !t.Setting.Enabled { // it is shown, and needs no key
		return daemon.Stream{Job: syncer.Job{Account: t.Account.Name, Stream: t.Stream, Scope: t.Setting.Scope}}, nil
	}
	client, err := api.Get(t)
	if err != nil {
		return daemon.Stream{}, err
	}
	s := daemon.Stream{Job: t.job(client), Enabled: true}
	if s.Schedule, err = daemon.ParseSchedule(t.Setting.Schedule, zone); err != nil {
		return daemon.Stream{}, err
	}
	s.Resync, err = daemon.ParseSchedule(t.Setting.Resync, zone)
	return s, err
}
