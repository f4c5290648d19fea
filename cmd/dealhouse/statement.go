package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/finance"
	"dealhouse/internal/payouts"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const statementLong = `Prints what happened to the cashback of an account in a month: the opening balance, what was sold, confirmed,
declined and paid out, what changed after it was paid, and the closing balance. Each currency has its own
statement, which balances exactly. Below it is what is unpaid, by the age of the sale, and a forecast of the
next payouts.

The forecast starts from what is unpaid at the end of the month and due in a payout (services pay on the 1st
of a month for sales over 90 days before). It multiplies that by the rate at which such cashback was paid in
up to 12 earlier payouts: cashback of the same status, the same number of months before its payout. Beside it
stands how far the same method would have been off in earlier payouts. Without enough history there is no
number. At the end stands whether the sales of the month came at the rates that their cashback offers gave
at the click.

A month begins and ends at midnight UTC. A change counts when the service made it (updatedAt). A sale counts
when it was made, and is pending until its first version. After payment is what paid transactions are worth
minus what was paid for them: if it is below zero, expect the service to take it back.

dealhouse reconcile close --month closes a month. What is loaded later and belongs to that month is then an
adjustment of the month in which it is loaded; the closed statement does not change.

csv has one kind of rows, which --list chooses: the statement itself, ages (what is unpaid), changes (the
changes of each transaction behind the entries), opening or closing (the transactions behind that balance,
with their ages), forecast, due (the unpaid transactions behind the forecast), backtest (earlier payouts,
with what the forecast would have said and what was paid) or rates (each sale of the month with what its
cashback offer gave at the click, what came, and a verdict). It begins with a byte order mark, which Excel
needs.`

const statementExample = `  dealhouse statement --account acme --month 2026-03
  dealhouse statement --account acme --month 2026-03 --output html > statement.html
  dealhouse statement --account acme --month 2026-03 --output csv --list changes > changes.csv
  dealhouse statement --account acme --month 2026-03 --output csv --list closing > unpaid.csv
  dealhouse statement --account acme --month 2026-03 --output csv --list due > due.csv
  dealhouse reconcile close --account acme --month 2026-03`

// Rows of the CSV of a statement.
const (
	listStatement = "statement"
	listAges      = "ages"
	listChanges   = "changes"
	listOpening   = payouts.Opening
	listClosing   = payouts.Closing
	listForecast  = "forecast"
	listDue       = "due"
	listBacktest  = "backtest"
	listRates     = "rates"
)

// monthFlags are those of the commands about the month of an account.
type monthFlags struct{ account, month string }

func (f *monthFlags) add(cmd *cobra.Command, a *app) {
	cmd.Flags().StringVar(&f.account, "account", "", "the `account`; needed when there are several")
	cmd.Flags().StringVar(&f.month, "month", "", "the `month`, such as 2026-03")
	completeAccounts(cmd, a)
}

// read is the account and the first day of the month.
func (f *monthFlags) read(a *app) (account string, month time.Time, err error) {
	if f.month == "" {
		return "", month, usagef("say which month with --month, such as 2026-03")
	}
	if month, err = payouts.ParseMonth(f.month); err != nil {
		return "", month, usagef("--month %v", err)
	}
	cfg, err := a.readConfig(false)
	if err != nil {
		return "", month, err
	}
	switch {
	case f.account != "":
		return f.account, month, nil
	case len(cfg.Accounts) == 1:
		return cfg.Accounts[0].Name, month, nil
	}
	return "", month, usagef("say which account with --account: the configuration has several, or none")
}

func newStatement(a *app) *cobra.Command {
	var f monthFlags
	list := &choice[string]{listStatement, []string{listStatement, listAges, listChanges, listOpening, listClosing,
		listForecast, listDue, listBacktest, listRates}}
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:     "statement",
		Short:   "Print what happened to the cashback of an account in a month",
		Long:    statementLong,
		Example: statementExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("list") && format.value != term.CSV {
				return usagef("--list chooses the rows of --output csv")
			}
			return printStatement(cmd.Context(), a, f, format.value, list.value)
		},
	}
	f.add(cmd, a)
	cmd.Flags().Var(list, "list", "rows of the CSV: "+list.list())
	complete(cmd, "list", list.allowed)
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV, term.HTML)
	return cmd
}

func printStatement(ctx context.Context, a *app, f monthFlags, format term.Format, list string) error {
	account, month, err := f.read(a)
	if err != nil {
		return err
	}
	return a.readWarehouse(ctx, func(cfg *config.Config, w *warehouse.Warehouse) error {
		if format == term.CSV && list == listChanges {
			return payouts.WriteChangesCSV(ctx, w, account, month, a.stdout)
		}
		if format == term.CSV && (list == listOpening || list == listClosing) {
			return payouts.WriteBehindCSV(ctx, w, account, month, payouts.Figure{Of: list}, a.stdout)
		}
		if format == term.CSV && list == listRates {
			return payouts.WriteRatesCSV(ctx, w, account, month, a.stdout)
		}
		if format == term.CSV && list == listDue {
			return payouts.WriteDueCSV(ctx, w, account, month, a.stdout)
		}
		s, err := payouts.NewStatement(ctx, w, account, month)
		if err != nil {
			return err
		}
		if s.CompleteTo.IsZero() {
			if err := service.UnknownAccount(ctx, cfg, w, account); err != nil {
				return err
			}
		}
		switch {
		case format == term.JSONArray:
			return s.WriteJSON(a.stdout)
		case format == term.HTML:
			return s.WriteHTML(a.stdout)
		case format == term.CSV && list == listAges:
			return s.WriteAgesCSV(a.stdout)
		case format == term.CSV && list == listForecast:
			return s.WriteForecastCSV(a.stdout)
		case format == term.CSV && list == listBacktest:
			return s.WriteBacktestCSV(a.stdout)
		case format == term.CSV:
			return s.WriteCSV(a.stdout)
		}
		return printStatementTables(a.stdout, s)
	})
}

