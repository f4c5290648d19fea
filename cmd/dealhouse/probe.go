package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/probe"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
)

const probeLong = `Asks the API of each account what it does: under which address and key its streams are, which parameters
filter by date and what these compare, how pages follow each other, how lists are ordered, whether the
clock is right, and what else differs from the interface. It changes nothing, here or there.

--keep is for a schedule, such as once a week: it keeps the answers in the warehouse, and compares them with
those of the last time. What has changed is told, is in the view quality_checks as api_unchanged, and ends
with exit code 1.

Each answer comes with what it rests on and how far it can be relied on: sure, likely or unknown. Where the
configuration says something else, that is told at the end.

It makes at most %d GET requests an account, %d a second, and ends at the first answer that asks to slow down.`

const probeExample = `  dealhouse probe
  dealhouse probe --keep                                     once a week
  dealhouse probe --account acme --output json | jq '.[] | select(.confidence == "unknown")'`

// probeCommand is what its flags say.
type probeCommand struct {
	account string
	most    int
	keep    bool
	format  *choice[term.Format]
}

func newProbe(a *app) *cobra.Command {
	var c probeCommand
	cmd := &cobra.Command{
		Use:     "probe",
		Short:   "Find out what the API does, by asking it",
		Long:    fmt.Sprintf(probeLong, probe.DefaultMaxRequests, probe.DefaultPerSecond),
		Example: probeExample,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), a) },
	}
	cmd.Flags().StringVar(&c.account, "account", "", "only this `account`")
	mostFlag(cmd, &c.most)
	cmd.Flags().BoolVar(&c.keep, "keep", false, "keep the answers in the warehouse, and fail if the API does something else than the last time")
	completeAccounts(cmd, a)
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func mostFlag(cmd *cobra.Command, most *int) {
	cmd.Flags().IntVar(most, "max-requests", probe.DefaultMaxRequests, "make at most so many `requests` an account")
}

func (c probeCommand) run(ctx context.Context, a *app) error {
	cfg, err := a.readConfig(true)
	if err != nil {
		return err
	}
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); c.keep && embedded {
		if err := service.MustExist(dir); err != nil { // before anything is asked
			return err
		}
	}
	accounts := cfg.Accounts
	if c.account != "" {
		one, known := cfg.Account(c.account)
		if !known {
			return usagef("--account: there is no account %q", c.account)
		}
		accounts = []config.Account{one}
	}
	var rows [][]any
	var failed error
	found := map[string]map[string]string{}
	for _, account := range accounts {
		report, err := a.probe(ctx, account, c.most)
		if err != nil {
			return err
		}
		for _, row := range findingRows(report) {
			rows = append(rows, append([]any{account.Name}, row...))
		}
		failed, found[account.Name] = cmp.Or(failed, report.Err), report.Behaviour()
		for _, d := range report.Differences(configured(account.Params)) {
			a.log.Warn("the configuration differs from what was found", "account", account.Name,
				"setting", "account.params."+d.Key, "configured", d.Configured, "found", d.Found)
		}
	}
	columns := []term.Column{{Name: "account"}}
	if err := term.Print(c.format.value, a.stdout, append(columns, findingColumns(a)...), rows); err != nil {
		return err
	}
	if failed != nil || !c.keep {
		return failed
	}
	return keepFound(ctx, a, cfg, found)
}

// keepFound keeps the answers by account. What has changed since the last time is an error.
func keepFound(ctx context.Context, a *app, cfg *config.Config, found map[string]map[string]string) (err error) {
	w, err := a.opener().WhenFree(ctx, cfg, a.opener().ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var all []string
	for _, account := range slices.Sorted(maps.Keys(found)) {
		changed, err := w.KeepBehaviour(ctx, account, found[account])
		if err != nil {
			return orOldSchema(err)
		}
		for _, what := range changed {
			all = append(all, "account "+account+": "+what)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("the API does something else than the last time: %s", strings.Join(all, "; "))
	}
	return nil
}

func configured(p config.Params) probe.Settings {
	return probe.Settings{UpdatedAfter: p.UpdatedAfter, UpdatedBefore: p.UpdatedBefore, Cursor: p.Cursor, Page: p.Page}
}

// probe asks the API of an account.
func (a *app) probe(ctx context.Context, account config.Account, most int) (*probe.Report, error) {
	if most < 1 {
		return nil, usagef("--max-requests: want at least 1")
	}
	o := probe.Options{
		Account: account.Name, BaseURL: account.BaseURL, Key: account.Key.Reveal(), AllowInsecure: account.AllowInsecure,
		UserAgent: "dealhouse/" + readBuild().version, MaxRequests: most,
		PerSecond: min(a.waits.asking, account.RequestsPerSecond),
	}
	for _, s := range account.Streams {
		if !s.Key.Equal(account.Key) {
			o.PayoutsKey = s.Key.Reveal()
		}
	}
	a.log.Info("asking the API what it does", "account", account.Name, "requests_at_most", most, "per_second", o.PerSecond)
	var asking atomic.Value
	asking.Store("")
	done := a.showWaitingFor(func() string { return asking.Load().(string) })
	defer done()
	o.Asking = func(question string) { asking.Store(question) }
	report, err := probe.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a.log.Info("asked", "account", account.Name, "requests", report.Requests)
	if report.Ended != "" {
		a.log.Warn("not everything was asked", "account", account.Name, "because", report.Ended)
	}
	return report, nil
}

func findingColumns(a *app) []term.Column {
	return []term.Column{{Name: "question"}, {Name: "answer"}, {Name: "confidence"},
		{Name: "evidence", Wrap: term.IsTerminal(a.screen)}}
}

func findingRows(r *probe.Report) (rows [][]any) {
	for _, f := range r.Findings {
		rows = append(rows, []any{f.Question, f.Answer, string(f.Confidence), f.Evidence})
	}
	return rows
}
