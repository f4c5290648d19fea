package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/finance"
	"dealhouse/internal/payouts"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const journalLong = `Prints the journal lines of a month for your books: date, account code, debit, credit, currency and
reference. Each entry has one currency and its decimals, and its debits equal its credits exactly.

  sold, confirmed, declined ...   from the statement of the month, one entry for each; payments and later
                                  changes to paid transactions have one entry for each payout
  adjusted                        changes that belong to an earlier month that was already closed
  received                        what reached the bank (see dealhouse settlements); a correction reverses
                                  the old booking and books the new amounts
  rounding                        what is too small to be booked or sent. At the end of a month the books
                                  have the rounded balances of the statement; nothing is left in transit
                                  for a payout of which all has arrived

The journal is final only once the month is closed (dealhouse reconcile close). Its entries keep their
identifiers, so you can recognize those that you imported before. --draft prints the journal of an open
month; its identifiers begin with draft/. Account codes come from the configuration: [finance]
journal_pending, journal_confirmed, journal_after_payment, journal_payouts, journal_revenue, journal_bank,
journal_fees, journal_conversion and journal_rounding.

dealhouse statement --output csv --list changes lists the transactions behind the entries.`

const journalExample = `  dealhouse journal --month 2026-03 --output csv > journal.csv
  dealhouse journal --account acme --month 2026-04 --draft`

func newJournal(a *app) *cobra.Command {
	var f monthFlags
	var draft bool
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:     "journal",
		Short:   "Print the journal lines of a month",
		Long:    journalLong,
		Example: journalExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printJournal(cmd.Context(), a, f, draft, format.value)
		},
	}
	f.add(cmd, a)
	cmd.Flags().BoolVar(&draft, "draft", false, "allow a month that is not closed yet")
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

// journalCodes are the account codes of the configuration.
func journalCodes(c config.Journal) payouts.Codes {
	return payouts.Codes{
		finance.LedgerPending: c.Pending, finance.LedgerConfirmed: c.Confirmed, finance.LedgerAfterPayment: c.AfterPayment,
		finance.LedgerPayouts: c.Payouts,
		finance.LedgerRevenue: c.Revenue, finance.LedgerBank: c.Bank, finance.LedgerFees: c.Fees,
		finance.LedgerConversion: c.Conversion, finance.LedgerRounding: c.Rounding,
	}
}

func printJournal(ctx context.Context, a *app, f monthFlags, draft bool, format term.Format) error {
	account, month, err := f.read(a)
	if err != nil {
		return err
	}
	return a.readWarehouse(ctx, func(cfg *config.Config, w *warehouse.Warehouse) error {
		j, err := payouts.NewJournal(ctx, w, account, month, journalCodes(cfg.Finance.Journal), draft)
		switch {
		case errors.Is(err, payouts.ErrMonthDraft):
			if unknown := service.UnknownAccount(ctx, cfg, w, account); unknown != nil {
				return unknown
			}
			return usageError{err}
		case err != nil:
			return err
		}
		switch format {
		case term.JSONArray:
			return j.WriteJSON(a.stdout)
		case term.CSV:
			return j.WriteCSV(a.stdout)
		}
		var rows [][]any
		for _, l := range j.Lines() {
			rows = append(rows, []any{l.Date.Format(time.DateOnly), l.Code, l.DebitCell(), l.CreditCell(), l.Currency,
				l.Reference, l.Text, l.ID})
		}
		if len(rows) > 0 {
			if err := term.Print(term.Table, a.stdout,
				[]term.Column{{Name: "date"}, {Name: "account"}, amountColumn("debit"), amountColumn("credit"),
					{Name: "currency"}, {Name: "reference"}, {Name: "text"},
					{Name: "entry"}}, rows); err != nil {
				return err
			}
			fmt.Fprintln(a.stdout)
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", term.Line(j.Note()))
		return err
	})
}
