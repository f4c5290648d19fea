package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/notify"
)

const runLong = `Runs each enabled stream of each account by its schedule until it is stopped, and serves metrics
(/metrics), health (/healthz, /readyz), JSON (/api/v1/status, /api/v1/runs) and a status page (/) on
daemon.listen. It first creates or upgrades the schema if necessary.

At the start, streams whose last success is older than their schedule allows run at once. A stream never
runs twice at the same time: a scheduled time that comes while it still runs is skipped and counted; only a
resync is made up for as soon as possible. If the machine slept or its clock was set, one run makes up for
all missed times. A run that fails, even by a panic, is reported and does not stop the others.

Signals:
  HUP            read the configuration again. An invalid one is refused, and the old one stays in force.
                 Running loads keep their settings; [warehouse] and the settings of the port need a
                 restart.
  TERM, INT      start no more runs; give running ones daemon.grace to finish, then stop them. Nothing is
                 left half-loaded. A second signal ends the process at once.

Under systemd use Type=notify and WatchdogSec, as the unit in deploy/systemd does. While the daemon runs on
an embedded warehouse, all other commands of the same user go through it, by a socket in the folder of the
warehouse.

Exit codes: 130 or 143 after INT or TERM, the normal end; before the first run, those of sync.`

const runExample = `  dealhouse run --config /etc/dealhouse/dealhouse.toml --log-format json
  kill -HUP "$(pidof dealhouse)"                read the configuration again
  curl http://127.0.0.1:9464/metrics`

func newRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "run",
		Short:   "Load by schedule: the daemon",
		Long:    runLong,
		Example: runExample,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDaemon(cmd.Context(), a) },
	}
}

func runDaemon(ctx context.Context, a *app) (err error) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // before anything is read or takes long: unhandled, it would end the process
	defer signal.Stop(hangups)
	read := func() (*config.Config, error) {
		return a.readConfigAs(config.Source{NeedAccounts: true, NeedDaemon: true})
	}
	cfg, err := read()
	if err != nil {
		return err
	}
	a.unattended = true
	registry := a.measure()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	svc := a.newService()
	planner := svc.Planner(cfg, read)
	plan, err := planner.Plan(cfg)
	if err != nil {
		return err
	}
	o := a.opener()
	w, err := o.WhenFree(ctx, cfg, o.Alone)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	o.Share(w, true)
	signal.Notify(hangups, syscall.SIGHUP) // once more: an attempt to enter the sandbox has them ignored
	planner.Warehouse = w
	var d *daemon.Daemon
	if planner.Notifier, err = notify.New(notify.Options{
		Warehouse: w, Metrics: a.metrics.Notify, Logger: a.log,
		Streams: func() []notify.Stream { return toldOf(d.Streams()) },
	}); err != nil {
		return err
	}
	if err := svc.Prepare(ctx, w, false); err != nil {
		return err
	}
	exported, _ := a.exported(registry)
	ctx, exporting, err := a.startExports(ctx, cfg, w, exported, registry, "")
	if err != nil {
		return err
	}
	defer exporting.close(ctx)
	svc.Observe(exporting.Observer())
	d, err = daemon.New(daemon.Options{
		Warehouse: w, Plan: plan, Metrics: &a.metrics, Load: planner.Reread, Reload: hangups, Env: a.env, Logger: a.log,
		Observer: exporting.Observer(),
	})
	if err != nil {
		return err
	}
	server, err := web.New(web.Options{
		Listen: cfg.Daemon.Listen, User: cfg.Daemon.User, Password: cfg.Daemon.Password.Reveal(),
		TLSCert: cfg.Daemon.TLSCert, TLSKey: cfg.Daemon.TLSKey, Pprof: cfg.Daemon.Pprof,
		Warehouse: w, Ready: d.Ready, Streams: d.Streams, Act: d.Act, Version: readBuild().version,
		OverdueAfter: planner.OverdueAfter, Tolerances: planner.Tolerances, Receivers: planner.Notifier.Receivers,
		Logger: a.log, Waits: a.waits.pages,
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	})
	if err != nil {
		return err
	}
	a.log.Info("the daemon has begun", "listen", server.Addr(), "version", readBuild().version, "warehouse", place(cfg))
	notifying, stop := context.WithCancel(context.WithoutCancel(ctx))
	var sending sync.WaitGroup
	sending.Go(func() { planner.Notifier.Run(notifying) })
	defer func() { stop(); sending.Wait() }()
	return runBoth(ctx, a, d, server)
}

// toldOf returns what the notifier needs to know about the streams.
func toldOf(all []web.Stream) []notify.Stream {
	streams := make([]notify.Stream, len(all))
	for i, s := range all {
		streams[i] = notify.Stream{Account: s.Account, Stream: s.Stream, Enabled: s.Enabled, Paused: s.Paused != nil,
			StaleAfter: s.StaleAfter, Failed: s.LastError != ""}
	}
	return streams
}

// runBoth runs the daemon and its HTTP server. The server runs until the last run has ended. When one of them ends, so
// does the other.
func runBoth(ctx context.Context, a *app, d *daemon.Daemon, server *web.Server) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	served := make(chan error, 1)
	go func() {
		err := server.Serve(serving)
		if err != nil {
			cancel(err)
		}
		served <- err
	}()
	err := d.Run(ctx)
	stopServing()
	if err = errors.Join(err, <-served); err != nil {
		return err
	}
	a.log.Info("the daemon has ended")
	return context.Cause(ctx)
}
