package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/notify"
	"dealhouse/internal/output"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

const retryLong = `Loads what was rejected and what this version can read: for use after an upgrade. It sends no request to
the API, and may be repeated at any time.

A rejected record counts as read when it was first read, so it never replaces a newer state; and what a
later complete read of its stream no longer listed is not loaded. A rejected field is put into its row
if nothing has been loaded over that row since. What can be read by now is then settled, and not tried
again; what cannot stays open.

Streams that are read whole (all but transactions) need no retry: their next sync reads everything again.
Entries of a product's price history are left to it.

The retry waits for a run of the same stream that is under way, and is recorded in sync_runs, with the
mode retry. The columns count rejected records and values: tried is the sum of loaded, rejected (still)
and superseded (what was read later counts).

Exit codes: 0 done, whether anything could be loaded or not; 1 a fault worth retrying; 2 usage or
configuration; 3 the warehouse refused the credentials; 130 or 143 interrupted.`

const retryExample = `  dealhouse rejects retry --dry-run     count what would be loaded, and change nothing
  dealhouse rejects retry
  dealhouse rejects retry --stream transactions --reason not_a_uuid`

// retryCommand is what its flags say.
type retryCommand struct {
	rejectChoice
	dryRun bool
	format *choice
}

func newRejectsRetry(a *app) *cobra.Command {
	var c retryCommand
	cmd := &cobra.Command{
		Use:     "retry",
		Short:   "Load what was rejected and can be read now",
		Long:    retryLong,
		Example: retryExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), a)
		},
	}
	c.flags(a, cmd)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "count what would be loaded, but change nothing")
	c.format = outputFlag(cmd, "table", "json", "csv")
	return cmd
}

func (c *retryCommand) run(ctx context.Context, a *app) (err error) {
	w, cfg, f, err := c.open(ctx, a, config.Source{NeedReceivers: !c.dryRun}, func(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
		return a.whenFree(ctx, func() (*warehouse.Warehouse, error) { return a.openExistingToLoad(ctx, cfg) })
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	a.share(w, false)
	svc := a.newService()
	receivers := &notify.Receivers{}
	if !c.dryRun { // nobody is told of one
		if receivers, err = svc.Receivers(cfg); err != nil {
			return err
		}
	}
	if err := svc.Prepare(ctx, w, c.dryRun); err != nil {
		return err
	}
	open, err := w.CountOpenRejects(ctx, f)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		if err := service.UnknownAccount(cfg, f.Account); err != nil {
			return err
		}
	}
	jobs := svc.RetryJobs(open, c.dryRun)
	watch, stop := a.showRuns(jobs, nil)
	results, records, err := svc.Retry(ctx, w, jobs, f, watch)
	stop()
	if err != nil {
		return err
	}
	if len(open) == 0 {
		a.log.Info("there is nothing to retry: no rejected record is open")
	}
	if err := printRetries(a.stdout, c.format.value, results, records); err != nil {
		return err
	}
	svc.Tell(ctx, cfg, w, receivers)
	return a.printFailures(ctx, svc, results)
}

func printRetries(to io.Writer, format string, results []syncer.Result, records []syncer.RetryRecord) error {
	columns := []output.Column{
		{Name: "account"}, {Name: "stream"}, output.Count("tried"), output.Count("loaded"), output.Count("rejected"), output.Count("superseded"), output.Duration(format), {Name: "outcome"},
	}
	if format != "table" {
		columns = append(columns, output.Column{Name: "inserted"}, output.Column{Name: "updated"}, output.Column{Name: "run_id"}, output.Column{Name: "started_at"}, output.Column{Name: "error"})
	}
	var rows [][]any
	for i, r := range records {
		row := []any{
			r.Account, r.Stream, uint64(r.Tried), uint64(r.Loaded), uint64(r.Rejected), uint64(r.Superseded),
			runTime(r.RunRecord).Seconds(), outcomeWord(results[i]),
		}
		if format != "table" {
			row = append(row, r.Changes.Inserted, r.Changes.Updated, r.RunID.String(), output.Time(r.StartedAt), errorText(results[i].Err))
		}
		rows = append(rows, row)
	}
	return output.Print(format, to, columns, rows)
}
