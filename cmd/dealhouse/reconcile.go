package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/payouts"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
)

const reconcileLong = `Compares every payout with the transactions that carry its id, and says what to do where they differ. It
uses what sync has loaded and sends no request to the API.

A service changes transactions after it has paid them, but never a payout. So the totals of each payout are
computed twice: from its transactions as stamped (the first version that carries the payout's id), and as
they are now.

  matched           the transactions add up to the payout and have not changed since
  drifted           some transactions changed after they were paid; or they changed before they were first
                    loaded, and that explains the difference
  missing           fewer transactions are loaded than the payout counts
  mismatched        the transactions do not add up to the payout; the report names the columns
  no transactions   none of its transactions is loaded
  altered           in addition: the payout itself was changed after it was first loaded
  mixed currency    in addition: its totals add up amounts of several currencies

Paid is the cashback of a payout without its declined transactions; worth now is the same for its
transactions as they are now. The difference is split into kinds, which are never offset against each other
or added up across currencies:

  expect back       declined or lowered after it was paid, or moved out of the payout
  claim             raised, or accepted again, after it was paid
  error in payout   the payout's own sums are wrong; below zero if they say too little
  not loaded        in transactions that the payout counts and that are not loaded
  vanished          in transactions that the service no longer lists

A transaction that was loaded late may have changed before it was seen. The payout's counts by status often
show which transactions were declined then; the report names them if there is only one possibility. A status
when paid is "deduced" if the counts allow no other, and "not seen" if it is unknown.

The report also lists transactions whose payout is not known (orphan), and transactions that are old enough
to be paid but are in no payout (overdue; [finance] overdue_after sets the age).

csv has one kind of rows, which --list chooses, and begins with a byte order mark, which Excel needs. html is
one file to print or send: first the totals, then the payouts that need a look, then all payouts.

dealhouse reconcile ack marks a finding as known: it stays quiet until its amounts change.

With --fail-on-mismatch the exit code is 1 if finance has something to do: a payout that lacks transactions,
is mismatched, altered or of mixed currency, or drifted with a difference in cashback, and was not
acknowledged; an orphan; or something overdue.`

const reconcileExample = `  dealhouse reconcile
  dealhouse reconcile --payout 42                       with the transactions behind a difference
  dealhouse reconcile --since 2026-01-01 --account acme
  dealhouse reconcile --output html > payouts.html
  dealhouse reconcile --output csv > payouts.csv
  dealhouse reconcile --output csv --list exceptions > transactions.csv
  dealhouse sync && dealhouse reconcile --fail-on-mismatch`

// reconcileCommand is what its flags say.
type reconcileCommand struct {
	account, since string
	payout         int64
	onePayout      bool
	fail           bool
	format         *choice[term.Format]
	list           *choice[string]
}

// rows returns the kind of rows of the CSV. For a single payout the default is its transactions.
func (c reconcileCommand) rows() string {
	switch {
	case c.list.value != "":
		return c.list.value
	case c.onePayout:
		return payouts.ListTransactions()
	}
	return payouts.ListPayouts()
}

func newReconcile(a *app) *cobra.Command {
	var c reconcileCommand
	cmd := &cobra.Command{
		Use:     "reconcile",
		Short:   "Compare payouts with their transactions",
		Long:    reconcileLong,
		Example: reconcileExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.onePayout = cmd.Flags().Changed("payout")
			return c.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.account, "account", "", "only this `account`")
	flags.StringVar(&c.since, "since", "", "only payouts whose period ended on this `day` or later, and transactions sold since; 2026-01-31 or RFC 3339")
	flags.Int64Var(&c.payout, "payout", 0, "only the payout with this `id`, with its transactions")
	flags.BoolVar(&c.fail, "fail-on-mismatch", false, "exit with 1 when finance has something to do")
	completeAccounts(cmd, a)
	cmd.AddCommand(newReconcileAck(a), newReconcileAcks(a), newReconcileClose(a), newReconcilePacket(a))
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV, term.HTML)
	c.list = &choice[string]{"", payouts.Lists()}
	flags.Var(c.list, "list", "rows of the CSV: "+c.list.list()+"; payouts unless --payout is given")
	complete(cmd, "list", payouts.Lists())
	return cmd
}

