//go:build !noengine

package deploy_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/warehouse"
)

// What reading is bounded by, at ten million transactions on two cores.
const (
	readingMillis   = 300
	countMillis     = 10
	payoutMillis    = 50
	readingMiB      = 200
	dashboardMillis = 2000 // of CPU, for all panels together
)

// reading is a query that somebody asks, and how long it may take.
type reading struct {
	name, query string
	millis      float64
}

// BenchmarkReading asks what people ask of a warehouse: the panels of the business dashboard, the queries of the
// documents, and filters by date, retailer, payout, user and id. Each tells its time, its CPU time, the memory that the
// engine took for it, and the rows that it reads by its plan. READING_ROWS is the number of transactions; READING_DATA
// a folder that keeps the warehouse for the next time. The goals are for ten million rows.
func BenchmarkReading(b *testing.B) {
	w, rows := largeWarehouse(b)
	panels := dashboardReadings(b, w)
	var slowest, largest, panelCPU float64
	var slowestName, largestName string
	for _, r := range slices.Concat(panels, documentReadings(b), filterReadings(b, w)) {
		b.Run(r.name, func(b *testing.B) {
			peak, read := engineCost(b, w, r.query)
			begin := cpuTime(b)
			best := time.Duration(1 << 62)
			for b.Loop() {
				start := time.Now()
				ask(b, w, r.query)
				best = min(best, time.Since(start))
			}
			millis := float64(best.Microseconds()) / 1000
			cpu := float64((cpuTime(b) - begin).Microseconds()) / 1000 / float64(b.N)
			if strings.HasPrefix(r.name, "panel/") {
				panelCPU += cpu
			}
			if millis/r.millis > slowest {
				slowest, slowestName = millis/r.millis, r.name
			}
			if peak > largest {
				largest, largestName = peak, r.name
			}
			against(b, "ms", millis, r.millis)
			b.ReportMetric(cpu, "CPU-ms")
			b.ReportMetric(peak, "MiB")
			b.ReportMetric(read, "rows-read")
		})
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			continue // what was measured above
		}
		against(b, "dashboard-CPU-ms", panelCPU, dashboardMillis)
		against(b, "slowest-of-its-goal", slowest, 1)
		against(b, "largest-MiB", largest, readingMiB)
		b.ReportMetric(float64(rows), "transactions")
	})
	b.Logf("slowest for its goal: %s; most memory: %s", slowestName, largestName)
}

// largeWarehouse opens the folder that READING_DATA names, or fills one: first as the API was a month ago, and then as
// it was yesterday and is now.
func largeWarehouse(b *testing.B) (w *warehouse.Warehouse, rows uint64) {
	b.Helper()
	dir := os.Getenv("READING_DATA")
	if dir == "" {
		dir = filepath.Join(b.TempDir(), "data")
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		n, err := strconv.Atoi(cmp.Or(os.Getenv("READING_ROWS"), "100000"))
		if err != nil {
			b.Fatal("READING_ROWS:", err)
		}
		const day = 24 * time.Hour
		fill(b, dir, apisim.Options{
			Now: time.Now().Add(-30 * day), Transactions: n / 2, Products: min(n/10, 200_000),
			Promotions: min(n/10, 2000), Coupons: min(n/10, 3000), CashbackOffers: min(n/10, 2500), Retailers: min(n/10, 1500),
		}, func(*apisim.Sim) {}, 29*day, day)
	}
	w = open(b, dir)
	// Weeks have passed by the clock of the simulator and seconds by that of the engine. So months are not folded and
	// prices not merged as they would be by then. READING_UNFOLDED=1 leaves the months as the runs left them.
	tables := []string{"product_prices_latest", "transactions_latest"}
	if os.Getenv("READING_UNFOLDED") != "" {
		tables = tables[:1]
	}
	for _, table := range tables {
		if err := w.Conn().Exec(b.Context(), "OPTIMIZE TABLE "+table+" FINAL SETTINGS optimize_skip_merged_partitions = 1"); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Conn().QueryRow(b.Context(), "SELECT count() FROM transactions").Scan(&rows); err != nil {
		b.Fatal(err)
	}
	return w, rows
}

// dashboardReadings are the variables and the panels of the dashboard, over the time that it shows at first.
func dashboardReadings(b *testing.B, w *warehouse.Warehouse) (all []reading) {
	b.Helper()
	d := readDashboard(b, "business.json")
	now := time.Now()
	macros := grafana{from: time.Date(now.Year()-1, now.Month(), 1, 0, 0, 0, 0, time.UTC), to: now,
		variables: map[string][]string{"account": {"acme", "globex"}}}
	for _, v := range d.Templating.List {
		var query string
		if v.Type == "datasource" || json.Unmarshal(v.Query, &query) != nil {
			continue
		}
		query = macros.expand(b, query)
		all = append(all, reading{"variable/" + v.Name, query, readingMillis})
		if v.Name != "account" {
			_, rows := ask(b, w, query)
			macros.variables[v.Name] = []string{fmt.Sprint(rows[0][0])}
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, reading{"panel/" + p.Title, macros.expand(b, target.RawSQL), readingMillis})
		}
	}
	return all
}

