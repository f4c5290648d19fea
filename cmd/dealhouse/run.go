package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/notify"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
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

// daemonRun is what a daemon works with from the start to the end of its process.
type daemonRun struct {
	*app
	service   *service.Service
	cfg       *config.Config // as it was at the start
	registry  *prometheus.Registry
	planner   *service.Planner
	plan      *daemon.Plan // the first one
	warehouse *warehouse.Warehouse
	hangups   chan os.Signal // each is a request to read the configuration again
}

func runDaemon(ctx context.Context, a *app) (err error) {
	r := daemonRun{app: a, hangups: make(chan os.Signal, 1)}
	// Before anything is read or takes long: unhandled, the signal would end the process.
	signal.Notify(r.hangups, syscall.SIGHUP)
	defer func() {
		if a.alone { // what comes while the process ends must not end it in another way
			signal.Ignore(syscall.SIGHUP)
		}
		signal.Stop(r.hangups)
	}()
	read := func() (*config.Config, error) {
		return a.readConfigAs(config.Source{NeedAccounts: true, NeedDaemon: true})
	}
	if r.cfg, err = read(); err != nil {
		return err
	}
	a.unattended = true
	r.registry = a.measure()
	r.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.service = a.newService()
	r.planner = r.service.Planner(r.cfg, read)
	if r.plan, err = r.planner.Plan(r.cfg); err != nil {
		return err
	}
	if a.door, err = openDoor(ctx, r.cfg); err != nil {
		return err
	}
	if a.door != nil {
		defer func() { _ = a.door.listener.Close() }() // the server has, if there was one
	}
	o := a.opener()
	if r.warehouse, err = o.WhenFree(ctx, r.cfg, o.Alone); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.warehouse.Close()) }()
	o.Share(r.warehouse, true)
	return r.serve(ctx)
}

// serve runs the daemon on the warehouse that was opened, with all that is beside it: notifications, exports and the
// HTTP server.
func (r *daemonRun) serve(ctx context.Context) (err error) {
	r.planner.Warehouse = r.warehouse
	var d *daemon.Daemon
	if r.planner.Notifier, err = notify.New(notify.Options{
		Warehouse: r.warehouse, Metrics: r.metrics.Notify, Logger: r.log,
		Streams: func() []notify.Stream { return notifiedStreams(d.Streams()) },
	}); err != nil {
		return err
	}
	if err := r.service.Prepare(ctx, r.warehouse, false); err != nil {
		return err
	}
	exported, _ := r.exported(r.registry)
	ctx, exporting, err := r.startExports(ctx, r.cfg, r.warehouse, exported, r.registry, "")
	if err != nil {
		return err
	}
	defer exporting.close(ctx)
	r.service.Observe(exporting.Observer())
	d, err = daemon.New(daemon.Options{
		Warehouse: r.warehouse, Plan: r.plan, Metrics: &r.metrics, Load: r.planner.Reread, Reload: r.hangups, Env: r.env,
		Logger: r.log, Observer: exporting.Observer(),
	})
	if err != nil {
		return err
	}
	server, err := r.newServer(d)
	if err != nil {
		return err
	}
	r.log.Info("the daemon has begun", "listen", server.Addr(), "version", readBuild().version, "warehouse", place(r.cfg))
	notifying, stop := context.WithCancel(context.WithoutCancel(ctx))
	var sending sync.WaitGroup
	sending.Go(func() { r.planner.Notifier.Run(notifying) })
	defer func() { stop(); sending.Wait() }()
	serving := []func(context.Context) error{server.Serve}
	if r.door != nil {
		r.log.Info("readers are served", "listen", r.door.listener.Addr(), "user", r.door.serve.User)
		serving = append(serving, func(ctx context.Context) error { return r.door.run(ctx, r.app, r.warehouse) })
	}
	return runAll(ctx, r.app, d, serving)
}

// newServer makes the daemon's HTTP server.
func (r *daemonRun) newServer(d *daemon.Daemon) (*web.Server, error) {
	c := r.cfg.Daemon
	return web.New(web.Options{
		Listen: c.Listen, User: c.User, Password: c.Password.Reveal(), TLSCert: c.TLSCert, TLSKey: c.TLSKey, Pprof: c.Pprof,
		Warehouse: r.warehouse, Ready: d.Ready, Streams: d.Streams, Refused: d.Refused, Act: d.Act, Version: readBuild().version,
		OverdueAfter: r.planner.OverdueAfter, Tolerances: r.planner.Tolerances, Receivers: r.planner.Notifier.Receivers,
		Logger: r.log, Waits: r.waits.pages,
		Metrics: promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{}),
	})
}

// notifiedStreams returns what the notifier needs to know about the streams.
func notifiedStreams(all []web.Stream) []notify.Stream {
	streams := make([]notify.Stream, len(all))
	for i, s := range all {
		streams[i] = notify.Stream{Account: s.Account, Stream: s.Stream, Enabled: s.Enabled, Paused: s.Paused != nil,
			StaleAfter: s.StaleAfter, Failed: s.LastError != ""}
	}
	return streams
}

// runAll runs the daemon and its HTTP servers, which run until the last run has ended. When one of them ends, so do the
// others.
func runAll(ctx context.Context, a *app, d *daemon.Daemon, servers []func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	served := make(chan error, len(servers))
	for _, serve := range servers {
		go func() {
			err := serve(serving)
			if serving.Err() != nil && errors.Is(err, context.Canceled) {
				err = nil // it was told to end
			}
			if err != nil {
				cancel(err)
			}
			served <- err
		}()
	}
	err := d.Run(ctx)
	stopServing()
	for range servers {
		err = errors.Join(err, <-served)
	}
	if err != nil {
		return err
	}
	a.log.Info("the daemon has ended")
	return context.Cause(ctx)
}
