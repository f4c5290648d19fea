package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
)

const backfillLong = `Loads the transactions that were updated within a range of time: from --from up to, but not including, --to.
The range is split into windows, which are read in parallel within the account's rate limit: wide ones where
little happened, narrow ones where much did. Nothing is deleted. Loading the same range again changes
nothing, and the next sync continues from its own watermark.

You can stop it at any time. The same command, with the same range and window, continues with the windows
that are left. Once it has finished, the same command reads the whole range again. A sync of the same
account's transactions waits until the backfill has ended.

Times are 2024-01-31, 2024-01-31T15:04:05Z or 2024-01-31T15:04:05+02:00; without a zone they are UTC.
If initial_from is set, the first sync of an account is such a backfill.

Exit codes are those of sync: 0 done; 1 a fault worth retrying; 2 usage or configuration; 3 refused
credentials; 4 stopped by a guard; 130 or 143 interrupted.`

const backfillExample = `  dealhouse backfill transactions --from 2024-01-01 --to 2025-01-01
  dealhouse backfill transactions --from 2024-01-01 --to 2025-01-01 --parallel 8 --account acme
  dealhouse backfill transactions --from 2024-03-01T06:00:00Z --to 2024-03-01T09:00:00Z --window 15m`

var backfillStream = catalog.Transactions().Name

// autoWindow is the width of windows that fit what they hold.
const autoWindow = "auto"

// backfillCommand holds the values of the flags.
type backfillCommand struct {
	accounts []string
	from, to string
	window   string
	parallel int
	format   *choice[term.Format]
}

func newBackfill(a *app) *cobra.Command {
	var c backfillCommand
	cmd := &cobra.Command{
		Use:       "backfill transactions --from TIME --to TIME",
		Short:     "Load a range of past transactions, window by window",
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
			return c.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.from, "from", "", "start of the range: the `time` of the oldest update to load")
	flags.StringVar(&c.to, "to", "", "end of the range: load updates before this `time`")
	flags.StringVar(&c.window, "window", autoWindow,
		fmt.Sprintf("`width` of a window, at least %s; auto: as wide as fits what it holds", syncer.MinWindow))
	flags.IntVar(&c.parallel, "parallel", syncer.DefaultParallel,
		fmt.Sprintf("how many windows of an account to read in parallel, up to %d", syncer.MaxParallel))
	flags.StringSliceVar(&c.accounts, "account", nil, "only this `account`; repeatable")
	completeAccounts(cmd, a)
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

// asked returns the range that the flags name.
func (c backfillCommand) asked() (syncer.Range, error) {
	asked := syncer.Range{Parallel: c.parallel}
	if c.window != autoWindow {
		width, err := time.ParseDuration(c.window)
		if err != nil || width == 0 {
			return asked, usagef("--window: %q: want auto, or a duration above 0 such as 15m or 24h", c.window)
		}
		asked.Window = width
	}
	for _, flag := range []struct {
		name, text string
		to         *time.Time
	}{{"--from", c.from, &asked.From}, {"--to", c.to, &asked.To}} {
		if flag.text == "" {
			return asked, usagef("a backfill needs a range: %s is missing", flag.name)
		}
		at, err := parseTime(flag.text)
		if err != nil {
			return asked, usagef("%s: %w", flag.name, err)
		}
		*flag.to = at
	}
	if c.parallel == 0 { // the range would take the zero value for its default
		return asked, usagef("--parallel must be more than 0")
	}
	if err := asked.Validate(); err != nil {
		return asked, usageError{err}
	}
	return asked, nil
}

// parseTime reads a date, or a time in the forms of ISO 8601 that people write.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime,
		time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2024-01-31 or 2024-01-31T15:04:05Z", text)
}

func (c backfillCommand) run(ctx context.Context, a *app) (err error) {
	asked, err := c.asked()
	if err != nil {
		return err
	}
	cfg, err := a.readConfig(true)
	if err != nil {
		return err
	}
	exported, registry := a.exported(nil)
	svc := a.newService()
	jobs, api, err := svc.Jobs(cfg, service.Selection{Accounts: c.accounts, Streams: []string{backfillStream}}, nil)
	if err != nil {
		return err
	}
	defer api.Close()
	receivers, err := svc.Receivers(cfg)
	if err != nil {
		return err
	}
	o := a.opener()
	w, err := o.WhenFree(ctx, cfg, o.OrCreate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	o.Share(w, false)
	ctx, jobs, exporting, err := a.prepareRuns(ctx, svc, cfg, w, jobs,
		runOptions{span: "backfill", exported: exported, registry: registry})
	if err != nil {
		return err
	}
	defer exporting.close(ctx)
	watch, stop := a.showRuns(jobs, api)
	results, err := svc.Backfill(ctx, w, jobs, asked, watch)
	stop()
	if err != nil {
		return err
	}
	if err := printResults(a.stdout, c.format.value, results); err != nil {
		return err
	}
	svc.AfterRuns(ctx, cfg, w, api, results)
	svc.Notify(ctx, cfg, w, receivers)
	return a.printFailures(ctx, svc, results)
}
