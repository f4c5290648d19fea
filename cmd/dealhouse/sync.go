package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

const syncLong = `Reads each enabled stream of each account once and brings the warehouse in step with it. It is safe
to run at any time, again after a failure, and twice at once (the second waits for the first where both
want the same stream, or the same embedded warehouse): what was read before changes nothing.

The schema is created or upgraded first where it has to be. Nothing that readers see changes before a
stream was read to its end. Transactions are read from where the last run ended; the other streams
are read whole, and what they no longer list is deleted. At last, deals that transactions name and no
list had are asked for by their own addresses, reference_limit at most.

Ctrl-C or SIGTERM ends the reading. What was read to its end is still published, and a walk over the
products keeps its place; a second signal ends the program at once, which loses nothing either.

Name streams to load only those: ` + "%s" + `.

For pipelines, --json prints one JSON document, an array with an object for each stream; it is short for
--output json. --push-gateway leaves the metrics with a Prometheus Pushgateway, under job="dealhouse" and
nothing of this host or pod; --metrics-textfile in a file for the node exporter's textfile collector.
Where they cannot be left, a warning is all that comes of it: the exit code speaks of the data.

Exit codes: 0 all streams are in step; 1 a fault worth retrying; 2 usage or configuration; 3 the API
or the warehouse refused the credentials; 4 stopped by a guard, a person must look; 130 or 143
interrupted. One stream that fails does not stop the others. When several fail, the code is that of
the failure which needs a person most: 4 before 3, 3 before 2, 2 before 1.`

const syncExample = `  dealhouse sync
  dealhouse sync transactions payouts --account acme
  dealhouse sync coupons --dry-run              count what would change, and change nothing (after a first sync)
  dealhouse sync transactions --full            also find transactions that vanished upstream
  dealhouse sync coupons --allow-mass-delete    once, after the guard stopped a run that was right
  dealhouse sync --json --log-format json
  dealhouse sync --push-gateway http://pushgateway:9091
  dealhouse sync --metrics-textfile /var/lib/node_exporter/textfile/dealhouse.prom`

type syncOptions struct {
	selection
	full, dryRun, allowMassDelete bool
	pushGateway, metricsTextfile  string
}

func newSync(a *app) *cobra.Command {
	var o syncOptions
	var output *choice
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "sync [STREAM...]",
		Short:     "Load each enabled stream once",
		Long:      fmt.Sprintf(syncLong, list(catalog.Names())),
		Example:   syncExample,
		ValidArgs: catalog.Names(),
		Args:      cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.streams = args
			if asJSON {
				if cmd.Flags().Changed("output") {
					return usagef("--json is short for --output json: give one of them")
				}
				output.value = "json"
			}
			return a.sync(cmd.Context(), o, output.value)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.accounts, "account", nil, "only this `account`; repeatable")
	flags.BoolVar(&o.full, "full", false, "read everything, whatever was read before")
	flags.BoolVar(&o.dryRun, "dry-run", false, "read and count, but change nothing")
	flags.BoolVar(&o.allowMassDelete, "allow-mass-delete", false, "let this run delete more than max_delete_ratio allows")
	flags.StringVar(&o.pushGateway, "push-gateway", "", "push the metrics of the run to the Pushgateway at this `URL`")
	flags.StringVar(&o.metricsTextfile, "metrics-textfile", "", "write the metrics of the run to this `file`")
	completeWith(cmd, "account", a.accountNames)
	output = outputFlag(cmd, "table", "json", "csv")
	flags.BoolVar(&asJSON, "json", false, "short for --output json")
	return cmd
}

