package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/notify"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const retryLong = `Loads rejected records and values that this version can read, for example after an upgrade. It sends no
request to the API and can be repeated at any time.

A rejected record counts as read at the time it was first read, so it never replaces a newer state. If a
later complete list no longer had it, it is not loaded. A rejected field is added to its row only if that row
has not been loaded again since. What is loaded or superseded is not tried again; the rest stays open.

Streams that are read in full (all but transactions) need no retry: their next sync reads everything again.
Entries of a product's price history are left to that sync.

The retry waits for a running load of the same stream, and is recorded in sync_runs with the mode retry. The
columns count rejected records and values: tried is the sum of loaded, rejected (again) and superseded
(replaced by something read later).

Exit codes: 0 done, even if nothing could be loaded; 1 a fault worth retrying; 2 usage or configuration;
3 the warehouse refused the credentials; 130 or 143 interrupted.`

const retryExample = `  dealhouse rejects retry --dry-run     count what would be loaded, and change nothing
  dealhouse rejects retry
  dealhouse rejects retry --stream transactions --reason not_a_uuid`

// retryCommand is what its flags say.
type retryCommand struct {
	rejectChoice
	dryRun bool
	format *choice[term.Format]
}

func newRejectsRetry(a *app) *cobra.Command {
	var c retryCommand
	cmd := &cobra.Command{
		Use:     "retry",
		Short:   "Load rejected records that this version can read",
		Long:    retryLong,
		Example: retryExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), a)
		},
	}
	c.flags(a, cmd)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "count what would be loaded, but change nothing")
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func (c *retryCommand) run(ctx context.Context, a *app) (err error) {
	w, cfg, f, err := c.open(ctx, a, config.Source{NeedReceivers: !c.dryRun},
		func(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
			return a.opener().WhenFree(ctx, cfg, a.opener().ExistingToLoad)
		})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	a.opener().Share(w, false)
	svc := a.newService()
	receivers := &notify.Receivers{}
	if !c.dryRun { // it sends no messages
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
		if err := service.UnknownAccount(ctx, cfg, w, f.Account); err != nil {
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
	svc.Notify(ctx, cfg, w, receivers)
	return a.printFailures(ctx, svc, results)
}

func printRetries(to io.Writer, format term.Format, results []syncer.Result, records []syncer.RetryRecord) error {
	columns := []term.Column{
		{Name: "account"}, {Name: "stream"}, term.CountColumn("tried"), term.CountColumn("loaded"), term.CountColumn("rejected"),
		term.CountColumn("superseded"), term.DurationColumn(format), {Name: "outcome"},
	}
	if format != term.Table {
		columns = append(columns, term.Column{Name: "inserted"}, term.Column{Name: "updated"},
			term.Column{Name: "run_id"}, term.Column{Name: "started_at"}, term.Column{Name: "error"})
	}
	var rows [][]any
	for i, r := range records {
		row := []any{
			r.Account, r.Stream, uint64(r.Tried), uint64(r.Loaded), uint64(r.Rejected), uint64(r.Superseded),
			runTime(r.RunRecord).Seconds(), outcomeWord(results[i]),
		}
		if format != term.Table {
			row = append(row, r.Changes.Inserted, r.Changes.Updated, r.RunID.String(), term.Time(r.StartedAt),
				errorText(results[i].Err))
		}
		rows = append(rows, row)
	}
	return term.Print(format, to, columns, rows)
}
