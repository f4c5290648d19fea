package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

const backfillLong = `Reads the transactions that were updated in a range of time: at --from or later, and before --to. The
range is cut into windows, which are read side by side under the account's rate limit. What is read
again changes nothing, nothing is deleted, and where the next sync goes on from stays as it is.

It may be stopped at any time: the same command, with the same range and window, goes on with the
windows that are left. Once it has ended, the same command reads the range again. A sync of the same
account's transactions waits until the backfill has ended.

Times are 2024-01-31, 2024-01-31T15:04:05Z or 2024-01-31T15:04:05+02:00; without a zone, UTC.
The first sync of an account with initial_from is such a backfill by itself.

Exit codes are those of sync: 0 done; 1 a fault worth retrying; 2 usage or configuration; 3 refused
credentials; 4 stopped by a guard; 130 or 143 interrupted.`

const backfillExample = `  dealhouse backfill transactions --from 2024-01-01 --to 2025-01-01
  dealhouse backfill transactions --from 2024-01-01 --to 2025-01-01 --parallel 8 --account acme
  dealhouse backfill transactions --from 2024-03-01T06:00:00Z --to 2024-03-01T09:00:00Z --window 15m`

var backfillStream = catalog.Transactions().Name

type backfillOptions struct {
	accounts []string
	from, to string
	window   time.Duration
	parallel int
}

func newBackfill(a *app) *cobra.Command {
	var o backfillOptions
	var output *choice
	cmd := &cobra.Command{
		Use:       "backfill transactions --from TIME --to TIME",
		Short:     "Load a range of the past, window by window",
		Long:      backfillLong,
		Example:   backfillExample,
		ValidArgs: []string{backfillStream},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != backfillStream {
				return fmt.Errorf("name what to load: only %s can be read by time", backfillStream)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.backfill(cmd.Context(), o, output.value)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "", "begin of the range: the `time` of the oldest update to load")
	flags.StringVar(&o.to, "to", "", "end of the range: load updates before this `time`")
	flags.DurationVar(&o.window, "window", syncer.DefaultWindow, fmt.Sprintf("width of a window, at least %s", syncer.MinWindow))
	flags.IntVar(&o.parallel, "parallel", syncer.DefaultParallel, fmt.Sprintf("how many windows of an account to read side by side, up to %d", syncer.MaxParallel))
	flags.StringSliceVar(&o.accounts, "account", nil, "only this `account`; repeatable")
	completeWith(cmd, "account", a.accountNames)
	output = outputFlag(cmd, "table", "json", "csv")
	return cmd
}

// asked is the range that the flags name.
func (o backfillOptions) asked() (syncer.Range, error) {
	asked := syncer.Range{Window: o.window, Parallel: o.parallel}
	for _, flag := range []struct {
		name, text string
		to         *time.Time
	}{{"--from", o.from, &asked.From}, {"--to", o.to, &asked.To}} {
		if flag.text == "" {
			return asked, usagef("a backfill needs a range: %s is missing", flag.name)
		}
		at, err := parseTime(flag.text)
		if err != nil {
			return asked, usagef("%s: %w", flag.name, err)
		}
		*flag.to = at
	}
	if o.window == 0 || o.parallel == 0 { // which the range would take for the defaults
		return asked, usagef("--window and --parallel must be more than 0")
	}
	if err := asked.Validate(); err != nil {
		return asked, usageError{err}
	}
	return asked, nil
}

// parseTime reads a date, or a time in the forms of ISO 8601 that people write.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2024-01-31 or 2024-01-31T15:04:05Z", text)
}

func (a *app) backfill(ctx context.Context, o backfillOptions, output string) (err error) {
	asked, err := o.asked()
	if err != nil {
		return err
	}
	cfg, err := a.loadConfig(true)
	if err != nil {
		return err
	}
	jobs, api, err := a.prepareJobs(cfg, selection{accounts: o.accounts, streams: []string{backfillStream}}, func(*syncer.Job) {})
	if err != nil {
		return err
	}
	defer api.close()
	w, err := a.openWarehouse(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := a.upgrade(ctx, w, false); err != nil {
		return err
	}
	results, err := a.runBackfills(ctx, w, jobs, asked)
	if err != nil {
		return err
	}
	if err := printResults(a.stdout, output, results); err != nil {
		return err
	}
	a.aftermath(ctx, cfg, w, api, results)
	return a.conclude(ctx, results)
}

// runBackfills reads the range of all accounts side by side and shows the progress. One that fails does not stop the
// others.
func (a *app) runBackfills(ctx context.Context, w *warehouse.Warehouse, jobs []syncer.Job, asked syncer.Range) ([]syncer.Result, error) {
	shown := newProgress(a.console, a.log, jobs, a.console.live && !isTerminal(a.screen))
	defer shown.stop()
	defer a.announceDrain(ctx)()
	s, err := syncer.New(syncer.Options{Warehouse: w, Logger: a.log, Progress: shown.update})
	if err != nil {
		return nil, fmt.Errorf("preparing the backfill: %w", err)
	}
	results := make([]syncer.Result, len(jobs))
	var group sync.WaitGroup
	for i, job := range jobs {
		group.Go(func() {
			record, err := s.Backfill(ctx, job, asked)
			results[i] = syncer.Result{Job: job, Record: record.RunRecord, Err: err}
			shown.finish(results[i])
			if err != nil && record.Windows > 0 {
				a.log.Warn("the backfill is not complete: the same command goes on with what is left", "account", job.Account,
					"windows", record.Windows, "done", record.Done)
			}
		})
	}
	group.Wait()
	return results, nil
}

// windowWords say how far a backfill is, and nothing of another run.
func (l *progressLine) windowWords() string {
	if l.Windows.Total == 0 {
		return ""
	}
	text := fmt.Sprintf(" %3d %%", 100*l.Windows.Done/l.Windows.Total)
	if left, known := l.timeLeft(); known {
		text += ", " + span(left) + " left"
	}
	return text
}

// windowAttrs are the same for a log line.
func (l *progressLine) windowAttrs() []any {
	if l.Windows.Total == 0 {
		return nil
	}
	attrs := []any{"percent", 100 * l.Windows.Done / l.Windows.Total, "windows", l.Windows.Total, "windows_done", l.Windows.Done}
	if left, known := l.timeLeft(); known {
		attrs = append(attrs, "seconds_left", int(left.Seconds()))
	}
	return attrs
}

// timeLeft supposes that the windows that are left take as long as those that were read.
func (l *progressLine) timeLeft() (left time.Duration, known bool) {
	read := l.Windows.Done - l.Windows.Earlier
	if read <= 0 || l.reading <= 0 {
		return 0, false
	}
	each := l.reading.Seconds() / float64(read)
	return time.Duration(each * float64(l.Windows.Total-l.Windows.Done) * float64(time.Second)), true
}
