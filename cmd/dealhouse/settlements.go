package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/finance"
	"dealhouse/internal/payouts"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const settlementsLong = `Compares, for each payout and currency, what it earned (what its transactions are worth now), what it paid
out, and what reached the bank. Paid out is the sum of what was received, fees, what was converted to another
currency, fractions of a cent that cannot be sent, and what is outstanding.

dealhouse settlements import loads what reached the bank. A settlement can name its payouts. If it does not,
they are those that its reference or text names ("payout 102"), if they come to its amount; or the only
payout of this amount, if no other could be meant. Otherwise it stays open. Once found, they stay. A
settlement that comes to the sum of its payouts pays each in full, also clawbacks; a part pays them in the
order of their ids. A payout may have several settlements.

csv has one kind of rows, which --list chooses: three-way (the payouts), settlements, or revisions (all that
was ever imported). It begins with a byte order mark, which Excel needs.`

const settlementsExample = `  dealhouse settlements
  dealhouse settlements import bank-2026-03.csv
  dealhouse settlements --output html > settlements.html
  dealhouse settlements --output csv --list settlements > settlements.csv
  dealhouse reconcile --payout 102                      the transactions of a payout`

func newSettlements(a *app) *cobra.Command {
	var account string
	list := &choice[string]{payouts.ListThreeWay, payouts.ThreeWayLists()}
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:     "settlements",
		Short:   "Compare payouts with what reached the bank",
		Long:    settlementsLong,
		Example: settlementsExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("list") && format.value != term.CSV {
				return usagef("--list chooses the rows of --output csv")
			}
			return printSettlements(cmd.Context(), a, account, format.value, list.value)
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "only this `account`")
	cmd.Flags().Var(list, "list", "rows of the CSV: "+list.list())
	complete(cmd, "list", list.allowed)
	completeAccounts(cmd, a)
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV, term.HTML)
	cmd.AddCommand(newSettlementsImport(a))
	return cmd
}

func printSettlements(ctx context.Context, a *app, account string, format term.Format, list string) error {
	return a.readWarehouse(ctx, func(cfg *config.Config, w *warehouse.Warehouse) error {
		t, err := payouts.NewThreeWay(ctx, w, account)
		if err != nil {
			return err
		}
		if len(t.Payouts)+len(t.Settlements) == 0 {
			if err := service.UnknownAccount(ctx, cfg, w, account); err != nil {
				return err
			}
		}
		switch format {
		case term.JSONArray:
			return t.WriteJSON(a.stdout)
		case term.HTML:
			return t.WriteHTML(a.stdout)
		case term.CSV:
			return t.WriteCSV(a.stdout, list)
		}
		return printThreeWay(a.stdout, t)
	})
}

// printThreeWay prints payouts and settlements for people.
func printThreeWay(to io.Writer, t payouts.ThreeWay) error {
	var paid, settlements [][]any
	columns := []term.Column{{Name: "account"}, {Name: "payout", Right: true}, {Name: "currency"}}
	amounts := []string{"earned", "paid out", "received", "fees", "converted", "outstanding"}
	for _, name := range amounts {
		columns = append(columns, alignedColumn(name))
	}
	columns = append(columns, term.Column{Name: "state"}, term.Column{Name: "settlements"},
		term.Column{Name: "what to do"})
	d := payouts.AlignThreeWay(payouts.Terminal, t.Payouts)
	for _, p := range t.Payouts {
		row := []any{p.Account, strconv.FormatInt(p.Payout, 10), p.Currency}
		for _, name := range amounts {
			row = append(row, d.Text(name, p.Currency, payouts.ThreeWayAmounts(p)[name]))
		}
		paid = append(paid, append(row, p.State, strings.Join(p.Settlements, " "), payouts.ThreeWayAdvice(p)))
	}
	d = payouts.AlignSettlements(payouts.Terminal, t.Settlements)
	for _, s := range t.Settlements {
		settlements = append(settlements, []any{s.Account, s.Reference, payouts.Day(&s.ReceivedOn), s.Currency,
			d.Text("amount", s.Currency, s.Amount), d.Text("fee", s.Currency, s.Fee), payouts.Sent(s),
			payouts.SettlementPayouts(s), s.Text, payouts.SettlementAdvice(s)})
	}
	if len(paid) > 0 {
		if err := term.Print(term.Table, to, columns, paid); err != nil {
			return err
		}
		fmt.Fprintln(to)
	}
	if len(settlements) > 0 {
		err := term.Print(term.Table, to, []term.Column{{Name: "account"}, {Name: "reference"}, {Name: "received on"},
			{Name: "currency"}, alignedColumn("amount"), alignedColumn("fee"),
			{Name: "converted from", Right: true}, {Name: "payouts"}, {Name: "text"}, {Name: "what to do"}}, settlements)
		if err != nil {
			return err
		}
		fmt.Fprintln(to)
	}
	_, err := fmt.Fprintln(to, term.Line(t.Summary()))
	return err
}

