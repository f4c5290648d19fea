package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

const statusLong = `Shows where every stream of every account stands: its last success, its watermark, its rows, and
what went wrong last. Streams that are configured and never ran are listed too.

The lag of transactions is the age of the watermark, up to which all changes are loaded; that of the
other streams is the time since their last success, when all of them was loaded. All ages are by the
clock of the warehouse. Deals that were read by their own addresses do not count, nor does a backfill.
Waiting are rows that the last complete list no longer had, and that are not deleted before it is
certain.

The last outcome is one of those of dealhouse runs; or never ran; or, whatever came of their last run,
disabled and not configured. The table has the beginning of an error, JSON and CSV have all of it.

--watch shows it again and again until Ctrl-C: in place on a terminal, else one after the other. An
embedded warehouse is let go of in between, so that a sync can have it; while one does, the last
status stays.`

const statusExample = `  dealhouse status
  dealhouse status --watch --interval 10s
  dealhouse status --output json | jq '.[] | select(.lag_seconds > 3600)'`

// widestError bounds an error in the table of the status, to a line of most terminals.
const widestError = 100

func newStatus(a *app) *cobra.Command {
	var output *choice
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show where every stream stands",
		Long:    statusLong,
		Example: statusExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("interval") && !watch:
				return usagef("--interval is for --watch")
			case watch && interval < 100*time.Millisecond:
				return usagef("--interval: want at least 100ms")
			case watch:
				return a.watchStatus(cmd.Context(), output.value, interval)
			}
			return a.status(cmd.Context(), output.value, a.stdout)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again and again, until Ctrl-C")
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "how often, with --watch")
	output = outputFlag(cmd, "table", "json", "csv")
	return cmd
}

func (a *app) status(ctx context.Context, output string, to io.Writer) error {
	cfg, err := a.loadConfig(false)
	if err != nil {
		return err
	}
	all, err := a.readStatus(ctx, cfg)
	if err != nil {
		return err
	}
	all = withUnrun(cfg, all)
	columns := []column{
		{name: "account"}, {name: "stream"}, count("rows"), count("waiting"),
		{name: "last_success"}, {name: "lag_seconds"}, {name: "watermark"}, {name: "last_run"}, {name: "last_outcome"}, {name: "last_error"},
	}
	if output == "table" {
		now := time.Now()
		for _, s := range all {
			if !s.Now.IsZero() { // that of a stream which never ran
				now = s.Now // the clock that the times below are of
			}
		}
		columns[4] = column{name: "last success", human: func(v any) string {
			if t, ok := v.(time.Time); ok {
				return ago(now.Sub(t))
			}
			return "never"
		}}
		columns[5] = column{name: "lag", right: true, human: lagCell}
		columns[6].human = dateCell
		columns = slices.Delete(columns, 7, 8)
		columns[7].name, columns[8].name = "last outcome", "last error"
		columns[8].human = func(v any) string {
			line, _, _ := strings.Cut(plain(v), "\n")
			return cut(line, widestError)
		}
	}
	var rows [][]any
	for _, s := range all {
		row := []any{s.Account, s.Stream, s.Rows, s.Waiting, pointed(s.LastSuccess), lag(s), pointed(s.Watermark), pointed(s.LastRun), s.LastOutcome, s.LastError}
		if output == "table" {
			row = slices.Delete(row, 7, 8)
		}
		rows = append(rows, row)
	}
	if len(all) == 0 {
		a.log.Warn("nothing was ever loaded into this warehouse, and no account is configured", "warehouse", place(cfg))
	}
	return printAll(output, to, columns, rows)
}

// readStatus reads the status, which is empty when nothing was ever loaded.
func (a *app) readStatus(ctx context.Context, cfg *config.Config) (_ []warehouse.StreamStatus, err error) {
	w, err := a.openExisting(ctx, cfg)
	if _, none := errors.AsType[absent](err); none {
		a.log.Warn(err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	all, err := w.Status(ctx)
	if isMissing(err) {
		a.log.Warn("the warehouse has no tables of dealhouse yet: dealhouse sync makes them", "warehouse", place(cfg))
		return nil, nil
	}
	return all, err
}

// withUnrun adds the configured streams that never ran, in the order of the configuration; accounts that are no longer
// configured come last. What came of the last run of a stream that is not to be loaded is of no interest any more.
func withUnrun(cfg *config.Config, ran []warehouse.StreamStatus) []warehouse.StreamStatus {
	var all []warehouse.StreamStatus
	for _, account := range cfg.Accounts {
		for _, name := range catalog.Names() {
			s := warehouse.StreamStatus{Account: account.Name, Stream: name, LastOutcome: "never ran"}
			if i := slices.IndexFunc(ran, func(s warehouse.StreamStatus) bool { return s.Account == account.Name && s.Stream == name }); i >= 0 {
				s = ran[i]
			}
			if setting, ok := account.Stream(name); ok && !setting.Enabled {
				s.LastOutcome, s.LastError = "disabled", ""
			}
			all = append(all, s)
		}
	}
	for _, s := range ran {
		if _, configured := cfg.Account(s.Account); !configured {
			s.LastOutcome, s.LastError = "not configured", ""
			all = append(all, s)
		}
	}
	return all
}

// lag is how far a stream is behind, in seconds; nil when that is not known.
func lag(s warehouse.StreamStatus) any {
	since := s.LastSuccess
	if s.Watermark != nil {
		since = s.Watermark
	}
	if since == nil || since.IsZero() {
		return nil
	}
	return max(0, s.Now.Sub(*since).Seconds())
}

// lagCell shows a lag in whole units, as the time of the last success is shown.
func lagCell(v any) string {
	s, ok := v.(float64)
	if !ok {
		return ""
	}
	return coarse(time.Duration(s * float64(time.Second)))
}

func pointed(t *time.Time) any {
	if t == nil {
		return nil
	}
	return when(*t)
}