// filter is what the flags ask for.
func (c reconcileCommand) filter() (payouts.Filter, error) {
	f := payouts.Filter{Account: c.account}
	if c.onePayout {
		f.Payout = &c.payout
	}
	if c.since == "" {
		return f, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, c.since); err == nil {
			f.Since = t.UTC()
			return f, nil
		}
	}
	return f, usagef("--since %q is neither a day such as 2026-01-31 nor a time in RFC 3339", c.since)
}

func (c reconcileCommand) run(ctx context.Context, a *app) (err error) {
	f, err := c.filter()
	if err != nil {
		return err
	}
	switch {
	case c.list.value != "" && c.format.value != term.CSV:
		return usagef("--list chooses the rows of --output csv; %s has all of them", c.format.value)
	case c.list.value == payouts.ListTransactions() && !c.onePayout:
		return usagef("--list transactions needs --payout ID; --list exceptions lists those of all payouts that are worth more or less than was paid")
	}
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	f.OverdueAfter, f.Tolerances = cfg.Finance.OverdueAfter, cfg.Finance.Tolerances
	f.WithoutTransactions = c.format.value == term.CSV
	w, err := a.opener().Existing(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := payouts.Reconcile(ctx, w, f)
	if err != nil {
		return orOldSchema(err)
	}
	if len(r.Accounts()) == 0 {
		if err := service.UnknownAccount(ctx, cfg, w, f.Account); err != nil {
			return orOldSchema(err)
		}
	}
	if f.Payout != nil && len(r.Payouts)+len(r.Orphans) == 0 {
		return usagef("%w", payouts.NoPayout(*f.Payout))
	}
	if f.WithoutTransactions && c.rows() == payouts.ListTransactions() {
		err = r.WriteTransactionsCSV(ctx, w, a.stdout)
	} else {
		err = printReconciliation(a.stdout, c.format.value, c.rows(), r, term.IsTerminal(a.screen))
	}
	if err != nil {
		return err
	}
	if c.fail && r.NeedsWork() {
		return reported{exitFault}
	}
	return nil
}

// printReconciliation prints the reconciliation. narrow says that tables should fit a terminal.
func printReconciliation(to io.Writer, format term.Format, list string, r payouts.Reconciliation, narrow bool) error {
	switch format {
	case term.JSONArray:
		return r.WriteJSON(to)
	case term.CSV:
		return r.WriteCSV(to, list)
	case term.HTML:
		return r.WriteHTML(to)
	}
	return printReconciliationTables(to, r, narrow)
}

// amountCell shows amounts as people write them.
func amountCell(v any) string { return term.Grouped(term.Plain(v)) }

func amountColumn(name string) term.Column {
	return term.Column{Name: name, Right: true, Human: amountCell}
}

// alignedColumn is of amounts that a payouts.Alignment has written.
func alignedColumn(name string) term.Column { return term.Column{Name: name, Right: true} }

// payoutTable has a row for each payout and currency. A kind without any amount has no column.
func payoutTable(r payouts.Reconciliation) (columns []term.Column, rows [][]any) {
	var kinds []payouts.KindColumn
	for _, k := range payouts.KindColumns() {
		if r.Has(k) {
			kinds = append(kinds, k)
		}
	}
	columns = []term.Column{{Name: "account"}, {Name: "payout", Right: true}, {Name: "period", Minor: true}, {Name: "currency"},
		alignedColumn("paid"), alignedColumn("worth now")}
	for _, k := range kinds {
		columns = append(columns, alignedColumn(k.Title))
	}
	columns = append(columns, term.Column{Name: "verdict"}, term.Column{Name: "what to do"})
	d := r.AlignPayouts(payouts.Terminal)
	for _, p := range r.Payouts {
		for i, l := range p.Explained.Lines {
			row := []any{p.Account, strconv.FormatInt(p.ID, 10), p.Period(), l.Currency, d.Text("paid", l.Currency, l.Paid),
				d.Text("worth", l.Currency, l.Worth)}
			for _, k := range kinds {
				row = append(row, d.TextKnown(k.Title, l.Currency, k.Cell(l)))
			}
			verdict, advice := "", ""
			if i == 0 {
				verdict, advice = p.Word(), p.Advice()
			}
			rows = append(rows, append(row, verdict, advice))
		}
	}
	return columns, rows
}

// adviceColumn leaves out the last column, what to do, if there is nothing to do. If narrow, what to do stands beneath
// the payouts that need it; otherwise a row is one line, for programs that read a pipe.
func adviceColumn(columns []term.Column, rows [][]any, narrow bool) {
	last := len(columns) - 1
	idle := !slices.ContainsFunc(rows, func(row []any) bool { return row[last] != payouts.NothingToDo && row[last] != "" })
	columns[last].Optional, columns[last].Below = idle, narrow
	for _, row := range rows {
		if row[last] == payouts.NothingToDo && (idle || narrow) {
			row[last] = ""
		}
	}
}

// printReconciliationTables prints the reconciliation for people.
func printReconciliationTables(to io.Writer, r payouts.Reconciliation, narrow bool) error {
	var others, changed [][]any
	d := r.AlignOthers(payouts.Terminal)
	for _, o := range r.Orphans {
		others = append(others, []any{o.Account, payouts.Orphan, strconv.FormatInt(o.Payout, 10), o.Transactions, o.Currency,
			d.Text("cashback", o.Currency, o.Cashback), payouts.OrphanAdvice(o)})
	}
	for _, o := range r.Overdue {
		others = append(others, []any{o.Account, payouts.Overdue, o.Month, o.Transactions, o.Currency,
			d.Text("cashback", o.Currency, o.Cashback), r.OverdueAdvice(o)})
	}
	d = r.AlignTransactions(payouts.Terminal)
	for _, t := range r.Transactions {
		p := r.Payout(t)
		changed = append(changed, []any{t.ID.String(), payouts.Day(t.SoldAt), t.Retailer, t.Currency, p.WhenPaid(t),
			d.TextKnown("paid", t.Currency, p.PaidFor(t)), t.State, t.Status,
			d.TextKnown("cashback", t.Currency, t.Cashback), d.Text("worth", t.Currency, p.WorthOf(t)), payouts.Day(t.ChangedAt)})
	}
	for _, s := range r.TransactionSums() {
		changed = append(changed, []any{s.Title, "", "", s.Currency, "", d.TextKnown("paid", s.Currency, s.Paid), "", "", "",
			d.Text("worth", s.Currency, s.Worth), ""})
	}
	columns, payouts := payoutTable(r)
	adviceColumn(columns, payouts, narrow)
	tables := []struct {
		title   string
		columns []term.Column
		rows    [][]any
	}{
		{"", columns, payouts},
		{"Not in any loaded payout:", []term.Column{{Name: "account"}, {Name: "finding"}, {Name: "payout or month"},
			term.CountColumn("transactions"), {Name: "currency"}, alignedColumn("cashback"), {Name: "what to do"}}, others},
		{"Its transactions, in the order of their sales",
			[]term.Column{{Name: "transaction"}, {Name: "sold"}, {Name: "retailer"}, {Name: "currency"},
				{Name: "status when paid"},
				alignedColumn("paid"), {Name: "state"}, {Name: "status now"}, alignedColumn("cashback now"),
				alignedColumn("worth now"), {Name: "changed"}}, changed},
	}
	for _, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		if t.title != "" {
			fmt.Fprintf(to, "\n%s\n\n", t.title)
		}
		if err := term.Print(term.Table, to, t.columns, t.rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(to, "\n%s\n", term.Line(r.Summary()))
	return err
}