// printStatementTables prints the statement for people: for each currency the entries, and the ages of what is unpaid.
func printStatementTables(to io.Writer, s payouts.Statement) error {
	fmt.Fprintf(to, "Statement of %s, %s\n", term.Line(s.Account), s.Month.Format("January 2006"))
	for _, c := range s.Currencies {
		row := func(name string, n any, b finance.Balance) []any {
			t := c.Text(b)
			return []any{name, n, t.Pending, t.Confirmed, t.Settled, t.Total}
		}
		rows := [][]any{row("Opening balance", "", c.Opening)}
		for _, e := range c.Entries {
			rows = append(rows, row("  "+string(e.Event), e.Count, e.Balance))
		}
		rows = append(rows, row("Closing balance", "", c.Closing))
		fmt.Fprintf(to, "\n%s\n\n", term.Line(c.Currency))
		amount := alignedColumn
		err := term.Print(term.Table, to, []term.Column{{Name: "entry"}, term.CountColumn("transactions"),
			amount("pending"), amount("confirmed"), amount("after payment"), amount("total")}, rows)
		if err != nil {
			return err
		}
		var ages [][]any
		for i, b := range c.Ages {
			if !b.Pending.IsZero() || !b.Confirmed.IsZero() {
				t := c.Text(b)
				ages = append(ages, []any{payouts.AgeTitles()[i], t.Pending, t.Confirmed, t.Unpaid})
			}
		}
		if len(ages) > 0 {
			fmt.Fprintln(to)
			if err := term.Print(term.Table, to, []term.Column{{Name: "unpaid, by age of the sale"},
				amount("pending"), amount("confirmed"), amount("total")}, ages); err != nil {
				return err
			}
		}
		if err := errors.Join(printForecast(to, c), printRates(to, c)); err != nil {
			return err
		}
	}
	if len(s.Currencies) == 0 {
		fmt.Fprint(to, "\nThere are no transactions up to the end of this month.\n")
	}
	_, err := fmt.Fprintf(to, "\n%s\n", term.Line(s.Note()))
	return err
}

// printForecast prints what the next payouts are expected to come to.
func printForecast(to io.Writer, c payouts.CurrencyStatement) error {
	var rows [][]any
	for _, r := range c.ForecastRows() {
		if r.Count != 0 {
			rows = append(rows, []any{r.Payout, r.Count, r.Pending, r.PendingRate, r.Confirmed, r.ConfirmedRate, r.Forecast,
				r.PastOff})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	right := func(name string) term.Column { return term.Column{Name: name, Right: true} }
	fmt.Fprintln(to)
	return term.Print(term.Table, to, []term.Column{{Name: "next payouts"}, term.CountColumn("transactions"),
		right("pending"), right("rate"), right("confirmed"), right("rate"),
		right("forecast"), {Name: "off in the past"}}, rows)
}

// printRates prints whether the sales of the month came at the rates of their offers.
func printRates(to io.Writer, c payouts.CurrencyStatement) error {
	var rows [][]any
	add := func(before string, all []payouts.RateRow) {
		for _, r := range all {
			rows = append(rows, []any{before + r.Name, r.Count, r.Promised, r.Came, r.Difference})
		}
	}
	add("", c.RateRows())
	add("less than promised: ", c.RateRetailers())
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(to)
	return term.Print(term.Table, to, []term.Column{{Name: "sales of the month, by the rate at which they came"}, term.CountColumn("sales"),
		alignedColumn("promised"), alignedColumn("came"), alignedColumn("difference")}, rows)
}

func newReconcileClose(a *app) *cobra.Command {
	var f monthFlags
	var by, note string
	cmd := &cobra.Command{
		Use:   "close",
		Short: "Close a month: store its statement for good",
		Long: `Stores the statement of a month as it is now, with a hash over its rows. What is loaded later and belongs to
that month or an earlier one is an adjustment of the month in which it is loaded. A closed month cannot be
changed or opened again. Close months in order, once all of their data is loaded.`,
		Example: "  dealhouse reconcile close --account acme --month 2026-03",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			account, month, err := f.read(a)
			if err != nil {
				return err
			}
			by = cmp.Or(by, systemUser())
			cfg, err := a.readConfig(false)
			if err != nil {
				return err
			}
			o := a.opener()
			w, err := o.WhenFree(cmd.Context(), cfg, o.ExistingToLoad)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, w.Close()) }()
			s, err := payouts.CloseMonth(cmd.Context(), w, account, month, by, note)
			_, refused := errors.AsType[*payouts.RefusedError](err)
			if refused || errors.Is(err, payouts.ErrMonthOpen) || errors.Is(err, payouts.ErrMonthClosed) {
				return usagef("%v", err)
			}
			if err != nil {
				return err
			}
			return printStatementTables(a.stdout, s)
		},
	}
	f.add(cmd, a)
	cmd.Flags().StringVar(&by, "by", "", "the `name` of the person who closes it (default: the user of this process)")
	cmd.Flags().StringVar(&note, "note", "", "`words` to keep with it")
	return cmd
}
