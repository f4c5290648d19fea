package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/output"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/wording"
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

// runsCommand is what its flags say.
type runsCommand struct {
	filter warehouse.RunFilter
	format *choice
}

func newRuns(a *app) *cobra.Command {
	var c runsCommand
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the last runs",
		Long:    runsLong,
		Example: runsExample,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.filter.Account, "account", "", "only this `account`")
	flags.StringVar(&c.filter.Stream, "stream", "", "only this `stream`")
	flags.IntVar(&c.filter.Limit, "limit", 20, "how many runs")
	completeAccounts(cmd, a)
	complete(cmd, "stream", catalog.Names())
	c.format = outputFlag(cmd, "table", "json", "csv")
	return cmd
}

func (c runsCommand) run(ctx context.Context, a *app) (err error) {
	filter := c.filter
	filter.Stream = service.StreamName(filter.Stream)
	switch {
	case filter.Stream != "" && !slices.Contains(catalog.Names(), filter.Stream):
		return usagef("--stream: there is no stream %q: the streams are %s", filter.Stream, wording.List(catalog.Names()))
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
	if warehouse.IsMissing(err) {
		return warehouse.ErrSchemaOld
	}
	if err != nil {
		return err
	}
	if len(records) == 0 {
		if err := service.UnknownAccount(cfg, filter.Account); err != nil {
			return err
		}
	}
	return printRuns(a.stdout, c.format.value, records)
}

func printRuns(to io.Writer, format string, records []warehouse.RunRecord) error {
	started := output.Column{Name: "started_at"}
	if format == "table" {
		started = output.Column{Name: "started", Human: output.TimeCell}
	}
	columns := []output.Column{
		started, {Name: "account"}, {Name: "stream"}, {Name: "mode"},
		output.Count("read"), output.Count("inserted"), output.Count("updated"), output.Count("deleted"), output.Count("waiting"), output.Count("unchanged"), output.Count("rejected"), output.Count("pages"),
		output.Duration(format), {Name: "outcome"}, {Name: "error"},
	}
	if format != "table" {
		columns = append(columns, output.Column{Name: "run_id"}, output.Column{Name: "finished_at"}, output.Column{Name: "requested_after"}, output.Column{Name: "watermark"},
			output.Column{Name: "duplicates"}, output.Column{Name: "bytes"}, output.Column{Name: "retries"}, output.Column{Name: "warnings"})
	}
	var rows [][]any
	for _, r := range records {
		t, c := r.Totals, r.Changes
		var took any
		if !r.FinishedAt.IsZero() {
			took = runTime(r).Seconds()
		}
		row := []any{
			output.Time(r.StartedAt), r.Account, r.Stream, r.Mode,
			t.Read, c.Inserted, c.Updated, c.Deleted, c.Kept, c.Unchanged, t.Rejected, t.Pages,
			took, r.Outcome, r.Error,
		}
		if format != "table" {
			row = append(row, r.RunID.String(), output.Time(r.FinishedAt), output.Time(r.RequestedAfter), output.Time(r.Watermark),
				r.Duplicates, t.Bytes, t.Retries, orEmpty(r.Warnings))
		}
		rows = append(rows, row)
	}
	return output.Print(format, to, columns, rows)
}
