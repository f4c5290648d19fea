package main

import (
	"context"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
)

const checkLong = `Checks the configuration and the warehouse, and reads the first two pages of each enabled stream with the key
of its account. It also asks with dates that no row has, to see whether the names of parameters are right.
Every check ends in a verdict: ok; warn, which works but deserves a look; or FAILED, with what to do. It
changes nothing and creates no folder.

For an embedded warehouse it also tests the folder, its disk and the engine, and names the process that has
it open. For a server it checks the user's rights.

--offline checks only the configuration, for CI: it needs no secrets and no network. Secrets that are missing
on this machine are listed as not checked. All mistakes are reported at once, with exit code 2.

The exit code is that of the worst verdict: 0 ok or warn; 1 a fault worth retrying; 2 configuration;
3 refused credentials.`

const checkExample = `  dealhouse check
  dealhouse check --config staging.toml --output json
  dealhouse check --offline --config staging.toml      in CI`

func newCheck(a *app) *cobra.Command {
	var format *choice[term.Format]
	receivers, offline := false, false
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check configuration, warehouse and API, each with a verdict",
		Long:    checkLong,
		Example: checkExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := service.NewChecker(service.CheckOptions{Config: config.Source{Path: a.configPath, Env: a.env}, Service: a.newService(),
				Opener: a.opener(), Logger: a.log, ShowWaiting: a.showWaiting})
			if offline {
				return printFindings(cmd.Context(), a, c.Offline(cmd.Context()), format.value)
			}
			findings := append(c.All(cmd.Context()), c.Receivers(cmd.Context(), receivers)...)
			return printFindings(cmd.Context(), a, findings, format.value)
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false,
		"check the configuration alone, without secrets, warehouse and network")
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	cmd.Flags().BoolVar(&receivers, "receivers", false,
		"also send each receiver of notifications a message that says it is a test")
	return cmd
}

// printFindings prints the findings. Its error has the exit code of the worst one.
func printFindings(ctx context.Context, a *app, findings []service.Finding, format term.Format) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	columns := []term.Column{{Name: "check"}, {Name: "verdict"}, {Name: "detail", Wrap: term.IsTerminal(a.screen)}}
	var rows [][]any
	var codes []int
	for _, f := range findings {
		rows = append(rows, []any{f.Check, f.Verdict, f.Detail})
		codes = append(codes, findingCode(f))
	}
	if err := term.Print(format, a.stdout, columns, rows); err != nil {
		return err
	}
	if code := worst(codes...); code != exitOK {
		return reported{code}
	}
	return nil
}

// findingCode is the exit code of a finding.
func findingCode(f service.Finding) int {
	if f.Verdict != service.Failed {
		return exitOK
	}
	code := exitFault
	for _, err := range f.Causes {
		code = worst(code, faultCode(err))
	}
	return code
}
