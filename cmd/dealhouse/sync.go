package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/notify"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const syncLong = `Reads each enabled stream of each account once and updates the warehouse to match. You can run it at any
time, repeat it after a failure, and start it twice: the second waits for the first if both need the same
stream or the same embedded warehouse. Reading the same data again changes nothing.

It first creates or upgrades the schema if necessary. Readers see the changes of a stream only after all of
it was read. Transactions are read from where the last run ended. The other streams are read in full, and
rows that they no longer list are deleted. Finally, deals that transactions refer to and no list contains are
requested one by one, up to reference_limit.

Ctrl-C or SIGTERM stops the reading. Streams that were read to the end are still published, and products
go on from the same page next time. A second signal ends the program at once, which is safe too.

Streams that an operator has paused are skipped, with a message; see dealhouse operate.

Name streams to load only those: ` + "%s" + `.

For pipelines, --json prints one JSON document, an array with an object for each stream; it is short for
--output json. --push-gateway sends the metrics to a Prometheus Pushgateway, under job="dealhouse" and
without the name of this host or pod; --metrics-textfile writes them to a file for the node exporter's
textfile collector. If that fails there is only a warning: the exit code is about the data.

Exit codes: 0 all streams are up to date; 1 a fault worth retrying; 2 usage or configuration; 3 the API
or the warehouse refused the credentials; 4 stopped by a guard, a person must look; 130 or 143
interrupted. One stream that fails does not stop the others. When several fail, the code is that of
the failure which needs a person most: 4 before 3, 3 before 2, 2 before 1.`

const syncExample = `  dealhouse sync
  dealhouse sync transactions payouts --account acme
  dealhouse sync coupons --dry-run              count what would change, and change nothing (after a first sync)
  dealhouse sync transactions --full            also find transactions that vanished upstream
  dealhouse sync coupons --allow-mass-delete    once, after the guard stopped a run that was right
  dealhouse sync --account acme --new-service   once, after base_url or api_key came to mean another service
  dealhouse sync --json --log-format json
  dealhouse sync --push-gateway http://pushgateway:9091
  dealhouse sync --metrics-textfile /var/lib/node_exporter/textfile/dealhouse.prom`

// syncCommand is what its flags say.
type syncCommand struct {
	selected                      service.Selection
	full, dryRun, allowMassDelete bool
	newService                    bool
	pushGateway, metricsTextfile  string
	format                        *choice[term.Format]
}

func newSync(a *app) *cobra.Command {
	var c syncCommand
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "sync [STREAM...]",
		Short:     "Load each enabled stream once",
		Long:      fmt.Sprintf(syncLong, term.List(catalog.Names())),
		Example:   syncExample,
		ValidArgs: catalog.Names(),
		Args:      cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.selected.Streams = args
			if asJSON {
				if cmd.Flags().Changed("output") {
					return usagef("--json is short for --output json: give one of them")
				}
				c.format.value = term.JSONArray
			}
			return c.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&c.selected.Accounts, "account", nil, "only this `account`; repeatable")
	flags.BoolVar(&c.full, "full", false, "read everything, not only what has changed")
	flags.BoolVar(&c.dryRun, "dry-run", false, "read and count, but change nothing")
	flags.BoolVar(&c.allowMassDelete, "allow-mass-delete", false, "let this run delete more than max_delete_ratio allows")
	flags.BoolVar(&c.newService, "new-service", false, "the account means another service or organization from now on: read all of it and remove what it does not have")
	flags.StringVar(&c.pushGateway, "push-gateway", "", "push the metrics of the run to the Pushgateway at this `URL`")
	flags.StringVar(&c.metricsTextfile, "metrics-textfile", "", "write the metrics of the run to this `file`")
	completeAccounts(cmd, a)
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	flags.BoolVar(&asJSON, "json", false, "short for --output json")
	return cmd
}

func (c syncCommand) run(ctx context.Context, a *app) (err error) {
	cfg, err := a.readConfig(true)
	if err != nil {
		return err
	}
	metrics, registry, err := c.publishing(a)
	if err != nil {
		return err
	}
	exported, registry := a.exported(registry)
	svc := a.newService()
	svc.LimitRuns(cfg.Daemon.MaxRuns)
	svc.ExpectStreams(metrics, cfg)
	jobs, api, err := svc.Jobs(cfg, c.selected, func(job *syncer.Job) {
		job.Full, job.DryRun, job.AllowMassDelete = c.full, c.dryRun, c.allowMassDelete
		job.NewService = c.newService
	})
	if err != nil {
		return err
	}
	defer api.Close()
	receivers, err := svc.Receivers(cfg)
	if err != nil {
		return err
	}
	if c.dryRun { // it sends no messages
		receivers = &notify.Receivers{}
	}
	var results []syncer.Result
	switches := svc.Switches(receivers, jobs)
	asked := ctx // the time-out below ends sooner
	defer func() { svc.EndSwitches(asked, switches, results, err) }()
	w, err := c.open(ctx, a, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	switches.Begin(ctx) // not before: opening an embedded warehouse may restart the process
	ctx, jobs, exporting, err := a.prepareRuns(ctx, svc, cfg, w, jobs,
		runOptions{span: "sync", dryRun: c.dryRun, exported: exported, registry: registry})
	if err != nil {
		return err
	}
	defer exporting.close(ctx)
	results, err = a.sync(ctx, svc, w, jobs, api)
	if err != nil {
		return err
	}
	if err := printResults(a.stdout, c.format.value, results); err != nil {
		return err
	}
	svc.AfterRuns(ctx, cfg, w, api, results)
	svc.Notify(ctx, cfg, w, receivers)
	svc.Publish(ctx, metrics, cfg, w)
	return a.printFailures(ctx, svc, results)
}

// open opens the warehouse and shares it with other commands. A dry run creates none.
func (c syncCommand) open(ctx context.Context, a *app, cfg *config.Config) (*warehouse.Warehouse, error) {
	o := a.opener()
	open := o.OrCreate
	if c.dryRun {
		open = o.ExistingToLoad
	}
	w, err := o.WhenFree(ctx, cfg, open)
	if err == nil {
		o.Share(w, false)
	}
	return w, err
}

// runOptions say how a command makes runs.
type runOptions struct {
	span     string // its name in traces
	dryRun   bool
	exported telemetry.Settings
	registry *prometheus.Registry
}

// prepareRuns prepares the warehouse for the runs of a command and leaves out the jobs of paused streams. It starts to
// send events, traces and metrics of the runs, in the context that it returns, until told is closed.
func (a *app) prepareRuns(ctx context.Context, svc *service.Service, cfg *config.Config, w *warehouse.Warehouse,
	jobs []syncer.Job, o runOptions) (context.Context, []syncer.Job, exports, error) {
	if err := svc.Prepare(ctx, w, o.dryRun); err != nil {
		return ctx, nil, exports{}, err
	}
	jobs, err := svc.Unpaused(ctx, w, jobs)
	if err != nil {
		return ctx, nil, exports{}, err
	}
	ctx, t, err := a.startExports(ctx, cfg, w, o.exported, o.registry, o.span)
	if err == nil {
		svc.Observe(t.Observer())
	}
	return ctx, jobs, t, err
}

// sync makes the runs of jobs and shows their progress.
func (a *app) sync(ctx context.Context, svc *service.Service, w *warehouse.Warehouse, jobs []syncer.Job,
	api *service.Clients) ([]syncer.Result, error) {
	watch, stop := a.showRuns(jobs, api)
	defer stop()
	return svc.Sync(ctx, w, jobs, watch)
}

// publishing is where the flags want the metrics to be left, and the registry that counts them; nil means nowhere.
func (c syncCommand) publishing(a *app) (*service.Publishing, *prometheus.Registry, error) {
	if c.pushGateway == "" && c.metricsTextfile == "" {
		return nil, nil, nil
	}
	p := &service.Publishing{Textfile: c.metricsTextfile}
	if c.pushGateway != "" {
		u, err := url.Parse(c.pushGateway)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, nil, usagef("--push-gateway: want a URL such as http://pushgateway:9091") // it may hold a password
		}
		p.Gateway = u
	}
	if c.dryRun {
		return nil, nil, usagef("a dry run has no metrics: leave --push-gateway and --metrics-textfile out")
	}
	p.Registry = a.measure()
	return p, p.Registry, nil
}
