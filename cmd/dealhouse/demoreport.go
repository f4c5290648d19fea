package main

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// demoReport is a question and the query of the views that answers it.
type demoReport struct{ title, sql string }

func demoReports() []demoReport {
	sales, payouts := catalog.Transactions().Name, catalog.Payouts().Name
	const (
		pending   = "'" + catalog.StatusPending + "'"
		confirmed = "'" + catalog.StatusConfirmed + "'"
		declined  = "'" + catalog.StatusDeclined + "'"
	)
	return []demoReport{
		{"Cashback by retailer: the top 10 of each currency",
			`SELECT currency_code AS currency, retailer_name AS retailer, count() AS transactions,
    sum(order_value) AS order_value, sum(cashback) AS cashback
FROM ` + sales + ` WHERE status != ` + declined + `
GROUP BY currency, retailer ORDER BY currency, cashback DESC, retailer LIMIT 10 BY currency`},
		{"Transactions by month and status, the last 6 months",
			`SELECT formatDateTime(sold_at, '%Y-%m') AS month, countIf(status = ` + pending + `) AS pending,
    countIf(status = ` + confirmed + `) AS confirmed, countIf(status = ` + declined + `) AS declined, count() AS all
FROM ` + sales + ` GROUP BY month ORDER BY month DESC LIMIT 6`},
		{"Payouts: the last 3 of each account",
			`SELECT p.account, p.id AS payout, t.currency, toDate32(p.start_date) AS from, toDate32(p.end_date) AS to,
    p.total_transactions AS sales, p.total_gmv AS gmv, p.total_cashback AS cashback, p.confirmed_cashback AS confirmed
FROM ` + payouts + ` AS p
LEFT JOIN (SELECT account, payout_id, any(currency_code) AS currency FROM ` + sales + ` GROUP BY account, payout_id) AS t
    ON t.account = p.account AND t.payout_id = p.id
ORDER BY p.account, p.id DESC LIMIT 3 BY p.account`},
	}
}

// countExample is a query to type.
func countExample() string {
	return "SELECT status, count() FROM " + catalog.Transactions().Name + " GROUP BY ALL"
}

// printNextSteps ends the demo with commands that work with what it left behind. Each names the warehouse by itself: a
// variable that is exported would still be set when the user loads an API of their own.
func (d *demonstration) printNextSteps() {
	var b strings.Builder
	b.WriteString("\nWhat to type next:\n\n")
	if d.kept {
		for _, command := range []string{`query "` + countExample() + `"`,
			`query "SELECT * FROM coupons_history WHERE valid_to IS NOT NULL LIMIT 5"`, "runs", "serve-warehouse"} {
			fmt.Fprintf(&b, "  DEALHOUSE_WAREHOUSE_DSN=%s \\\n    %s %s\n", quoted(warehouse.EmbeddedScheme+d.dir), d.program,
				command)
		}
	} else {
		fmt.Fprintf(&b, `  %[1]s demo --data ./demo-data
  DEALHOUSE_WAREHOUSE_DSN=embedded:./demo-data \
    %[1]s query "%[2]s"
  %[1]s demo --serve
`, d.program, countExample())
	}
	fmt.Fprintf(&b, "\nFor your own API, with its key in the environment:\n\n  %[1]s init URL --key env:NAME\n  %[1]s sync\n",
		d.program)
	fmt.Fprint(d.stdout, b.String())
}

// printAddresses prints how to reach what --serve keeps running.
func (d *demonstration) printAddresses(warehouse string) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nUp until Ctrl-C:\n\n  warehouse   %s (read-only, database %s)\n  API         %s\n", warehouse,
		d.cfg.Warehouse.Database, d.world.URL)
	for _, org := range d.world.Sim.Orgs() {
		key, payouts := d.world.Sim.Keys(org)
		fmt.Fprintf(&b, "  key of %-8s %s\n  %-15s %s (for payouts only)\n", org, key, "", payouts)
	}
	org := d.world.Sim.Orgs()[0]
	key, _ := d.world.Sim.Keys(org)
	fmt.Fprintf(&b, `
In another terminal:

  curl '%[1]s/?database=%[2]s' \
    -d '%[7]s'
  DEALHOUSE_WAREHOUSE_DSN=%[1]s/%[2]s %[3]s status
  curl -H 'Authorization: Bearer %[4]s' \
    %[5]s/v1/deals/payouts
  DEALHOUSE_WAREHOUSE_DSN=embedded:./my-data DEALHOUSE_ACCOUNT=%[6]s \
    DEALHOUSE_BASE_URL=%[5]s DEALHOUSE_API_KEY=%[4]s \
    %[3]s sync
`, warehouse, d.cfg.Warehouse.Database, d.program, key, d.world.URL, org, countExample())
	fmt.Fprint(d.stdout, b.String())
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
