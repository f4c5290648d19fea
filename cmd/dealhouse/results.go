package main

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// printResults prints how the runs of a sync ended.
func printResults(w io.Writer, output string, results []syncer.Result) error {
	columns := []column{
		{name: "account"}, {name: "stream"}, {name: "mode"},
		count("read"), count("inserted"), count("updated"), count("deleted"), count("unchanged"), count("rejected"), count("pages"),
		durationColumn(output), {name: "outcome"},
	}
	if output != "table" {
		columns = append(columns, column{name: "run_id"}, column{name: "started_at"}, column{name: "requested_after"}, column{name: "watermark"},
			column{name: "duplicates"}, column{name: "bytes"}, column{name: "retries"}, column{name: "warnings"}, column{name: "error"})
	}
	var rows [][]any
	for _, r := range results {
		t, c := r.Record.Totals, r.Record.Changes
		row := []any{
			r.Record.Account, r.Record.Stream, r.Record.Mode,
			t.Read, c.Inserted, c.Updated, c.Deleted, c.Unchanged, t.Rejected, t.Pages,
			runTime(r.Record).Seconds(), outcomeWord(r),
		}
		if output != "table" {
			row = append(row, r.Record.RunID.String(), when(r.Record.StartedAt), when(r.Record.RequestedAfter), when(r.Record.Watermark),
				r.Record.Duplicates, t.Bytes, t.Retries, orEmpty(r.Record.Warnings), errorText(r.Err))
		}
		rows = append(rows, row)
	}
	return printAll(output, w, columns, rows)
}

// count is a column of counts.
func count(name string) column { return column{name: name, right: true, human: countCell} }

// durationColumn is in words for people and in seconds for programs.
func durationColumn(output string) column {
	if output == "table" {
		return column{name: "duration", right: true, human: secondsCell}
	}
	return column{name: "duration_seconds"}
}

func outcomeWord(r syncer.Result) string {
	if r.Err != nil && isCanceled(r.Err) {
		return warehouse.OutcomeStopped
	}
	return r.Record.Outcome
}

// wasStopped reports a run that ended because the program was told to.
func wasStopped(ctx context.Context, err error) bool { return ctx.Err() != nil && isCanceled(err) }

func isCanceled(err error) bool {
	_, signal := errors.AsType[stopped](err)
	api, ok := apiError(err)
	return signal || errors.Is(err, context.Canceled) || ok && api.Kind == dealapi.KindCanceled
}

// apiError is a copy of the API's error in a chain.
func apiError(err error) (dealapi.Error, bool) {
	if e, ok := errors.AsType[*dealapi.Error](err); ok {
		return *e, true
	}
	return dealapi.Error{}, false
}

func orEmpty(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return message(err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