func (a *app) sync(ctx context.Context, o syncOptions, output string) (err error) {
	cfg, err := a.loadConfig(true)
	if err != nil {
		return err
	}
	metrics, err := a.newPublishing(ctx, cfg, o.pushGateway, o.metricsTextfile)
	if err != nil {
		return err
	}
	if metrics != nil && o.dryRun {
		return usagef("a dry run has no metrics: leave --push-gateway and --metrics-textfile out")
	}
	jobs, api, err := a.prepareJobs(cfg, o.selection, func(job *syncer.Job) {
		job.Full, job.DryRun, job.AllowMassDelete = o.full, o.dryRun, o.allowMassDelete
	})
	if err != nil {
		return err
	}
	defer api.close()
	open := a.openWarehouse
	if o.dryRun {
		open = a.openExisting
	}
	w, err := a.whenFree(ctx, func() (*warehouse.Warehouse, error) { return open(ctx, cfg) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := a.upgrade(ctx, w, o.dryRun); err != nil {
		return err
	}
	results, err := a.runJobs(ctx, w, jobs)
	if err != nil {
		return err
	}
	if err := printResults(a.stdout, output, results); err != nil {
		return err
	}
	a.aftermath(ctx, cfg, w, api, results)
	a.publish(ctx, metrics, cfg, w)
	return a.conclude(ctx, results)
}

// patience is how long a sync waits for another process to let go of the embedded warehouse.
const patience = time.Minute

// whenFree opens an embedded warehouse as soon as no other process has it.
func (a *app) whenFree(ctx context.Context, open func() (*warehouse.Warehouse, error)) (*warehouse.Warehouse, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for first := true; ; first = false {
		w, err := open()
		if !errors.Is(err, chdb.ErrLocked) || time.Now().After(deadline) {
			return w, err
		}
		if first {
			a.log.Info("waiting for another process to let go of the embedded warehouse", "patience", patience)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// upgrade brings the schema up to date before a sync, and finishes what runs that died had begun to publish, so that
// nobody waits for the next run of their streams. A dry run must do neither, and cannot go on without the schema.
func (a *app) upgrade(ctx context.Context, w *warehouse.Warehouse, dryRun bool) error {
	if dryRun {
		return w.CheckSchema(ctx)
	}
	statements, err := w.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(statements) > 0 {
		a.log.Info("the schema of the warehouse is up to date now", "database", w.Database(), "statements", len(statements))
	}
	recovered, err := w.RecoverAll(ctx)
	a.metrics.Syncer.Recovered(recovered)
	if err != nil {
		a.log.Warn("could not finish what interrupted runs had begun to publish: the next run of each stream tries again", "error", err)
	}
	return nil
}

// conclude prints what went wrong or was noticed, each once, and returns the exit code of the worst.
func (a *app) conclude(ctx context.Context, results []syncer.Result) error {
	for _, r := range results {
		a.warnings(r.Record)
	}
	var codes []int
	interrupted := 0
	told := map[string]bool{}
	for _, r := range results {
		if r.Err == nil {
			continue
		}
		if wasStopped(ctx, r.Err) {
			interrupted++
			continue
		}
		codes = append(codes, faultCode(r.Err))
		// Streams of an account tend to fail for one reason: a refused key, a service that is down.
		reason := cause(r.Err)
		if told[r.Record.Account+reason] {
			continue
		}
		told[r.Record.Account+reason] = true
		var same []string
		for _, other := range results {
			if other.Err != nil && other.Record.Account == r.Record.Account && cause(other.Err) == reason {
				same = append(same, other.Record.Stream)
			}
		}
		err := r.Err
		if len(same) > 1 || isGuard(err) || isIncomplete(err) || isReadOnly(err) {
			err = errors.New(reason)
		}
		a.aboutStreams("error", r.Record.Account, same, err)
	}
	if interrupted > 0 {
		a.complain("warning", fmt.Errorf("%s stopped before the end; what was published stays, and the next sync makes up for the rest", plural(uint64(interrupted), "run")))
	}
	if code := worst(codes...); code != exitOK || interrupted > 0 {
		return reported{max(code, exitFault)}
	}
	return nil
}

// warnings prints what a run noticed and carried on with.
func (a *app) warnings(r warehouse.RunRecord) {
	for _, warning := range r.Warnings {
		a.aboutStreams("warning", r.Account, []string{r.Stream}, errors.New(warning))
	}
}

// aboutStreams prints a message about streams of an account.
func (a *app) aboutStreams(kind, account string, streams []string, err error) {
	if !a.logsOnly() {
		text := strings.TrimPrefix(message(err), "account "+account+": ") // the errors of the API begin so
		a.complain(kind, fmt.Errorf("%s: %s: %s", account, list(streams), text))
		return
	}
	a.complain(kind, err, "account", account, "streams", streams)
}

// cause is the reason of a failure without what differs between the streams of an account.
func cause(err error) string {
	if guard, ok := errors.AsType[*syncer.GuardError](err); ok {
		return "stopped by a guard: " + guard.Reason + "; " + guard.Advice
	}
	if partial, ok := errors.AsType[*syncer.IncompleteError](err); ok {
		return strings.TrimPrefix(partial.Error(), "account "+partial.Account+": "+partial.Stream+": ")
	}
	if api, ok := apiError(err); ok {
		api.Op, api.URL, api.Page = "", "", max(api.Page, 1)
		return strings.TrimPrefix(api.Error(), "account "+api.Account+": ")
	}
	if isReadOnly(err) {
		return "the warehouse is read-only for this user; if it is one that `dealhouse serve-warehouse` serves, that needs --allow-writes"
	}
	return err.Error()
}

func isIncomplete(err error) bool {
	_, ok := errors.AsType[*syncer.IncompleteError](err)
	return ok
}

func isGuard(err error) bool {
	_, ok := errors.AsType[*syncer.GuardError](err)
	return ok
}
