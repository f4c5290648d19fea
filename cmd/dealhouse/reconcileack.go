package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const ackLong = `Marks what dealhouse reconcile found about a payout as known, and records who did so, when, why, and for
which amounts. From then on the exit code and the log leave it out. Its amounts stay in the sums, which are
exact, and the summary says how many payouts are acknowledged. If the amounts change, it is open again, and
the report says by how much. An acknowledgement is never changed or removed; the last one counts. The view
payout_acknowledgements has all of them.

Amounts are compared transaction by transaction, so two opposite changes do not cancel out. --tolerance is
how far they may change in total before the finding opens again, in the smallest unit of the currency, such
as cents.`

const ackExample = `  dealhouse reconcile ack --payout 102 --reason expected
  dealhouse reconcile ack --payout 104 --reason disputed --note "ticket 4711" --kind mismatched
  dealhouse reconcile ack --payout 106 --reason written_off --tolerance 50
  dealhouse reconcile acks`

// ackCommand is what its flags say.
type ackCommand struct {
	account, kind, currency, note, by string
	payout, tolerance                 int64
	reason                            *choice[string]
}

func newReconcileAck(a *app) *cobra.Command {
	var c ackCommand
	reasons := ""
	var codes []string
	for _, r := range payouts.Reasons() {
		codes = append(codes, r[0])
		reasons += fmt.Sprintf("\n  %-12s %s", r[0], r[1])
	}
	cmd := &cobra.Command{
		Use:     "ack",
		Short:   "Mark what was found about a payout as known",
		Long:    ackLong + "\n\nReasons:\n" + reasons,
		Example: ackExample,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.account, "account", "", "the `account`; needed when several have a payout with the id")
	flags.Int64Var(&c.payout, "payout", 0, "the payout with this `id`")
	flags.StringVar(&c.kind, "kind", "", "only this `kind`, such as expected_clawback, payout_error or altered (default: all that are open)")
	flags.StringVar(&c.currency, "currency", "", "only amounts in this `currency`")
	flags.StringVar(&c.note, "note", "", "why, in your `words`; needed with the reason other")
	flags.StringVar(&c.by, "by", "", "`name` of the person who acknowledges it (default: the user of this process)")
	flags.Int64Var(&c.tolerance, "tolerance", 0,
		"by how many of the smallest `units` of the currency the amounts may move")
	c.reason = &choice[string]{"", codes}
	flags.Var(c.reason, "reason", c.reason.list())
	complete(cmd, "reason", codes)
	completeAccounts(cmd, a)
	return cmd
}

// check completes the flags.
func (c *ackCommand) check() error {
	switch {
	case c.payout == 0:
		return usagef("say which payout with --payout: `dealhouse reconcile` lists them")
	case c.reason.value == "":
		return usagef("say why with --reason: %s", c.reason.list())
	case payouts.NeedsNote(c.reason.value) && c.note == "":
		return usagef("--reason %s needs a --note", c.reason.value)
	case c.tolerance < 0:
		return usagef("--tolerance must not be below 0")
	}
	c.by = cmp.Or(c.by, systemUser())
	return nil
}

func (c *ackCommand) run(ctx context.Context, a *app) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	o := a.opener()
	w, err := o.WhenFree(ctx, cfg, o.ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	all, err := payouts.Acknowledge(ctx, w, payouts.Acknowledging{Account: c.account, Payout: c.payout, Kind: c.kind,
		Currency: c.currency, Reason: c.reason.value, Note: c.note, By: c.by,
		Tolerance: c.tolerance, Rules: payouts.Filter{OverdueAfter: cfg.Finance.OverdueAfter,
			Tolerances: cfg.Finance.Tolerances}})
	if refused, ok := errors.AsType[*payouts.RefusedError](err); ok {
		return usagef("%s", refused.Reason)
	}
	if err != nil {
		return orOldSchema(err)
	}
	for _, k := range all {
		fmt.Fprintf(a.stdout, "payout %d of %s: %s acknowledged %s as %s\n", k.Payout, k.Account, term.Line(k.By),
			term.Line(payouts.Acknowledged(k)), term.Spaced(k.Reason))
	}
	return nil
}

func newReconcileAcks(a *app) *cobra.Command {
	var account string
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:     "acks",
		Short:   "List acknowledgements, the newest first",
		Long:    "Lists who acknowledged what about payouts, when and why. Nothing is ever removed from the list.",
		Example: "  dealhouse reconcile acks\n  dealhouse reconcile acks --account acme --output csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.readWarehouse(cmd.Context(), func(_ *config.Config, w *warehouse.Warehouse) error {
				all, err := w.Acknowledgements(cmd.Context(), account)
				if err != nil {
					return err
				}
				return printAcknowledgements(a, format.value, all)
			})
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "only this `account`")
	completeAccounts(cmd, a)
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func printAcknowledgements(a *app, format term.Format, all []warehouse.Acknowledgement) error {
	columns := []term.Column{{Name: "at"}, {Name: "by"}, {Name: "account"}, {Name: "payout", Right: true},
		{Name: "kind"}, {Name: "currency"}, amountColumn("amount"),
		term.CountColumn("entries"), amountColumn("tolerance"), {Name: "reason"}, {Name: "note"}}
	var rows [][]any
	for _, k := range all {
		rows = append(rows, []any{k.At, k.By, k.Account, fmt.Sprint(k.Payout), k.Kind, k.Currency,
			payouts.MoneyIn(k.Currency, k.Amount),
			len(k.Entries), payouts.MoneyIn(k.Currency, k.Tolerance), k.Reason, k.Note})
	}
	a.logEmpty(len(rows), "nothing has been acknowledged yet")
	return term.Print(format, a.stdout, columns, rows)
}
