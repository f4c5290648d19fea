package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"dealhouse/internal/payouts"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
)

// demoWidth is the maximum width of the demo's tables and sentences, in columns of a terminal.
const demoWidth = 100

// printDemoResults prints how the runs of a sync ended. Its table has fewer columns than that of dealhouse sync.
func printDemoResults(to io.Writer, results []syncer.Result) error {
	columns := []term.Column{
		{Name: "account"}, {Name: "stream"}, {Name: "mode"},
		term.CountColumn("read"), term.CountColumn("inserted"), term.CountColumn("updated"), term.CountColumn("deleted"),
		term.CountColumn("unchanged"), {Name: "outcome"},
	}
	var rows [][]any
	for _, r := range results {
		t, c := r.Record.Totals, r.Record.Changes
		rows = append(rows, []any{r.Record.Account, r.Record.Stream, r.Record.Mode, t.Read, c.Inserted, c.Updated, c.Deleted,
			c.Unchanged, outcomeWord(r)})
	}
	return term.Print(term.Table, to, columns, rows)
}

// showPayouts ends the demo with the payouts of the account that has wrong ones: which are right, and what to do about
// the others.
func (d *demonstration) showPayouts(ctx context.Context) error {
	account := d.world.Account()
	r, err := payouts.Reconcile(ctx, d.w, payouts.Filter{Account: account, OverdueAfter: d.cfg.Finance.OverdueAfter,
		Tolerances: d.cfg.Finance.Tolerances})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.stdout, "\nPayouts of %s against their transactions (dealhouse reconcile)\n\n", account)
	columns, rows := payoutTable(r)
	// The account is known, the periods are in the report before, and what to do follows.
	columns = append([]term.Column{columns[1]}, columns[3:len(columns)-1]...)
	for i := range rows {
		rows[i] = append([]any{rows[i][1]}, rows[i][3:len(rows[i])-1]...)
	}
	var todo []payouts.Payout
	for _, p := range r.Payouts {
		if p.Verdict != payouts.Matched {
			todo = append(todo, p)
		}
	}
	if err := term.Print(term.Table, d.stdout, columns, rows); err != nil {
		return err
	}
	fmt.Fprintf(d.stdout, "\n%s\n", strings.Join(term.Wrap(r.Summary(), demoWidth), "\n"))
	for _, p := range todo {
		fmt.Fprintf(d.stdout, "\n%s\n", strings.Join(term.Wrap(fmt.Sprintf("Payout %d: %s.", p.ID, p.Advice()), demoWidth),
			"\n"))
	}
	return nil
}
