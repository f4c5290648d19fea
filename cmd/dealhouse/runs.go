package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const runsLong = `Lists the last runs, the newest first: what each read and changed, how long it took, and how it ended. JSON
and CSV have more columns. The view sync_runs in the warehouse has all runs.

Changes are +inserted ~updated -deleted rows. Lines below a run say what went wrong, how many rows a guard
kept it from deleting, and how many rows are waiting: the list no longer had them, but they are not deleted
until that is certain, or until a person agrees.

The outcome is success; incomplete, if the list changed while it was read or says that it is not whole (what
was read is loaded, some rows may be missing, and the next run reads them); failed; guarded, if a guard
stopped the run or its deletions and a person must look; killed, if its process died; stopped, by a signal
or an operator; or running. Times are UTC.

If the process died on another machine, the run is shown as running until its stream is loaded again: nobody
here can tell that it is not merely slow. The view sync_runs has every killed run as running until then.`

const runsExample = `  dealhouse runs
  dealhouse runs --account acme --stream transactions --limit 100
  dealhouse runs --output json | jq '.[] | select(.outcome != "success")'`

// runsCommand is what its flags say.
type runsCommand struct {
	filter warehouse.RunFilter
	format *choice[term.Format]
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
	limitFlag(cmd, &c.filter.Limit, 20, "runs")
	completeAccounts(cmd, a)
	complete(cmd, "stream", catalog.Names())
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func (c runsCommand) run(ctx context.Context, a *app) error {
	filter := c.filter
	filter.Stream = service.StreamName(filter.Stream)
	if err := errors.Join(knownStream("--stream: ", filter.Stream), checkLimit(filter.Limit)); err != nil {
		return err
	}
	return a.readWarehouse(ctx, func(cfg *config.Config, w *warehouse.Warehouse) error {
		records, err := w.Runs(ctx, filter)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			if err := service.UnknownAccount(ctx, cfg, w, filter.Account); err != nil {
				return err
			}
		}
		return printRuns(a.stdout, c.format.value, records)
	})
}

func printRuns(to io.Writer, format term.Format, records []warehouse.RunRecord) error {
	if format == term.Table {
		return printRunsTable(to, records)
	}
	columns := []term.Column{
		{Name: "started_at"}, {Name: "account"}, {Name: "stream"}, {Name: "mode"},
		{Name: "read"}, {Name: "inserted"}, {Name: "updated"}, {Name: "deleted"}, {Name: "would_delete"},
		{Name: "out_of_scope"}, {Name: "waiting"}, {Name: "unchanged"}, {Name: "rejected"}, {Name: "pages"},
		term.DurationColumn(format), {Name: "outcome"}, {Name: "error"},
		{Name: "run_id"}, {Name: "finished_at"}, {Name: "requested_after"}, {Name: "watermark"}, {Name: "duplicates"},
		{Name: "bytes"}, {Name: "retries"}, {Name: "scope"}, {Name: "warnings"}, {Name: "cause"},
	}
	var rows [][]any
	for _, r := range records {
		t, c := r.Totals, r.Changes
		rows = append(rows, []any{
			term.Time(r.StartedAt), r.Account, r.Stream, r.Mode,
			t.Read, c.Inserted, c.Updated, c.Deleted, r.WouldDelete, c.Outside, c.Kept, c.Unchanged, t.Rejected, t.Pages,
			seconds(r), r.Outcome, r.Error,
			r.RunID.String(), term.Time(r.FinishedAt), term.Time(r.RequestedAfter), term.Time(r.Watermark), r.Duplicates,
			t.Bytes, t.Retries, r.Scope, orEmpty(r.Warnings), r.Cause,
		})
	}
	return term.Print(format, to, columns, rows)
}

// printRunsTable prints runs for people, in 100 columns. The errors of a run stand beneath it, and so do its changes if
// they do not fit in their column.
func printRunsTable(to io.Writer, records []warehouse.RunRecord) error {
	var table bytes.Buffer
	if err := runsTable(&table, records, false); err != nil {
		return err
	}
	widest := term.WidestTable
	if screen, ok := to.(term.Screen); ok {
		widest = screen.Width
	}
	for line := range bytes.Lines(table.Bytes()) {
		if utf8.RuneCount(bytes.TrimSpace(line)) > widest {
			return runsTable(to, records, true)
		}
	}
	_, err := table.WriteTo(to)
	return err
}

func runsTable(to io.Writer, records []warehouse.RunRecord, narrow bool) error {
	columns := []term.Column{
		{Name: "started", Human: minuteCell, Uncut: true}, {Name: "account", Elastic: narrow}, {Name: "stream"},
		{Name: "mode", Minor: true},
		term.CountColumn("read"), {Name: "changes", Right: true, Optional: true},
		term.DurationColumn(term.Table), {Name: "outcome"}, {Name: "notes", Optional: true, Below: true},
	}
	var rows [][]any
	shown := map[string]bool{}
	for _, r := range records {
		changes, notes := changesCell(r.Changes), runNotes(r, shown[r.Error])
		shown[r.Error] = true
		if narrow && changes != "" {
			changes, notes = "", append([]string{changes}, notes...)
		}
		rows = append(rows, []any{
			term.Time(r.StartedAt), r.Account, r.Stream, r.Mode, r.Totals.Read, changes, seconds(r), r.Outcome,
			strings.Join(notes, "; "),
		})
	}
	return term.Print(term.Table, to, columns, rows)
}

// runNotes say what a run left undone, and why it failed. An error that a run further up had too is not repeated.
func runNotes(r warehouse.RunRecord, above bool) (notes []string) {
	if n := r.Totals.Rejected; n > 0 {
		notes = append(notes, term.Count(n)+" rejected")
	}
	if n := r.WouldDelete; n > 0 {
		notes = append(notes, "would delete "+term.Count(n))
	}
	if n := r.Changes.Kept; n > 0 {
		notes = append(notes, term.Count(n)+" waiting")
	}
	switch {
	case r.Error == "":
	case above:
		notes = append(notes, "the same error as above")
	default:
		notes = append(notes, r.Error)
	}
	return notes
}

// seconds is how long a run took; nil while it has not ended.
func seconds(r warehouse.RunRecord) any {
	if r.FinishedAt.IsZero() {
		return nil
	}
	return runTime(r).Seconds()
}

// optional is a column that a table leaves out if no row has a value for it.
func optional(c term.Column) term.Column {
	c.Optional = true
	return c
}

// minuteCell shows a time in UTC, to the minute.
func minuteCell(v any) string {
	text := term.TimeCell(v)
	return text[:max(0, len(text)-len(":00"))]
}

// changesCell shows what a run changed, as diffs do: +inserted ~updated -deleted.
func changesCell(c warehouse.Changes) string {
	var parts []string
	for _, part := range []struct {
		sign string
		n    uint64
	}{{"+", c.Inserted}, {"~", c.Updated}, {"-", c.Deleted}} {
		if part.n > 0 {
			parts = append(parts, part.sign+term.Count(part.n))
		}
	}
	return strings.Join(parts, " ")
}