// importLong is the help of the import, with the columns of the file.
func importLong() string {
	text := `Imports what reached the bank: from a CSV file ("-" is standard input), or, if you name none, from the table
or view of [finance] settlements, which has the same columns. All rows are imported or none; each line with a
mistake is named. Importing the same settlements again changes nothing. A row that differs from what was
imported under the same reference is refused; with --correct it is recorded as a correction, and the earlier
state stays in the view settlement_revisions.

The statement of a bank can be imported as it is: CAMT.052, CAMT.053 or CAMT.054, MT940, or a CSV that
bank_csv in [finance] describes. Of its entries, those are imported that have words of bank_senders (a key
of the account) in their text; --preview shows all, and why. Entries that another file had before are
known. Import one format of an account, not several: they may give a payment different references.

A file of your own is UTF-8, with commas between the columns and a decimal point. Columns, in any order
(* required):
`
	for _, c := range payouts.Columns() {
		mark := " "
		if c.Required {
			mark = "*"
		}
		text += fmt.Sprintf("\n %s %-16s %s", mark, c.Name, c.About)
	}
	return text
}

const importExample = `  dealhouse settlements import bank-2026-03.csv
  dealhouse settlements import --preview statement.camt053.xml
  dealhouse settlements import --account acme - < bank.csv
  dealhouse settlements import --correct --note "the bank corrected its fee" bank-2026-03.csv
  dealhouse settlements import                          from the table that [finance] settlements names`

// importCommand is what its flags say.
type importCommand struct {
	account, by, note string
	correct, preview  bool
}

func newSettlementsImport(a *app) *cobra.Command {
	var c importCommand
	cmd := &cobra.Command{
		Use:     "import [FILE]",
		Short:   "Import what reached the bank",
		Long:    importLong(),
		Example: importExample,
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), a, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.account, "account", "", "the `account` of rows that name none; needed when there are several")
	flags.StringVar(&c.by, "by", "", "`name` of the person who imports it; by default the user of this process")
	flags.BoolVar(&c.correct, "correct", false, "record rows that differ from what was imported as corrections")
	flags.BoolVar(&c.preview, "preview", false, "show what would be imported and what would be left alone, and import nothing")
	flags.StringVar(&c.note, "note", "", "why, in your `words`; needed with --correct")
	completeAccounts(cmd, a)
	return cmd
}

