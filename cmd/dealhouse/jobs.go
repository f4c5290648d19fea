package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// selection says which streams of which accounts a command is about; nothing named means all that are enabled.
type selection struct {
	accounts, streams []string
}

// target is one stream of one account.
type target struct {
	account config.Account
	setting config.Stream
	stream  *catalog.Stream
}

// targets finds what is selected.
func (s selection) targets(cfg *config.Config) ([]target, error) {
	accounts, err := s.chosenAccounts(cfg)
	if err != nil {
		return nil, err
	}
	streams, err := s.chosenStreams()
	if err != nil {
		return nil, err
	}
	var all []target
	enabled := map[string]bool{}
	for _, account := range accounts {
		for _, stream := range streams {
			setting, ok := account.Stream(stream.Name)
			if ok && setting.Enabled {
				enabled[stream.Name] = true
				all = append(all, target{account, setting, stream})
			}
		}
	}
	for _, name := range s.streams {
		if name = canonical(name); !enabled[name] {
			return nil, usagef("%s is disabled in the configuration: set enabled = true under [account.streams.%s]", name, name)
		}
	}
	if len(all) == 0 {
		return nil, usagef("every stream is disabled in the configuration: there is nothing to do")
	}
	return all, nil
}

func (s selection) chosenAccounts(cfg *config.Config) ([]config.Account, error) {
	names := accountNames(cfg)
	for _, name := range s.accounts {
		if !slices.Contains(names, name) {
			return nil, usagef("there is no account %q in the configuration: it has %s", name, list(names))
		}
	}
	if len(s.accounts) == 0 {
		return cfg.Accounts, nil
	}
	return slices.DeleteFunc(slices.Clone(cfg.Accounts), func(a config.Account) bool { return !slices.Contains(s.accounts, a.Name) }), nil
}

func accountNames(cfg *config.Config) []string {
	var names []string
	for _, a := range cfg.Accounts {
		names = append(names, a.Name)
	}
	return names
}

// unknownAccount is the mistake of asking for an account by a wrong name, to be made where nothing was found of it: one
// that is configured no more still has rows. name may be empty.
func unknownAccount(cfg *config.Config, name string) error {
	if _, configured := cfg.Account(name); configured || name == "" {
		return nil
	}
	names := accountNames(cfg)
	if len(names) == 0 {
		names = []string{"none"}
	}
	return usagef("there is no account %q in the configuration: it has %s. Nor was anything found of one that was there before", name, list(names))
}

func (s selection) chosenStreams() ([]*catalog.Stream, error) {
	var wanted []string
	for _, name := range s.streams {
		if !slices.Contains(catalog.Names(), canonical(name)) {
			return nil, usagef("there is no stream %q: the streams are %s", name, list(catalog.Names()))
		}
		wanted = append(wanted, canonical(name))
	}
	if len(wanted) == 0 {
		return catalog.All(), nil
	}
	return slices.DeleteFunc(catalog.All(), func(stream *catalog.Stream) bool { return !slices.Contains(wanted, stream.Name) }), nil
}

// canonical is a stream's name with the hyphens that the API's paths have.
func canonical(stream string) string { return strings.ReplaceAll(stream, "-", "_") }

// clients are the API clients of a command: one for each account and key, all those of an account under one limiter.
type clients struct {
	log      *slog.Logger
	bodies   *dealapi.Bodies
	tune     func(*dealapi.Options) // may be nil
	limiters map[string]*dealapi.Limiter

	mu      sync.Mutex // what follows runs of the daemon asks from several goroutines
	clients map[clientKey]*dealapi.Client
}

type clientKey struct{ account, key string }

func (a *app) newClients(tune func(*dealapi.Options)) *clients {
	return &clients{log: a.log, bodies: a.bodies, tune: tune, limiters: map[string]*dealapi.Limiter{}, clients: map[clientKey]*dealapi.Client{}}
}

