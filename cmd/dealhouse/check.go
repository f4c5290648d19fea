package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/access"
	"dealhouse/internal/config"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/output"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/wording"
)

const checkLong = `Checks the configuration and the warehouse, and reads one page of each enabled stream with the key of its
account. Every check ends in a verdict: ok; warn, which works but deserves a look; or FAILED, with what to
do. It changes nothing and creates no folder.

For an embedded warehouse it also tests the folder, its disk and the engine, and names the process that has
it open. For a server it checks the user's rights.

--offline checks only the configuration, for CI: it needs no secrets and no network. Secrets that are missing
on this machine are listed as not checked. All mistakes are reported at once, with exit code 2.

The exit code is that of the worst verdict: 0 ok or warn; 1 a fault worth retrying; 2 configuration;
3 refused credentials.`

const checkExample = `  dealhouse check
  dealhouse check --config staging.toml --output json
  dealhouse check --offline --config staging.toml      in CI`

// Verdicts of a check.
const (
	verdictOK      = "ok"
	verdictWarn    = "warn"
	verdictFailed  = "FAILED"
	verdictSkipped = "skipped"
)

// finding is what one check found.
type finding struct {
	check, verdict, detail string
	code                   int // exit code of the finding
}

func newCheck(a *app) *cobra.Command {
	var format *choice
	receivers, offline := false, false
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check configuration, warehouse and API, each with a verdict",
		Long:    checkLong,
		Example: checkExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if offline {
				return printFindings(cmd.Context(), a, checkOffline(cmd.Context(), a), format.value)
			}
			return printFindings(cmd.Context(), a,
				append(checkAll(cmd.Context(), a), checkReceivers(cmd.Context(), a, receivers)...), format.value)
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false,
		"check the configuration alone, without secrets, warehouse and network")
	format = outputFlag(cmd, "table", "json", "csv")
	cmd.Flags().BoolVar(&receivers, "receivers", false,
		"also send each receiver of notifications a message that says it is a test")
	return cmd
}

// printFindings prints the findings. Its error has the exit code of the worst one.
func printFindings(ctx context.Context, a *app, findings []finding, format string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	columns := []output.Column{{Name: "check"}, {Name: "verdict"}, {Name: "detail", Wrap: output.IsTerminal(a.screen)}}
	var rows [][]any
	var codes []int
	for _, f := range findings {
		rows = append(rows, []any{f.check, f.verdict, f.detail})
		codes = append(codes, f.code)
	}
	if err := output.Print(format, a.stdout, columns, rows); err != nil {
		return err
	}
	if code := worst(codes...); code != exitOK {
		return reported{code}
	}
	return nil
}

func checkAll(ctx context.Context, a *app) []finding {
	cfg, warnings, err := config.Read(config.Source{Path: a.configPath, Env: a.env, NeedAccounts: true, NeedDaemon: true})
	var all []finding
	if problems, bad := errors.AsType[*config.Problems](err); bad {
		for _, p := range problems.All() {
			all = append(all, finding{"configuration", verdictFailed, p.String(), exitUsage})
		}
		// If only the accounts are at fault, the warehouse can still be checked.
		cfg, _, err = config.Read(config.Source{Path: a.configPath, Env: a.env})
		if err != nil {
			return append(all, finding{"warehouse", verdictSkipped, "correct the configuration first", exitOK})
		}
		all = append(all, checkWarehouse(ctx, a, cfg)...)
		return append(all, finding{"API", verdictSkipped, "correct the configuration first", exitOK})
	}
	all = append(all, finding{"configuration", verdictOK, describe(cfg), exitOK})
	for _, w := range warnings {
		all = append(all, finding{"configuration", verdictWarn, w.String(), exitOK})
	}
	all = append(all, checkWarehouse(ctx, a, cfg)...)
	return append(all, checkAPI(ctx, a, cfg)...)
}

// describe summarizes a configuration.
func describe(cfg *config.Config) string {
	file := cfg.File
	if file == "" {
		file = "environment variables"
	}
	streams := 0
	for _, account := range cfg.Accounts {
		for _, s := range account.Streams {
			if s.Enabled {
				streams++
			}
		}
	}
	return fmt.Sprintf("%s: %s, %s enabled", file, wording.Plural(uint64(len(cfg.Accounts)), "account"),
		wording.Plural(uint64(streams), "stream"))
}

