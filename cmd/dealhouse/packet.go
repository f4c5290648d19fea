package main

import (
	"context"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const packetLong = `Prints a file to send to the service when you dispute a payout: what it paid, what that is worth now, the
transactions that differ, and every loaded version of these records, with the time it was loaded, its
updatedAt, all its fields and a hash. --all adds the transactions that have not changed since they were paid.

html is one file to print or send. csv has one row for each version, and begins with a byte order mark,
which Excel needs.`

const packetExample = `  dealhouse reconcile packet --payout 102 > payout-102.html
  dealhouse reconcile packet --payout 102 --all --output csv > payout-102.csv`

func newReconcilePacket(a *app) *cobra.Command {
	var account string
	var payout int64
	var all bool
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:     "packet",
		Short:   "Print a file to send when you dispute a payout",
		Long:    packetLong,
		Example: packetExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("payout") {
				return usagef("say which payout with --payout: `dealhouse reconcile` lists them")
			}
			return printPacket(cmd.Context(), a, account, payout, all, format.value)
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "the `account`; needed when several have a payout with the id")
	cmd.Flags().Int64Var(&payout, "payout", 0, "the payout with this `id`")
	cmd.Flags().BoolVar(&all, "all", false, "include all transactions of the payout")
	completeAccounts(cmd, a)
	format = outputFlag(cmd, term.HTML, term.CSV)
	return cmd
}

func printPacket(ctx context.Context, a *app, account string, payout int64, all bool, format term.Format) error {
	return a.readWarehouse(ctx, func(cfg *config.Config, w *warehouse.Warehouse) error {
		r, err := payouts.Reconcile(ctx, w, payouts.Filter{Account: account, Payout: &payout,
			OverdueAfter: cfg.Finance.OverdueAfter})
		if err != nil {
			return err
		}
		if _, err := r.One(payout); err != nil {
			return usagef("%w", err)
		}
		p, err := payouts.NewPacket(ctx, w, r, all)
		switch {
		case err != nil:
			return err
		case format == term.CSV:
			return p.WriteCSV(a.stdout)
		}
		return p.WriteHTML(a.stdout)
	})
}
