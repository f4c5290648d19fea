package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/output"
	"dealhouse/internal/report"
	"dealhouse/internal/service"
	"dealhouse/internal/visible"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/wording"
)

const reconcileLong = `Compares every payout with the transactions that carry its id, and says what to do where they differ.
Nothing is asked of the API; what sync has loaded is compared.

A service changes transactions after it has paid them, and never a payout. So the totals of a payout are
recomputed twice: from its transactions as stamped (the first version that carries the payout's id), and
as of now.

  matched           its transactions add up to it, and stand as they did
  drifted           some have changed since they were paid; also when they had changed before they were
                    first loaded, and that can explain the difference
  missing           fewer transactions are loaded than it counts
  mismatched        its transactions do not add up to it; the columns are named
  no transactions   none of its transactions is loaded
  altered           also: the payout itself has changed since it was first seen
  mixed currency    also: its totals add up amounts of several currencies

At stake is the cashback that was paid less what it is worth now, where declined transactions count as
nothing. Also listed: transactions whose payout is not there (orphan), and transactions that are old
enough to have been paid and are in no payout (overdue; [finance] overdue_after sets the age).

The table shows total cashback; json and csv have every total. CSV begins with a byte order mark, as
Excel wants it. html is one printable file, to be sent on.

With --fail-on-mismatch the exit code is 1 when finance has something to do: a payout that is missing
transactions, mismatched, altered or of mixed currency, or that drifted with cashback at stake; an
orphan; or something overdue.`

const reconcileExample = `  dealhouse reconcile
  dealhouse reconcile --payout 42                       with the transactions behind a difference
  dealhouse reconcile --since 2026-01-01 --account acme
  dealhouse reconcile --output html > payouts.html
  dealhouse reconcile --output csv > payouts.csv
  dealhouse sync && dealhouse reconcile --fail-on-mismatch`

// reconcileCommand is what its flags say.
type reconcileCommand struct {
	account, since string
	payout         int64
	onePayout      bool
	fail           bool
	format         *choice
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
	c.format = outputFlag(cmd, "table", "json", "csv", "html")
	return cmd
}

// filter is what the flags ask for.
func (c reconcileCommand) filter() (report.Filter, error) {
	f := report.Filter{Account: c.account}
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
	cfg, err := a.loadConfig(false)
	if err != nil {
		return err
	}
	f.OverdueAfter = cfg.Finance.OverdueAfter
	w, err := a.openExisting(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := report.Reconcile(ctx, w, f)
	if warehouse.IsMissing(err) {
		return fmt.Errorf("%w (%w)", warehouse.ErrSchemaOld, err)
	}
	if err != nil {
		return err
	}
	if len(r.Accounts()) == 0 {
		if err := service.UnknownAccount(cfg, f.Account); err != nil {
			return err
		}
	}
	if f.Payout != nil && len(r.Payouts)+len(r.Orphans) == 0 {
		return usagef("there is no payout %d in the warehouse: `dealhouse reconcile` lists those there are", *f.Payout)
	}
	if err := printReconciliation(a.stdout, c.format.value, r); err != nil {
		return err
	}
	if c.fail && r.NeedsWork() {
		return reported{exitFault}
	}
	return nil
}

func printReconciliation(to io.Writer, format string, r report.Reconciliation) error {
	switch format {
	case "json":
		return r.WriteJSON(to)
	case "csv":
		return r.WriteCSV(to)
	case "html":
		return r.WriteHTML(to)
	}
	return printReconciliationTables(to, r)
}

// amountCell shows amounts as people write them.
func amountCell(v any) string { return wording.Grouped(output.Plain(v)) }

func amountColumn(name string) output.Column {
	return output.Column{Name: name, Right: true, Human: amountCell}
}

// printReconciliationTables prints the reconciliation for people.
func printReconciliationTables(to io.Writer, r report.Reconciliation) error {
	var payouts, others, changed [][]any
	for _, p := range r.Payouts {
		payouts = append(payouts, []any{p.Account, strconv.FormatInt(p.ID, 10), p.Period(), p.Currency(), report.Amount("", p.ReportedCashback()),
			report.Amount("", p.RecomputedCashback()), report.Amount("", p.CashbackDifference()), report.Money(p.AtStake), p.Word(), p.Advice()})
	}
	for _, o := range r.Orphans {
		others = append(others, []any{o.Account, report.Orphan, strconv.FormatInt(o.Payout, 10), o.Transactions, o.Currency, report.Money(o.Cashback), report.OrphanAdvice(o)})
	}
	for _, o := range r.Overdue {
		others = append(others, []any{o.Account, report.Overdue, o.Month, o.Transactions, o.Currency, report.Money(o.Cashback), r.OverdueAdvice(o)})
	}
	for _, t := range r.Transactions {
		first := ""
		if t.FirstKnown {
			first = "first known"
		}
		changed = append(changed, []any{t.ID.String(), report.Day(t.SoldAt), t.Retailer, t.Currency, t.State, t.StampedStatus, report.Amount("", t.StampedCashback), first,
			t.Status, report.Amount("", t.Cashback), report.Day(t.ChangedAt), report.Money(t.AtStake)})
	}
	tables := []struct {
		title   string
		columns []output.Column
		rows    [][]any
	}{
		{"", []output.Column{{Name: "account"}, {Name: "payout", Right: true}, {Name: "period"}, {Name: "currency"}, amountColumn("reported"), amountColumn("recomputed"),
			amountColumn("difference"), amountColumn("at stake"), {Name: "verdict"}, {Name: "what to do"}}, payouts},
		{"Not in any payout that is there:", []output.Column{{Name: "account"}, {Name: "finding"}, {Name: "payout or month"}, output.Count("transactions"), {Name: "currency"}, amountColumn("cashback"), {Name: "what to do"}}, others},
		{"Its transactions: first those that changed, then those that were stamped last", []output.Column{{Name: "transaction"}, {Name: "sold"}, {Name: "retailer"}, {Name: "currency"}, {Name: "state"}, {Name: "status when paid"},
			amountColumn("cashback when paid"), {Name: "as stamped"}, {Name: "status now"}, amountColumn("cashback now"), {Name: "changed"}, amountColumn("at stake")}, changed},
	}
	for _, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		if t.title != "" {
			fmt.Fprintf(to, "\n%s\n\n", t.title)
		}
		if err := output.Print("table", to, t.columns, t.rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(to, "\n%s\n", visible.Line(r.Summary()))
	return err
}
