package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const verifyLong = `Reads everything of the streams from the API, compares it with the warehouse record by record and field
by field, and changes nothing.

It tells what is only not loaded yet from what is wrong:
  changed  the service has changed the record since: the next sync brings it
  new      the service has made the record since: the next sync brings it
  gone     the service does not list the record any more: a full sync removes it
  wrong    other content under the same updatedAt, or the row is not as it was loaded
  missing  the warehouse lacks a record that was there when it was last loaded

Products and payouts have no updatedAt: a product that is not loaded counts as new.

--repair then loads the streams in which something is wrong or missing again, each by a full run that
trusts nothing of what is stored. Its guards and its row in sync_runs are those of any full run.

--offline asks the API nothing. It holds what is stored against the certificates that the runs left in
sync_runs, and names what was changed by something else than a run: rows, versions, runs and the
certificates themselves. See schema/PROOF.md for what a certificate proves, and what not.

Name streams to verify only those: %s.

Exit codes: 0 nothing is wrong, missing or changed; 1 something is, or a fault worth retrying; the others
are those of dealhouse sync.`

const verifyExample = `  dealhouse verify
  dealhouse verify transactions --account acme
  dealhouse verify --repair
  dealhouse verify --offline
  dealhouse verify --output json | jq '.[] | select(.kind == "wrong")'`

// verifyCommand is what its flags say.
type verifyCommand struct {
	selected service.Selection
	limit    int
	repair   bool
	offline  bool
	public   string // file
	format   *choice[term.Format]
}

func newVerify(a *app) *cobra.Command {
	var c verifyCommand
	cmd := &cobra.Command{
		Use:       "verify [STREAM...]",
		Short:     "Compare the warehouse with the API or with what its runs certified",
		Long:      fmt.Sprintf(verifyLong, term.List(catalog.Names())),
		Example:   verifyExample,
		ValidArgs: catalog.Names(),
		Args:      cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.limit < 1 {
				return usagef("--limit: want at least 1")
			}
			c.selected.Streams = args
			if c.offline && c.repair {
				return usagef("--repair reads from the API: leave out --offline")
			}
			if c.public != "" && !c.offline {
				return usagef("--public-key checks certificates: add --offline")
			}
			if c.offline {
				return c.runOffline(cmd.Context(), a)
			}
			return c.run(cmd.Context(), a)
		},
	}
	cmd.Flags().StringSliceVar(&c.selected.Accounts, "account", nil, "only this `account`; repeatable")
	cmd.Flags().IntVar(&c.limit, "limit", 100, "name at most so many `records` of each stream, the wrong and missing ones first; all are counted")
	cmd.Flags().BoolVar(&c.repair, "repair", false, "load the streams in which something is wrong or missing again")
	cmd.Flags().BoolVar(&c.offline, "offline", false, "hold what is stored against the certificates of the runs, without the API")
	cmd.Flags().StringVar(&c.public, "public-key", "", "with --offline, check that the certificates are signed by the private key of this PEM `file`")
	completeAccounts(cmd, a)
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func (c verifyCommand) run(ctx context.Context, a *app) (err error) {
	cfg, err := a.readConfig(true)
	if err != nil {
		return err
	}
	svc := a.newService()
	svc.LimitRuns(cfg.Daemon.MaxRuns)
	var repairs []syncer.Job
	jobs, api, err := svc.Jobs(cfg, c.selected, func(job *syncer.Job) {
		repair := *job // with the guards that are configured
		repair.Full = true
		repairs = append(repairs, repair)
		job.Full, job.DryRun, job.Differences = true, true, c.limit
		job.AllowMassDelete, job.DeleteAfterLists, job.MaxRejectedRatio = true, 1, 1
	})
	if err != nil {
		return err
	}
	defer api.Close()
	w, err := a.opener().WhenFree(ctx, cfg, a.opener().ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	ctx, jobs, exporting, err := a.prepareRuns(ctx, svc, cfg, w, jobs, runOptions{span: "verify", dryRun: true})
	if err != nil {
		return err
	}
	defer exporting.close(ctx)
	results, err := a.sync(ctx, svc, w, jobs, api)
	if err != nil {
		return err
	}
	faults, err := c.print(a, results)
	if failed := a.printFailures(ctx, svc, results); failed != nil || err != nil {
		return errors.Join(err, failed)
	}
	if faults == 0 {
		return nil
	}
	if !c.repair {
		return fmt.Errorf("wrong or missing: %s; dealhouse verify --repair loads them again", term.Plural(faults, "record"))
	}
	return c.mend(ctx, a, svc, cfg, w, api, slices.DeleteFunc(repairs, func(job syncer.Job) bool {
		return !slices.ContainsFunc(results, func(r syncer.Result) bool {
			return r.Job.Account == job.Account && r.Job.Stream == job.Stream && r.Record.Differences.Faults > 0
		})
	}))
}

// mend makes the runs that load streams with faults again. They trust no stored hash.
func (c verifyCommand) mend(ctx context.Context, a *app, svc *service.Service, cfg *config.Config, w *warehouse.Warehouse,
	api *service.Clients, jobs []syncer.Job) error {
	distrusted := map[string]bool{}
	for _, job := range jobs {
		if name := job.Stream.Name; !distrusted[name] {
			if err := w.Distrust(ctx, job.Stream); err != nil {
				return err
			}
			distrusted[name] = true
		}
	}
	repaired, err := a.sync(ctx, svc, w, jobs, api)
	if err != nil {
		return err
	}
	if c.format.value == term.Table { // else the differences alone are the answer
		if err := printResults(a.stdout, c.format.value, repaired); err != nil {
			return err
		}
	}
	svc.AfterRuns(ctx, cfg, w, api, repaired)
	return a.printFailures(ctx, svc, repaired)
}

// print prints the differences that are named, and returns how many faults there are.
func (c verifyCommand) print(a *app, results []syncer.Result) (faults uint64, err error) {
	columns := []term.Column{{Name: "account"}, {Name: "stream"}, {Name: "key"}, {Name: "kind"}, {Name: "fields"}, {Name: "stored"}, {Name: "read"}}
	rows, failed := [][]any{}, false
	for _, r := range results {
		found := r.Record.Differences
		for _, d := range found.Named {
			rows = append(rows, []any{d.Account, d.Stream, d.Key, d.Kind, strings.Join(d.Fields, " "), term.Time(d.Stored), term.Time(d.Read)})
		}
		if faults += found.Faults; r.Err != nil {
			failed = true
			continue
		}
		a.log.Info("verified", "account", r.Record.Account, "stream", r.Record.Stream, "records", r.Record.Totals.Read,
			"differences", found.All, "wrong_or_missing", found.Faults)
	}
	if len(rows) == 0 && c.format.value == term.Table {
		if !failed {
			fmt.Fprintln(a.stdout, "Everything is equal.")
		}
		return 0, nil
	}
	return faults, term.Print(c.format.value, a.stdout, columns, rows)
}
