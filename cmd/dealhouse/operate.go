package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osuser "os/user"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const operateLong = `Controls loading: pauses and resumes streams and accounts, allows deletions that a guard stopped, and tells
a running daemon to run, cancel or reload.

pause, resume, consent and log work on the warehouse and need no daemon. A daemon notices within seconds,
wherever it runs; sync and backfill look when they start, and say what they skip.

run, cancel and reload ask a daemon over HTTP, at daemon.listen or --url, with daemon.user and
daemon.password. A daemon without these two accepts no actions.

The view operator_actions records who did what, when and why. For pause, resume and consent that is the user
of this machine; for the others it is daemon.user. Once daemon.user is set, the status page can do the same.`

const operateExample = `  dealhouse operate pause coupons --account acme --reason "their list is half empty"
  dealhouse operate resume coupons --account acme
  dealhouse operate pause --account acme              all streams of the account
  dealhouse operate consent coupons --account acme    after the guard stopped a run that was right
  dealhouse operate run coupons --account acme        now, by the daemon
  dealhouse operate cancel --account acme
  dealhouse operate log`

func newOperate(a *app) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:     "operate",
		Short:   "Pause, resume, run now, cancel, and allow deletions that a guard stopped",
		Long:    operateLong,
		Example: operateExample,
	}, newOperatePause(a), newOperateResume(a), newOperateConsent(a), newOperateRun(a), newOperateCancel(a),
		newOperateReload(a),
		newOperateLog(a))
}

// operateCommand is what the flags and the arguments of an action say.
type operateCommand struct {
	warehouse.Action
	run string
}

// newAction makes a command that acts on a stream or an account.
func newAction(a *app, c *operateCommand, use, short, long string, act func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:       use,
		Short:     short,
		Long:      long,
		ValidArgs: catalog.Names(),
		Args:      cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.Stream = service.StreamName(args[0])
			}
			return act(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&c.Account, "account", "", "the `account`; can be left out if only one is configured")
	cmd.Flags().StringVar(&c.Reason, "reason", "", "`why`, for operator_actions")
	completeAccounts(cmd, a)
	return cmd
}

func newOperatePause(a *app) *cobra.Command {
	c := &operateCommand{Action: warehouse.Action{Action: warehouse.ActionPause}}
	return newAction(a, c, "pause [STREAM]", "Start no runs of a stream or an account",
		`Pauses a stream, or the whole account if you name none: no daemon, sync or backfill loads it until you resume
it. The pause survives restarts. A load that is already running continues.`,
		func(ctx context.Context) error { return c.ask(ctx, a) })
}

func newOperateResume(a *app) *cobra.Command {
	c := &operateCommand{Action: warehouse.Action{Action: warehouse.ActionResume}}
	return newAction(a, c, "resume [STREAM]", "End a pause",
		`Ends the pause of a stream, or of the account if you name none. Streams that were paused one by one stay
paused when their account is resumed. A daemon then makes up for all missed runs with one run.`,
		func(ctx context.Context) error { return c.ask(ctx, a) })
}

func newOperateConsent(a *app) *cobra.Command {
	c := &operateCommand{Action: warehouse.Action{Action: warehouse.ActionConsent}}
	cmd := newAction(a, c, "consent STREAM", "Let one run delete the rows that a guard protected",
		`Lets the next complete run of a stream delete as many rows as the guard counted in the run that it stopped.
If there are more, the guard stops it again. The consent holds for one run, ends after a day, and becomes
void when another run is stopped or succeeds. A daemon starts the run at once; without one, run sync (for
transactions: sync --full).`, func(ctx context.Context) error {
			if c.Stream == "" {
				return usagef("name the stream that the guard stopped")
			}
			return c.ask(ctx, a)
		})
	cmd.Flags().StringVar(&c.run, "run", "", "`id` of the stopped run (default: the last one)")
	return cmd
}

// ask records the action in the warehouse.
func (c *operateCommand) ask(ctx context.Context, a *app) (err error) {
	if c.run != "" {
		if c.RunID, err = uuid.Parse(c.run); err != nil {
			return usagef("--run: %q is not the id of a run: `dealhouse runs --output json` has them", c.run)
		}
	}
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	if err := c.complete(cfg); err != nil {
		return err
	}
	w, err := a.opener().Existing(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.CheckSchema(ctx); err != nil {
		return err
	}
	if c.Action.Action != warehouse.ActionResume { // a pause can be ended whatever is known of its account
		if err := service.UnknownAccount(ctx, cfg, w, c.Account); err != nil {
			return err
		}
	}
	acted, err := daemon.Ask(ctx, w, c.Action)
	if err != nil {
		return err
	}
	return printActed(a.stdout, acted)
}

// complete fills in who asks and, if there is only one account, that account.
func (c *operateCommand) complete(cfg *config.Config) error {
	if err := web.CheckReason(c.Reason); err != nil {
		return usagef("--reason: %w", err)
	}
	c.Actor, c.Via = systemUser(), warehouse.ViaCommand
	names := service.AccountNames(cfg)
	if err := knownStream("", c.Stream); err != nil {
		return err
	}
	switch {
	case c.Account == "" && len(names) == 1:
		c.Account = names[0]
	case c.Account == "":
		return usagef("say which account: --account")
	}
	return nil
}

// systemUser is the account under which this process runs, by its name or else its number. $USER is not asked: it says
// what somebody has set, and one person must have one name in all records.
func systemUser() string {
	if u, err := osuser.Current(); err == nil && u.Username != "" && web.CheckReason(u.Username) == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

func printActed(to io.Writer, acted web.Acted) error {
	_, err := fmt.Fprintln(to, acted.Text)
	return err
}

func newOperateLog(a *app) *cobra.Command {
	var limit int
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List what operators did",
		Long:  "Lists what operators did, the newest first. Times are UTC. The view operator_actions has all actions.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			return listActions(cmd.Context(), a, limit, format.value)
		},
	}
	limitFlag(cmd, &limit, 20, "actions")
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func listActions(ctx context.Context, a *app, limit int, format term.Format) error {
	return a.readWarehouse(ctx, func(_ *config.Config, w *warehouse.Warehouse) error {
		all, err := w.Actions(ctx, limit)
		if err != nil {
			return err
		}
		columns := []term.Column{
			{Name: "at"}, {Name: "actor"}, {Name: "via"}, {Name: "action"}, {Name: "account"}, {Name: "stream"},
			optional(term.CountColumn("deletes")), {Name: "reason", Optional: true},
		}
		if format == term.Table {
			columns[0].Human = term.TimeCell
		} else {
			columns = append(columns, term.Column{Name: "run_id"}, term.Column{Name: "action_id"})
		}
		var rows [][]any
		for _, x := range all {
			row := []any{term.Time(x.At), x.Actor, x.Via, x.Action, x.Account, x.Stream, x.Deletes, x.Reason}
			if format != term.Table {
				var run any
				if x.RunID != uuid.Nil {
					run = x.RunID.String()
				}
				row = append(row, run, x.ID.String())
			}
			rows = append(rows, row)
		}
		a.logEmpty(len(rows), "no actions of operators yet")
		return term.Print(format, a.stdout, columns, rows)
	})
}