// documentReadings are the queries of the documents, by the text before each.
func documentReadings(b *testing.B) (all []reading) {
	b.Helper()
	block := regexp.MustCompile("(?s)((?:[^\n]+\n)+)\n```sql\n(.*?)```")
	for _, name := range []string{"README.md", "PAYOUTS.md"} {
		for _, m := range block.FindAllStringSubmatch(readFile(b, filepath.Join("..", "schema", name)), -1) {
			title := strings.TrimRight(strings.ReplaceAll(m[1], "\n", " "), ":. ")
			if len(title) > 60 {
				title = title[:60]
			}
			all = append(all, reading{"document/" + title, m[2], readingMillis})
		}
	}
	if len(all) < 15 {
		b.Fatalf("only %d queries were found in the documents", len(all))
	}
	return all
}

// filterReadings are filters by what people know: a date, a retailer, a payout, a user, an id.
func filterReadings(b *testing.B, w *warehouse.Warehouse) []reading {
	b.Helper()
	_, rows := ask(b, w, `SELECT toString(id), passback_uid, toString(retailer_id), toString(payout_id), toString(toDate(sold_at)) FROM transactions
WHERE account = 'acme' AND payout_id IS NOT NULL AND passback_uid != '' ORDER BY sold_at DESC LIMIT 1`)
	if len(rows) == 0 {
		b.Fatal("no transaction is in a payout")
	}
	known := strings.NewReplacer("$id", fmt.Sprint(rows[0][0]), "$user", fmt.Sprint(rows[0][1]), "$retailer",
		fmt.Sprint(rows[0][2]),
		"$payout", fmt.Sprint(rows[0][3]), "$day", fmt.Sprint(rows[0][4]))
	all := []reading{
		{"count", "SELECT count() FROM transactions", countMillis},
		{"last 30 days", "SELECT sum(cashback) FROM transactions WHERE account = 'acme' AND sold_at >= now() - INTERVAL 30 DAY", readingMillis},
		{"last 30 days, all accounts", "SELECT currency_code, sum(cashback) FROM transactions WHERE sold_at >= now() - INTERVAL 30 DAY GROUP BY currency_code", readingMillis},
		{"one day", "SELECT count(), sum(order_value) FROM transactions WHERE account = 'acme' AND toDate(sold_at) = '$day'",
			readingMillis},
		{"one day, as BI tools ask", "SELECT count(), sum(order_value) FROM transactions WHERE account = 'acme' AND date_trunc('day', sold_at) = '$day'", readingMillis},
		{"one retailer by month", "SELECT toStartOfMonth(sold_at) AS month, sum(cashback) FROM transactions WHERE account = 'acme' AND retailer_id = '$retailer' GROUP BY month ORDER BY month", readingMillis},
		{"one user", "SELECT id, sold_at, cashback, status FROM transactions WHERE account = 'acme' AND passback_uid = '$user' ORDER BY sold_at", readingMillis},
		{"one id", "SELECT * FROM transactions WHERE account = 'acme' AND id = '$id'", readingMillis},
		{"one id, all accounts", "SELECT * FROM transactions WHERE id = '$id'", readingMillis},
		{"versions of one id", "SELECT * FROM transactions_history WHERE account = 'acme' AND id = '$id' ORDER BY valid_from",
			readingMillis},
		{"one payout's sum", "SELECT count(), sum(cashback) FROM transactions WHERE account = 'acme' AND payout_id = $payout",
			readingMillis},
		{"reconciliation of one payout", "SELECT * FROM payout_reconciliation WHERE account = 'acme' AND payout_id = $payout",
			payoutMillis},
		{"transactions of one payout", "SELECT count(), sum(at_stake) FROM payout_transactions WHERE account = 'acme' AND payout_id = $payout", readingMillis},
		{"all payouts", "SELECT account, verdict, count() FROM payout_reconciliation GROUP BY account, verdict",
			readingMillis},
		{"sums by month", "SELECT toStartOfMonth(sold_at) AS month, currency_code, sum(order_value), sum(cashback) FROM transactions GROUP BY month, currency_code", readingMillis},
		{"history as of a time", "SELECT currency_code, count(), sum(cashback) FROM transactions_history WHERE valid_from <= now() AND (valid_to IS NULL OR valid_to > now()) GROUP BY currency_code", readingMillis},
		{"all transactions as of a time", "SELECT currency_code, count(), sum(cashback) FROM transactions_as_of(at = now() - INTERVAL 1 DAY) GROUP BY currency_code", readingMillis},
		{"price changes of a week", "SELECT count() FROM product_price_changes WHERE account = 'acme' AND day >= today() - 7",
			readingMillis},
		{"prices of one product", "SELECT day, price FROM product_prices WHERE account = 'acme' AND product_key = (SELECT product_key FROM products LIMIT 1) ORDER BY day", readingMillis},
	}
	for i := range all {
		all[i] = reading{"filter/" + all[i].name, known.Replace(all[i].query), all[i].millis}
	}
	return all
}

