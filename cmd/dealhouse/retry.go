package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

const retryLong = `Loads again what was rejected and what this version can read: for use after an upgrade. It asks nothing of
the API, and may be run at any time, and again.

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

func newRejectsRetry(a *app) *cobra.Command {
	var c rejectChoice
	var dryRun bool
	var output *choice
	cmd := &cobra.Command{
		Use:     "retry",
		Short:   "Load what was rejected and can be read now",
		Long:    retryLong,
		Example: retryExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.retryRejects(cmd.Context(), &c, dryRun, output.value)
		},
	}
	c.flags(a, cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count what would be loaded, but change nothing")
	output = outputFlag(cmd, "table", "json", "csv")
	return cmd
}

func (a *app) retryRejects(ctx context.Context, c *rejectChoice, dryRun bool, output string) (err error) {
	w, cfg, f, err := a.openRejects(ctx, c, func(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
		return a.whenFree(ctx, func() (*warehouse.Warehouse, error) { return a.openExisting(ctx, cfg) })
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := a.upgrade(ctx, w, dryRun); err != nil {
		return err
	}
	open, err := w.CountOpenRejects(ctx, f)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		if err := unknownAccount(cfg, f.Account); err != nil {
			return err
		}
	}
	results, records, err := a.runRetries(ctx, w, open, f, dryRun)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		a.log.Info("there is nothing to retry: no rejected record is open")
	}
	if err := printRetries(a, output, results, records); err != nil {
		return err
	}
	return a.conclude(ctx, results)
}

// runRetries makes one retry after the other, and shows their progress. One that fails does not stop the others.
func (a *app) runRetries(ctx context.Context, w *warehouse.Warehouse, open []warehouse.OpenRejects, f warehouse.RejectFilter, dryRun bool) (results []syncer.Result, records []syncer.RetryRecord, err error) {
	var jobs []syncer.Job
	for _, o := range open {
		stream, err := catalog.Find(o.Stream)
		if err != nil {
			a.log.Warn("what was rejected of a stream that this version does not know stays open", "stream", o.Stream, "rejects", o.Rejects)
			continue
		}
		job := syncer.NewJob(o.Account, stream, nil)
		job.DryRun = dryRun
		jobs = append(jobs, job)
	}
	shown := newProgress(a.console, a.log, jobs, a.console.live && !isTerminal(a.screen))
	defer shown.stop()
	s, err := syncer.New(syncer.Options{Warehouse: w, Logger: a.log, Progress: shown.update})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the retry: %w", err)
	}
	for _, job := range jobs {
		record, err := s.Retry(ctx, job, f)
		if wasStopped(ctx, err) {
			return nil, nil, context.Cause(ctx)
		}
		result := syncer.Result{Job: job, Record: record.RunRecord, Err: err}
		ended := result
		ended.Record.Totals.Rejected = uint64(record.Rejected) // as the table has it
		shown.finish(ended)
		results, records = append(results, result), append(records, record)
	}
	return results, records, nil
}

func printRetries(a *app, output string, results []syncer.Result, records []syncer.RetryRecord) error {
	columns := []column{
		{name: "account"}, {name: "stream"}, count("tried"), count("loaded"), count("rejected"), count("superseded"), durationColumn(output), {name: "outcome"},
	}
	if output != "table" {
		columns = append(columns, column{name: "inserted"}, column{name: "updated"}, column{name: "run_id"}, column{name: "started_at"}, column{name: "error"})
	}
	var rows [][]any
	for i, r := range records {
		row := []any{
			r.Account, r.Stream, uint64(r.Tried), uint64(r.Loaded), uint64(r.Rejected), uint64(r.Superseded),
			runTime(r.RunRecord).Seconds(), outcomeWord(results[i]),
		}
		if output != "table" {
			row = append(row, r.Changes.Inserted, r.Changes.Updated, r.RunID.String(), when(r.StartedAt), errorText(results[i].Err))
		}
		rows = append(rows, row)
	}
	return printAll(output, a.stdout, columns, rows)
}
