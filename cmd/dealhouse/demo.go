package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/apisim"
	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/launch"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const demoLong = `Shows everything in one go, without any setup: starts a simulated deals API on this machine, loads
its six streams for two accounts into a real ClickHouse inside this process, lets three days pass
upstream, loads the difference, prints three reports from the views, and compares payouts with their
transactions. Its log has only what the tables do not say; --log-level info shows all of it.

The data goes to a temporary folder that is removed at the end; --data keeps it. A later demo on the
same folder starts over. The first run on a machine downloads the ClickHouse engine (` + chdb.DownloadSize + `, by npm).`

const demoExample = `  dealhouse demo
  dealhouse demo --data ./demo-data      keep the data, to query it with dealhouse query
  dealhouse demo --serve                 keep API and warehouse running until Ctrl-C`

func newDemo(a *app) *cobra.Command {
	var dir string
	var serve, withoutSandbox bool
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Load a simulated API into an embedded ClickHouse and show reports",
		Long:    demoLong,
		Example: demoExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demonstration{app: a, dir: dir, kept: dir != "", withoutSandbox: withoutSandbox,
				talkative: cmd.Flags().Changed("log-level")}
			return d.run(cmd.Context(), serve)
		},
	}
	cmd.Flags().StringVar(&dir, "data", "", "`folder` to keep the data in; it is created if it does not exist")
	cmd.Flags().BoolVar(&serve, "serve", false, "keep the simulator and the warehouse running, over HTTP, until Ctrl-C")
	cmd.Flags().BoolVar(&withoutSandbox, "without-sandbox", false, "with --serve: "+withoutSandboxHelp)
	return cmd
}

// demonstration is a running demo.
type demonstration struct {
	*app
	service *service.Service
	dir     string // of the warehouse
	kept    bool   // the folder outlives the demo
	world   *apisim.Demo
	cfg     *config.Config
	w       *warehouse.Warehouse

	withoutSandbox bool
	talkative      bool // the user has asked for log lines
}

func (d *demonstration) run(ctx context.Context, serve bool) (err error) {
	if !chdb.Built {
		return usagef("the demo needs the embedded engine, but this binary was built without it: build it without the tag noengine, or use a warehouse of your own with `dealhouse sync`")
	}
	remove, err := d.prepareFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if d.world, err = apisim.NewDemo(ctx); err != nil {
		return err
	}
	defer d.world.Close()
	if d.cfg, err = d.configuration(); err != nil {
		return err
	}
	if d.w, err = d.opener().OrCreate(ctx, d.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.w.Close()) }()
	if err := d.showQuietly(ctx); err != nil {
		return err
	}
	if serve && d.become != nil {
		if err := d.w.Close(); err != nil { // the folder belongs to one process at a time
			return err
		}
	}
	if serve {
		return d.serve(ctx)
	}
	d.printNextSteps()
	return nil
}

// showQuietly does what show does, without the log lines that say what its tables say: how each run ended, and what is
// wrong with payouts.
func (d *demonstration) showQuietly(ctx context.Context) error {
	if d.talkative {
		d.service = d.newService()
		return d.show(ctx)
	}
	before := d.logLevel.value
	defer func() {
		d.logLevel.value = before
		_ = d.startLogging() // it did before
	}()
	d.logLevel.value = "warn"
	if err := d.startLogging(); err != nil {
		return err
	}
	options := d.serviceOptions()
	options.Findings = slog.New(slog.DiscardHandler)
	d.service = service.New(options)
	return d.show(ctx)
}

// show runs the demonstration and prints its results.
func (d *demonstration) show(ctx context.Context) error {
	if err := d.beginAnew(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.stdout, "A simulated deals API answers on %s, for the accounts %s.\n\n", d.world.URL,
		term.List(d.world.Sim.Orgs()))
	if err := d.syncAll(ctx, "First sync: everything is new."); err != nil {
		return err
	}
	fmt.Fprintln(d.stdout)
	if err := d.world.PassDays(); err != nil {
		return err
	}
	err := d.syncAll(ctx, fmt.Sprintf("Second sync, %d days later: transactions are read from where the first ended,\nand only what differs is written.", apisim.DemoDays))
	if err != nil {
		return err
	}
	for _, r := range demoReports() {
		fmt.Fprintf(d.stdout, "\n%s\n\n", r.title)
		if _, err := printQuery(ctx, d.w, d.stdout, term.Table, r.sql); err != nil {
			return err
		}
	}
	return d.showPayouts(ctx)
}

// syncAll makes one sync and prints its results below a title.
func (d *demonstration) syncAll(ctx context.Context, title string) error {
	jobs, api, err := d.service.Jobs(d.cfg, service.Selection{}, nil)
	if err != nil {
		return err
	}
	defer api.Close()
	begin := time.Now()
	results, err := d.sync(ctx, d.service, d.w, jobs, api)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	fmt.Fprintf(d.stdout, "%s\n\n", title)
	if err := printDemoResults(d.stdout, results); err != nil {
		return err
	}
	d.service.AfterRuns(ctx, d.cfg, d.w, api, results)
	if err := d.printFailures(ctx, d.service, results); err != nil {
		return err
	}
	d.printSum(results, took)
	return nil
}

// printSum says in one sentence what a sync read and how long it took.
func (d *demonstration) printSum(results []syncer.Result, took time.Duration) {
	var read, transactions, listed uint64
	incremental := false
	for _, r := range results {
		read += r.Record.Totals.Read
		if r.Record.Stream == apisim.StreamTransactions {
			transactions += r.Record.Totals.Read
			listed += uint64(d.world.Sim.Count(apisim.StreamTransactions, r.Record.Account))
			incremental = incremental || !r.Record.RequestedAfter.IsZero()
		}
	}
	fmt.Fprintf(d.stdout, "\n%s read in %s.", term.Plural(read, "row"), term.Span(took))
	if incremental {
		fmt.Fprintf(d.stdout, " Of the %s, %s had to be read.", term.Plural(listed, "transaction"),
			term.Count(transactions))
	}
	fmt.Fprintln(d.stdout)
}

// beginAnew makes an empty database. The simulated world starts at the same point each time, so it cannot continue from
// the end of an earlier demo.
func (d *demonstration) beginAnew(ctx context.Context) error {
	if d.kept {
		// The connection of a warehouse uses the database as its current one. The statement switches to another one
		// first.
		err := d.w.Conn().Exec(ctx, "DROP DATABASE IF EXISTS `"+d.cfg.Warehouse.Database+"` SYNC")
		if err != nil && !warehouse.IsMissing(err) {
			return fmt.Errorf("removing the data of an earlier demo: %w", err)
		}
	}
	_, err := d.w.Migrate(ctx)
	return err
}

// serve keeps everything running. The simulator stays in this process. The engine, which anybody on this machine may
// query now, moves to a process that holds nothing but the data.
func (d *demonstration) serve(ctx context.Context) (err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving the warehouse: %w", err)
	}
	defer func() { _ = listener.Close() }() // the server has, if it ran here
	l := d.launcher()
	job, err := l.NewJob(ctx, launch.JobOptions{Dir: d.dir, WithoutSandbox: d.withoutSandbox})
	if err != nil {
		return err
	}
	d.printAddresses("http://" + listener.Addr().String())
	bounds := defaultLimits()
	serve := &serveTask{Queries: bounds.queries, Buffered: bounds.buffered << 20}
	if l.InPlace() {
		return serve.run(ctx, d.app, d.w, listener, false)
	}
	t := task{Database: d.cfg.Warehouse.Database, Limits: bounds.engine(), Serve: serve}
	return t.front(ctx, d.app, job, listener)
}

const demoMarkerText = "dealhouse demo made this folder and starts over in it each time: keep nothing of yours here.\n"
