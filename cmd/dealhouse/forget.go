package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
)

const forgetLong = `Removes a user of yours from what is stored: passback_uid and passback_data of the transactions, all their
versions, unknown fields, and rejected records. The transactions and their amounts stay. Hashes of what was
removed are kept, so that no later sync stores it again. --user is the user as you gave it to the service;
with passback = "hash", the hash that is stored is found by it as well.

Where another user's passback_data mentions the user as a word of its own of at least 4 characters, it is
removed too. It waits for a running load of the transactions. operate log shows that it was done, and for how
many rows, but not for whom. If it is interrupted, run the same command again.

Not removed: your backups, what was exported or sent, and the log of queries of a server. The files of an
embedded warehouse that had the user are gone when the command ends; a server deletes its own within minutes.`

const forgetExample = `  dealhouse forget --user anna@example.com --dry-run      count where the user is, and change nothing
  dealhouse forget --user anna@example.com
  dealhouse forget --user 4711 --account acme`

// forgetCommand is what its flags say.
type forgetCommand struct {
	service.ForgetOptions

	format *choice[term.Format]
}

func newForget(a *app) *cobra.Command {
	var c forgetCommand
	cmd := &cobra.Command{
		Use:     "forget",
		Short:   "Remove a user from the transactions, for good",
		Long:    forgetLong,
		Example: forgetExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), a)
		},
	}
	cmd.Flags().StringVar(&c.User, "user", "", "the user, as passed to the service")
	cmd.Flags().StringSliceVar(&c.Accounts, "account", nil, "only these accounts, separated by commas")
	cmd.Flags().BoolVar(&c.DryRun, "dry-run", false, "count where the user is, but change nothing")
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	completeAccounts(cmd, a)
	return cmd
}

func (c *forgetCommand) run(ctx context.Context, a *app) (err error) {
	if c.User == "" {
		return usagef("say who is to be forgotten: --user")
	}
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	for _, account := range cfg.Accounts {
		if account.Passback == config.PassbackHash { // the key is needed
			if cfg, err = a.readConfig(true); err != nil {
				return err
			}
			break
		}
	}
	w, err := a.opener().WhenFree(ctx, cfg, a.opener().ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	a.opener().Share(w, false)
	svc := a.newService()
	if err := svc.Prepare(ctx, w, c.DryRun); err != nil {
		return err
	}
	c.Actor = systemUser()
	done := a.showWaiting("removing the user")
	records, err := svc.Forget(ctx, cfg, w, c.ForgetOptions)
	done()
	rows := [][]any{}
	for _, r := range records {
		rows = append(rows, []any{r.Account, r.Rows, r.Versions, r.Rejects})
	}
	if len(rows) > 0 || c.format.value != term.Table {
		err = errors.Join(err, term.Print(c.format.value, a.stdout, []term.Column{{Name: "account"}, term.CountColumn("transactions"),
			term.CountColumn("versions"), term.CountColumn("rejects")}, rows))
	}
	if err == nil && !c.DryRun {
		a.log.Info("forgotten; your backups, exports and a server's log of queries are not touched, and a backup that is restored has the user again: then run this once more")
	}
	if err == nil && len(rows) == 0 && c.format.value == term.Table {
		fmt.Fprintln(a.stdout, "The warehouse has no transactions.")
	}
	return err
}