func (c *clients) get(t target) (*dealapi.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := clientKey{t.account.Name, t.setting.Key.Reveal()}
	if client := c.clients[id]; client != nil {
		return client, nil
	}
	if c.limiters[id.account] == nil {
		c.limiters[id.account] = dealapi.NewLimiter(t.account.RequestsPerSecond)
	}
	o := dealapi.Options{
		Account: id.account, BaseURL: t.account.BaseURL, Key: id.key, UserAgent: "dealhouse/" + readBuild().version,
		Timeout: t.account.Timeout, MaxBodyBytes: t.account.MaxBodyBytes, Bodies: c.bodies, MaxElapsed: t.account.MaxRetryElapsed,
		Limiter: c.limiters[id.account], AllowInsecure: t.account.AllowInsecure, Logger: c.log,
	}
	if o.MaxElapsed == 0 { // configured so: no second attempt
		o.MaxAttempts = 1
	}
	if c.tune != nil {
		c.tune(&o)
	}
	client, err := dealapi.New(o)
	if err != nil {
		return nil, err
	}
	c.clients[id] = client
	return client, nil
}

func (c *clients) close() {
	for _, client := range c.clients {
		client.Close()
	}
}

// job is the run of a target, with the settings as they are configured.
func (t target) job(client *dealapi.Client) syncer.Job {
	return syncer.Job{
		Account: t.account.Name, Stream: t.stream, Client: client,
		Params: syncer.Params{
			UpdatedAfter: t.account.Params.UpdatedAfter, UpdatedBefore: t.account.Params.UpdatedBefore,
			Page: t.account.Params.Page, Cursor: t.account.Params.Cursor,
		},
		BatchRows:        t.account.BatchRows,
		Overlap:          t.setting.Overlap,
		InitialFrom:      t.setting.InitialFrom,
		MaxDeleteRatio:   t.setting.MaxDeleteRatio,
		MaxRejectedRatio: t.setting.MaxRejectedRatio,
		ConfirmDeletes:   t.setting.ConfirmDeletes,
		DeleteAfterLists: t.setting.DeleteAfterLists,
		ResumeWithin:     t.setting.ResumeWithin,
		ReferenceLimit:   t.setting.ReferenceLimit,
		ReferenceRetry:   t.setting.ReferenceRetry,
		Timeout:          t.setting.RunTimeout,
	}
}

// orNone is a configured zero where zero means a default: less than nothing.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// runJobs makes all runs side by side and shows their progress. One that fails does not stop the others.
func (a *app) runJobs(ctx context.Context, w *warehouse.Warehouse, jobs []syncer.Job) ([]syncer.Result, error) {
	shown := newProgress(a.console, a.log, jobs, a.console.live && !isTerminal(a.screen))
	defer shown.stop()
	defer a.announceDrain(ctx)()
	s, err := syncer.New(syncer.Options{Warehouse: w, Logger: a.log, Metrics: a.metrics.Syncer, Progress: shown.update})
	if err != nil {
		return nil, fmt.Errorf("preparing the sync: %w", err)
	}
	results := make([]syncer.Result, len(jobs))
	var group sync.WaitGroup
	for i, job := range jobs {
		group.Go(func() {
			record, err := s.Run(ctx, job)
			results[i] = syncer.Result{Job: job, Record: record, Err: err}
			shown.finish(results[i])
		})
	}
	group.Wait()
	return results, nil
}

// prepareJobs makes the jobs of what is selected. The clients are to be closed after the runs.
func (a *app) prepareJobs(cfg *config.Config, s selection, change func(*syncer.Job)) ([]syncer.Job, *clients, error) {
	targets, err := s.targets(cfg)
	if err != nil {
		return nil, nil, err
	}
	api := a.newClients(func(o *dealapi.Options) { o.Metrics = a.metrics.API })
	var jobs []syncer.Job
	for _, t := range targets {
		client, err := api.get(t)
		if err != nil {
			return nil, nil, err
		}
		job := t.job(client)
		change(&job)
		jobs = append(jobs, job)
	}
	return jobs, api, nil
}

// announceDrain tells whoever stops the program why it does not end at once.
func (a *app) announceDrain(ctx context.Context) (done func() bool) {
	return context.AfterFunc(ctx, func() {
		a.log.Info("stopping: what is in hand is finished first; a second signal ends it at once", "grace", syncer.DefaultGrace)
	})
}
