package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

const runsLong = `Lists the last runs, the newest first: what each read, what it changed, how long it took, how it ended.
The view sync_runs in the warehouse has all of them, with more columns. Waiting are rows that the list
no longer had, and that are not deleted before it is certain.

The outcome is success; incomplete, when the list moved while it was read: what was read is loaded, some
of its rows may be missing, and the next run reads them; failed; guarded, when a guard stopped the run
and a person must look; killed, when its process died; stopped, by a signal; or running. Times are UTC.`

const runsExample = `  dealhouse runs
  dealhouse runs --account acme --stream transactions --limit 100
  dealhouse runs --output json | jq '.[] | select(.outcome != "success")'`

func newRuns(a *app) *cobra.Command {
	var filter warehouse.RunFilter
	var output *choice
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the last runs",
		Long:    runsLong,
		Example: runsExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runs(cmd.Context(), filter, output.value)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Account, "account", "", "only this `account`")
	flags.StringVar(&filter.Stream, "stream", "", "only this `stream`")
	flags.IntVar(&filter.Limit, "limit", 20, "how many runs")
	completeWith(cmd, "account", a.accountNames)
	complete(cmd, "stream", catalog.Names())
	output = outputFlag(cmd, "table", "json", "csv")
	return cmd
}

func (a *app) runs(ctx context.Context, filter warehouse.RunFilter, output string) (err error) {
	filter.Stream = canonical(filter.Stream)
	switch {
	case filter.Stream != "" && !slices.Contains(catalog.Names(), filter.Stream):
		return usagef("--stream: there is no stream %q: the streams are %s", filter.Stream, list(catalog.Names()))
	case filter.Limit < 1:
		return usagef("--limit: want 1 or more")
	}
	cfg, err := a.loadConfig(false)
	if err != nil {
		return err
	}
	w, err := a.openExisting(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	records, err := w.Runs(ctx, filter)
	if isMissing(err) {
		return warehouse.ErrSchemaOld
	}
	if err != nil {
		return err
	}
	if len(records) == 0 {
		if err := unknownAccount(cfg, filter.Account); err != nil {
			return err
		}
	}
	return printRuns(a, output, records)
}

func printRuns(a *app, output string, records []warehouse.RunRecord) error {
	started := column{name: "started_at"}
	if output == "table" {
		started = column{name: "started", human: dateCell}
	}
	columns := []column{
		started, {name: "account"}, {name: "stream"}, {name: "mode"},
		count("read"), count("inserted"), count("updated"), count("deleted"), count("waiting"), count("unchanged"), count("rejected"), count("pages"),
		durationColumn(output), {name: "outcome"}, {name: "error"},
	}
	if output != "table" {
		columns = append(columns, column{name: "run_id"}, column{name: "finished_at"}, column{name: "requested_after"}, column{name: "watermark"},
			column{name: "duplicates"}, column{name: "bytes"}, column{name: "retries"}, column{name: "warnings"})
	}
	var rows [][]any
	for _, r := range records {
		t, c := r.Totals, r.Changes
		var took any
		if !r.FinishedAt.IsZero() {
			took = runTime(r).Seconds()
		}
		row := []any{
			when(r.StartedAt), r.Account, r.Stream, r.Mode,
			t.Read, c.Inserted, c.Updated, c.Deleted, c.Kept, c.Unchanged, t.Rejected, t.Pages,
			took, r.Outcome, r.Error,
		}
		if output != "table" {
			row = append(row, r.RunID.String(), when(r.FinishedAt), when(r.RequestedAfter), when(r.Watermark),
				r.Duplicates, t.Bytes, t.Retries, orEmpty(r.Warnings))
		}
		rows = append(rows, row)
	}
	return printAll(output, a.stdout, columns, rows)
}
