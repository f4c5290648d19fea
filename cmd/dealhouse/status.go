package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const statusLong = `Shows where every stream of every account stands: its last success, its watermark, its rows, and its last
error. It also lists streams that are configured and have never run.

The lag of transactions is the age of the watermark: all changes up to it are loaded. The lag of the other
streams is the time since their last success, when the whole list was loaded. All ages use the clock of the
warehouse. Deals that were requested one by one and backfills do not count. Waiting rows are those that the
last complete list no longer had; they are deleted once that is certain.

If only part of a stream is loaded, its scope shows the filters of the last complete list, and the configured
ones if they differ.

The last outcome is one of those of dealhouse runs, or: never ran, disabled, or not configured. Without any
account in the configuration it is that of the last run, whoever made it. The table shows the beginning of
an error; JSON and CSV have all of it. The table leaves out the columns for waiting rows and errors if there
are none.

Below the table stands whether changes came later than the overlap of their stream, so that only a full run
finds such changes.

--watch repeats it until Ctrl-C: in place on a terminal, otherwise one below the other. An embedded warehouse
is closed in between, so that a sync can open it; while a sync has it open, the last status stays.`

const statusExample = `  dealhouse status
  dealhouse status --watch --interval 10s
  dealhouse status --output json | jq '.[] | select(.lag_seconds > 3600)'`

// widestError bounds an error in the table of the status, to a line of most terminals.
const widestError = 100

// widestScope bounds the scope of a stream there.
const widestScope = 60

// statusCommand is what its flags say.
type statusCommand struct {
	format   *choice[term.Format]
	watch    bool
	interval time.Duration
}

func newStatus(a *app) *cobra.Command {
	var c statusCommand
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show where every stream stands",
		Long:    statusLong,
		Example: statusExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("interval") && !c.watch:
				return usagef("--interval is for --watch")
			case c.watch && c.interval < 100*time.Millisecond:
				return usagef("--interval: want at least 100ms")
			case c.watch:
				return c.runAgain(cmd.Context(), a)
			}
			return c.run(cmd.Context(), a, a.stdout)
		},
	}
	cmd.Flags().BoolVar(&c.watch, "watch", false, "show it again and again, until Ctrl-C")
	cmd.Flags().DurationVar(&c.interval, "interval", 2*time.Second, "how often, with --watch")
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func (c statusCommand) run(ctx context.Context, a *app, to io.Writer) error {
	cfg, err := a.readOnly("warehouse")
	if err != nil {
		return err
	}
	all, late, err := readStatus(ctx, a, cfg, c.format.value == term.Table && !c.watch)
	if err != nil {
		return err
	}
	all = service.Statuses(cfg, all)
	if len(all) == 0 {
		a.log.Warn("nothing has been loaded into this warehouse yet, and no account is configured", "warehouse", place(cfg))
	}
	if len(all) > 0 && len(cfg.Accounts) == 0 && !c.watch {
		a.log.Info("no account is configured here: these are the last runs of others")
	}
	err = printStatus(to, c.format.value, all,
		func(s warehouse.StreamStatus) string { return service.LoadedScope(cfg, s) })
	for _, line := range late {
		_, printing := fmt.Fprintf(to, "\n%s\n", term.Line(line))
		err = errors.Join(err, printing)
	}
	return err
}

func printStatus(to io.Writer, format term.Format, all []warehouse.StreamStatus,
	scope func(warehouse.StreamStatus) string) error {
	columns := []term.Column{
		{Name: "account"}, {Name: "stream"}, term.CountColumn("rows"), optional(term.CountColumn("waiting")),
		{Name: "last_success"}, {Name: "lag_seconds"}, {Name: "watermark"}, {Name: "last_run"}, {Name: "last_outcome"},
		{Name: "scope", Optional: true}, {Name: "last_error", Optional: true},
	}
	if format == term.Table {
		now := time.Now()
		for _, s := range all {
			if !s.Now.IsZero() { // that of a stream which never ran
				now = s.Now // the clock that the times below are of
			}
		}
		columns[4] = term.Column{Name: "last success", Human: func(v any) string {
			if t, ok := v.(time.Time); ok {
				return term.Ago(now.Sub(t), term.Short)
			}
			return "never"
		}}
		columns[5] = term.Column{Name: "lag", Right: true, Human: term.AgeCell}
		columns[6].Human, columns[6].Minor, columns[6].Uncut = term.TimeCell, true, true
		columns = slices.Delete(columns, 7, 8)
		columns[7].Name, columns[9].Name = "last outcome", "last error"
		columns[8].Human = func(v any) string { return term.Cut(term.Plain(v), widestScope) }
		columns[9].Human = func(v any) string {
			line, _, _ := strings.Cut(term.Plain(v), "\n")
			return term.Cut(line, widestError)
		}
	}
	var rows [][]any
	for _, s := range all {
		var lag any // in seconds; nil when that is not known
		if l := s.Lag(s.Now); l != nil {
			lag = l.Seconds()
		}
		row := []any{s.Account, s.Stream, s.Rows, s.Waiting, term.TimeAt(s.LastSuccess), lag, term.TimeAt(s.Watermark),
			term.TimeAt(s.LastRun), s.LastOutcome, scope(s), s.LastError}
		if format == term.Table {
			row = slices.Delete(row, 7, 8)
		}
		rows = append(rows, row)
	}
	return term.Print(format, to, columns, rows)
}

// readStatus reads the status, which is empty when nothing was ever loaded, and, if asked for, which changes come too
// late.
func readStatus(ctx context.Context, a *app, cfg *config.Config, lateness bool) (all []warehouse.StreamStatus, late []string, err error) {
	w, err := a.opener().Existing(ctx, cfg)
	if is[service.AbsentError](err) {
		a.log.Warn(err.Error())
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	all, err = w.Status(ctx)
	if warehouse.IsMissing(err) {
		a.log.Warn("the warehouse has no tables of dealhouse yet: dealhouse sync creates them", "warehouse", place(cfg))
		return nil, nil, nil
	}
	if err != nil || !lateness {
		return all, nil, err
	}
	late, unknown := service.TooLate(ctx, cfg, w)
	if unknown != nil && ctx.Err() == nil { // an older version may have made the views
		a.log.Warn("it is not known whether changes come later than the overlap", "error", unknown)
	}
	return all, late, nil
}