// engineCost asks a query once, and watches what memory the engine takes for it [MiB]. rows is how many it means to
// read, by what its plan says of the parts that the index leaves.
func engineCost(b *testing.B, w *warehouse.Warehouse, query string) (peak, rows float64) {
	b.Helper()
	var over atomic.Bool
	most := make(chan int64, 1)
	go func() {
		var peak, now int64
		for !over.Load() {
			if w.Conn().QueryRow(b.Context(), "SELECT max(peak_memory_usage) FROM system.processes WHERE query NOT LIKE '%peak_memory_usage%'").Scan(&now) == nil {
				peak = max(peak, now)
			}
		}
		most <- peak
	}()
	func() {
		defer over.Store(true) // also if the query fails
		ask(b, w, query)
	}()
	peak = float64(<-most) / (1 << 20)
	var estimate uint64
	if err := w.Conn().QueryRow(b.Context(),
		"SELECT sum(rows) FROM (EXPLAIN ESTIMATE "+strings.TrimRight(query, ";\n ")+")").Scan(&estimate); err != nil {
		b.Fatal(err)
	}
	return peak, float64(estimate)
}

// against reports a figure beside the most that it is to be.
func against(b *testing.B, unit string, value, goal float64) {
	b.Helper()
	b.ReportMetric(value, unit)
	b.ReportMetric(goal, "goal-"+unit)
}

// cpuTime is what this process has used, the engine included.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