func checkWarehouse(ctx context.Context, a *app, cfg *config.Config) (all []finding) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded && hasEngine(ctx) {
		all = checkFolder(ctx, a, dir)
		if all[0].verdict == verdictFailed {
			return append(all, finding{"warehouse", verdictSkipped, "correct the folder first", exitOK})
		}
	}
	w, err := a.opener().Existing(ctx, cfg)
	if none, ok := errors.AsType[access.AbsentError](err); ok {
		return append(all, finding{"warehouse", verdictWarn,
			fmt.Sprintf("embedded: there is no warehouse in %s yet; dealhouse sync creates it", none.Dir), exitOK})
	}
	if err != nil {
		return append(all, finding{"warehouse", verdictFailed, output.Message(err), faultCode(err)})
	}
	defer func() {
		if err := w.Close(); err != nil {
			all = append(all, finding{"warehouse", verdictWarn, output.Message(err), exitOK})
		}
	}()
	server := w.Server()
	all = append(all, finding{"warehouse", verdictOK,
		fmt.Sprintf("%s: ClickHouse %s", cfg.Warehouse.RedactedDSN(), server), exitOK})
	all = append(all, checkSchema(ctx, w))
	if w.Embedded() { // its only user may do everything
		return all
	}
	return append(all, checkSettings(ctx, w), checkRights(ctx, w, all[len(all)-1].verdict != verdictOK))
}

// checkSchema says whether the warehouse fits this program.
func checkSchema(ctx context.Context, w *warehouse.Warehouse) finding {
	err := w.CheckSchema(ctx)
	switch {
	case errors.Is(err, warehouse.ErrSchemaOld):
		return finding{"schema", verdictWarn, "database " + w.Database() +
			": to be created or upgraded; dealhouse sync does it, or dealhouse migrate", exitOK}
	case err != nil:
		return finding{"schema", verdictFailed, "database " + w.Database() + ": " + output.Message(err), faultCode(err)}
	}
	return finding{"schema", verdictOK, "database " + w.Database() + ": up to date", exitOK}
}

// checkAPI reads a page of each enabled stream, all in parallel: the user wants to know soon.
func checkAPI(ctx context.Context, a *app, cfg *config.Config) []finding {
	targets, err := service.Selection{}.Targets(cfg)
	if err != nil {
		return []finding{{"API", verdictWarn, output.Message(err), exitOK}}
	}
	api := a.newService().Clients(func(o *dealapi.Options) {
		o.MaxAttempts, o.MaxElapsed = 2, 10*time.Second
		o.MaxRetryAfter = 2 * time.Second
		o.Timeout = min(o.Timeout, 20*time.Second)
		o.Logger = nil // no log of retries: the verdict says what still fails
	})
	defer api.Close()
	done := a.showWaiting("asking the API for a page of each stream")
	defer done()
	found := make([]finding, len(targets))
	var group sync.WaitGroup
	for i, t := range targets {
		name := "API: " + t.Account.Name + " " + t.Stream.Name
		client, err := api.Get(t)
		if err != nil {
			found[i] = finding{name, verdictFailed, output.Message(err), faultCode(err)}
			continue
		}
		group.Go(func() { found[i] = checkStream(ctx, name, client, t) })
	}
	group.Wait()
	return found
}

// checkStream asks for the first page of a stream.
func checkStream(ctx context.Context, name string, client *dealapi.Client, t service.Target) finding {
	if len(t.Setting.Scope) > 0 {
		return checkScope(ctx, name, client, t)
	}
	for page, err := range client.Pages(ctx, syncer.FirstPage(t.Stream)) {
		if err != nil {
			return finding{name, verdictFailed, cause(err), faultCode(err)}
		}
		detail := fmt.Sprintf("%s on the first page, in %s", wording.Plural(uint64(page.Records()), "record"),
			wording.Span(time.Since(page.SentAt)))
		switch {
		case page.Records() == 0:
			return finding{name, verdictWarn, "the API answers but lists no records: is it the right key?", exitOK}
		case page.ServerTime.IsZero():
			return finding{name, verdictWarn, detail + "; without a usable Date header, so the local clock is used", exitOK}
		}
		return finding{name, verdictOK, detail, exitOK}
	}
	return finding{name, verdictFailed, "the API gave no page at all", exitFault}
}