func (c *importCommand) run(ctx context.Context, a *app, args []string) (err error) {
	if c.correct != (c.note != "") {
		return usagef("--correct and --note go together: a correction says why")
	}
	c.by = cmp.Or(c.by, systemUser())
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	if c.account == "" && len(cfg.Accounts) == 1 {
		c.account = cfg.Accounts[0].Name
	}
	var file io.Reader
	source := cfg.Finance.Settlements
	switch {
	case len(args) == 0 && source == "":
		return usagef("give the FILE to import, or name a table as [finance] settlements in the configuration")
	case len(args) == 1 && args[0] == "-":
		file, source = a.stdin, "standard input"
	case len(args) == 1:
		f, err := os.Open(args[0])
		if err != nil {
			return usagef("%v", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		file, source = f, filepath.Base(args[0])
	}
	o := a.opener()
	w, err := o.WhenFree(ctx, cfg, o.ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := service.UnknownAccount(ctx, cfg, w, c.account); err != nil {
		return orOldSchema(err)
	}
	read, err := c.read(ctx, w, cfg, file)
	if err != nil {
		return orRefused(err)
	}
	if c.preview {
		err = printPreview(a.stdout, read)
	}
	if err == nil && len(read.Problems) > 0 {
		err = &payouts.ProblemsError{Source: source, Problems: read.Problems}
	}
	if err != nil || c.preview {
		return orRefused(err)
	}
	res, err := payouts.Import(ctx, w, read.Rows,
		payouts.Options{Source: source, By: c.by, Correct: c.correct, Note: c.note})
	if err != nil {
		return orRefused(orOldSchema(err))
	}
	fmt.Fprintf(a.stdout, "%s: %s imported, %d corrected, %d known already\n", term.Line(source),
		term.Plural(uint64(len(res.New)), "settlement"), len(res.Corrected), res.Known)
	if len(read.Left) > 0 {
		fmt.Fprintf(a.stdout, "%s left alone: --preview shows each, and why\n", term.Plural(uint64(len(read.Left)), "other payment"))
	}
	return nil
}

// printPreview prints what a file has.
func printPreview(to io.Writer, read payouts.Reading) error {
	type line struct {
		at    int
		cells []any
	}
	var lines []line
	for _, r := range read.Rows {
		lines = append(lines, line{r.Line, []any{strconv.Itoa(r.Line), payouts.Day(&r.ReceivedOn), r.Currency, finance.Format(r.Amount, r.Currency), r.Text,
			"imported for " + r.Account + " as " + r.Reference}})
	}
	for _, l := range read.Left {
		lines = append(lines, line{l.Line, []any{strconv.Itoa(l.Line), l.On, l.Currency, l.Amount, l.Words, "left alone: " + l.Why}})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	rows := make([][]any, len(lines))
	for i, l := range lines {
		rows[i] = l.cells
	}
	return term.Print(term.Table, to, []term.Column{{Name: "line", Right: true}, {Name: "booked on"}, {Name: "currency"}, {Name: "amount", Right: true},
		{Name: "words"}, {Name: "what becomes of it"}}, rows)
}

// read reads the rows.
func (c *importCommand) read(ctx context.Context, w *warehouse.Warehouse, cfg *config.Config, file io.Reader) (read payouts.Reading, err error) {
	now, err := w.Now(ctx)
	if err != nil {
		return read, err
	}
	rules := payouts.Rules{Account: c.account, Senders: map[string][]string{}, CSV: cfg.Finance.BankCSV,
		Until: now.AddDate(0, 0, 1)} // the bank may be in a time zone where it is already tomorrow
	for _, account := range cfg.Accounts {
		rules.Senders[account.Name] = account.BankSenders
	}
	if file != nil {
		read, err = payouts.ReadFile(file, rules)
	} else {
		var table warehouse.TextTable
		if table, err = w.ReadTextTable(ctx, cfg.Finance.Settlements); err == nil {
			read = payouts.ReadTable(table.Columns, table.Rows, rules)
		}
	}
	if err != nil {
		return read, err
	}
	unknown := map[string]error{"": nil}
	for _, r := range read.Rows {
		if _, looked := unknown[r.Account]; !looked {
			unknown[r.Account] = service.UnknownAccount(ctx, cfg, w, r.Account)
		}
		switch err := unknown[r.Account]; {
		case is[service.SettingError](err):
			read.Problems = append(read.Problems, payouts.Problem{Line: r.Line, Column: "account",
				Text: fmt.Sprintf("is %q, which is neither in the configuration nor in the warehouse",
					term.Line(r.Account))})
		case err != nil:
			return read, err
		}
	}
	return read, nil
}

// orRefused turns the error of a file that was refused into a mistake of the command line.
func orRefused(err error) error {
	if is[*payouts.ProblemsError](err) || errors.Is(err, warehouse.ErrTextTable) {
		return usageError{err}
	}
	return err
}
