package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// printResults prints how the runs of a sync ended.
func printResults(to io.Writer, format term.Format, results []syncer.Result) error {
	columns := []term.Column{
		{Name: "account"}, {Name: "stream"}, {Name: "mode"},
		term.CountColumn("read"), term.CountColumn("inserted"), term.CountColumn("updated"), term.CountColumn("deleted"),
		term.CountColumn("unchanged"),
		optional(term.CountColumn("rejected")), term.CountColumn("pages"), term.DurationColumn(format), {Name: "outcome"},
	}
	const unchanged, pages, duration = 7, 9, 10
	if format == term.Table { // it fits a terminal
		columns[unchanged].Name, columns[duration].Name = "same", "took"
		columns = slices.Delete(columns, pages, pages+1)
	} else {
		columns = append(columns, term.Column{Name: "run_id"}, term.Column{Name: "started_at"},
			term.Column{Name: "requested_after"}, term.Column{Name: "watermark"},
			term.Column{Name: "duplicates"}, term.Column{Name: "bytes"}, term.Column{Name: "retries"},
			term.Column{Name: "warnings"}, term.Column{Name: "error"}, term.Column{Name: "cause"})
	}
	var rows [][]any
	for _, r := range results {
		t, c := r.Record.Totals, r.Record.Changes
		row := []any{
			r.Record.Account, r.Record.Stream, r.Record.Mode,
			t.Read, c.Inserted, c.Updated, c.Deleted, c.Unchanged, t.Rejected, t.Pages,
			runTime(r.Record).Seconds(), outcomeWord(r),
		}
		if format == term.Table {
			row = slices.Delete(row, pages, pages+1)
		} else {
			row = append(row, r.Record.RunID.String(), term.Time(r.Record.StartedAt), term.Time(r.Record.RequestedAfter),
				term.Time(r.Record.Watermark),
				r.Record.Duplicates, t.Bytes, t.Retries, orEmpty(r.Record.Warnings), errorText(r.Err), r.Record.Cause)
		}
		rows = append(rows, row)
	}
	return term.Print(format, to, columns, rows)
}

// showRuns starts to show the progress of jobs. api knows the rate limits, and may be nil. stop must be called when the
// runs have ended.
func (a *app) showRuns(jobs []syncer.Job, api *service.Clients) (watch service.Watch, stop func()) {
	o := term.ProgressOptions{Console: a.console, Logger: a.log, Keep: a.console.Live() && !term.IsTerminal(a.screen)}
	for _, job := range jobs {
		o.Runs = append(o.Runs, term.Run{Account: job.Account, Stream: job.Stream.Name})
	}
	if api != nil {
		o.LimitedTo = api.LimitedTo
	}
	shown := term.NewProgress(o)
	return service.Watch{
		Progress: func(p syncer.Progress) {
			shown.Update(term.State{
				Run: term.Run{Account: p.Account, Stream: p.Stream}, Phase: string(p.Phase),
				Reading: p.Phase == syncer.PhaseReading,
				Rows:    p.Totals.Read, Pages: p.Totals.Pages, Windows: term.Windows(p.Windows),
			})
		},
		Ended: func(r syncer.Result) {
			c, t := r.Record.Changes, r.Record.Totals
			shown.Finish(term.Run{Account: r.Record.Account, Stream: r.Record.Stream}, resultWords(r),
				"outcome", outcomeWord(r), "mode", r.Record.Mode,
				"read", t.Read, "inserted", c.Inserted, "updated", c.Updated, "deleted", c.Deleted, "unchanged", c.Unchanged,
				"rejected", t.Rejected, "pages", t.Pages, "seconds", float64(runTime(r.Record).Milliseconds())/1000)
		},
	}, shown.Stop
}

// resultWords returns the result of a run in a few words.
func resultWords(r syncer.Result) string {
	if r.Err != nil {
		return outcomeWord(r)
	}
	c := r.Record.Changes
	var changes []string
	for _, part := range []struct {
		n    uint64
		what string
	}{{c.Inserted, "inserted"}, {c.Updated, "updated"}, {c.Deleted, "deleted"}} {
		if part.n > 0 {
			changes = append(changes, term.Count(part.n)+" "+part.what)
		}
	}
	if len(changes) == 0 {
		changes = []string{"no change"}
	}
	text := fmt.Sprintf("%-9s %10s rows  ", "done", term.Count(r.Record.Totals.Read)) + strings.Join(changes, ", ")
	if r.Record.Outcome == warehouse.OutcomeDryRun {
		text += " (dry run)"
	}
	return text
}

func outcomeWord(r syncer.Result) string {
	if r.Err != nil && service.Canceled(r.Err) {
		return warehouse.OutcomeStopped
	}
	return r.Record.Outcome
}

// runTime is how long a run took.
func runTime(r warehouse.RunRecord) time.Duration {
	if r.StartedAt.IsZero() || r.FinishedAt.IsZero() {
		return 0
	}
	return max(0, r.FinishedAt.Sub(r.StartedAt))
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
	return term.Message(err)
}
