package warehouse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// stampedTotals returns what payouts would say about their transactions, in the order of the names of payoutPage.
const stampedTotals = `SELECT payout_id, count(), sum(v), sum(c), countIf(s = 'CONFIRMED'), countIf(s = 'DECLINED'), countIf(s = 'PENDING'),
    sumIf(v, s = 'CONFIRMED'), sumIf(v, s = 'DECLINED'), sumIf(v, s = 'PENDING'), sumIf(c, s = 'CONFIRMED'), sumIf(c, s = 'DECLINED'), sumIf(c, s = 'PENDING'),
    round(sum(v) / count(), 2)
FROM (SELECT payout_id, stamped_status AS s, toDecimal128(ifNull(stamped_order_value, 0), 4) AS v, toDecimal128(ifNull(p.stamped_cashback, 0), 4) AS c FROM payout_transactions AS p)
GROUP BY payout_id ORDER BY payout_id`

// payoutPage returns a list of payouts: most of what they say is true of their transactions. Some of it is missing,
// wrong, or counted by another status. One payout may have no transaction, and one may not be listed.
func payoutPage(t *testing.T, w *Warehouse, d *rand.Rand) string {
	t.Helper()
	names := []string{
		"id", "totalTransactions", "totalGmv", "totalCashback", "confirmedTransactions", "declinedTransactions",
		"pendingTransactions",
		"confirmedGmv", "declinedGmv", "pendingGmv", "confirmedCashback", "declinedCashback", "pendingCashback", "aov",
	}
	records := []string{`{"id":9,"totalTransactions":` + fmt.Sprint(d.IntN(2)) + `}`}
	for _, row := range text(t, w, stampedTotals) {
		if d.IntN(5) == 0 {
			continue
		}
		values := strings.Fields(row)
		if values[4] != "0" && d.IntN(2) == 0 { // a confirmed one was pending when it was paid
			for _, c := range []int{4, 7, 10} {
				values[c+2] = values[c]
				values[c] = "0"
			}
		}
		if d.IntN(3) == 0 {
			values[1+d.IntN(13)] = []string{"null", "7", "0"}[d.IntN(3)]
		}
		fields := make([]string, len(names))
		for i, name := range names {
			fields[i] = fmt.Sprintf("%q:%s", name, values[i])
		}
		records = append(records, "{"+strings.Join(fields, ",")+"}")
	}
	return "[" + strings.Join(records, ",") + "]"
}

// TestReconciliation compares what is reported about payouts, after each run of a random history of sales and payouts,
// with views that compute it step by step. For wide samples: package report has payouts of random histories, too.
func TestReconciliation(t *testing.T) {
	enginetest.OnlyWideWithoutRace(t)
	t.Parallel()
	seen := map[string]int{}
	w := open(t)
	reference, err := os.ReadFile("testdata/reference/payouts.sql")
	must(t, err)
	for _, statement := range splitStatements(string(reference)) {
		must(t, w.exec(t.Context(), statement))
	}
	views := map[string]string{} // with their columns
	for _, view := range []string{"payout_alterations", "payout_reconciliation"} {
		views[view] = strings.Join(text(t, w, "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {view:String} ORDER BY position", named("view", view)), ", ")
	}
	for world := range enginetest.Worlds(1, 6) {
		seed := firstSeed(t) + uint64(world)
		t.Logf("again with %s=%d", worldSeed, seed)
		s := &randomSales{rand.New(rand.NewPCG(seed, 7)), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), map[string]string{}}
		for run := range enginetest.Sample(6, 30) {
			load(t, w, "transactions", []Scope{Part, Part, Whole}[run%3], s.page(0.5))
			load(t, w, "payouts", Whole, payoutPage(t, w, s.Rand))
			for view, columns := range views {
				conditions := []string{""}
				if run == 5 {
					conditions = append(conditions, " WHERE account = 'acme' AND payout_id = 1")
				}
				for _, of := range conditions {
					rows := func(from string) []string {
						return text(t, w, "SELECT toString(tuple("+columns+")) AS r FROM "+from+of+" ORDER BY r")
					}
					if d := cmp.Diff(rows("reference_"+view), rows(view)); d != "" {
						t.Fatalf("run %d: %s%s differs from what its steps say:\n%s", run, view, of, d)
					}
				}
			}
			for _, verdict := range text(t, w, "SELECT verdict, transactions_late > 0 FROM payout_reconciliation") {
				seen[verdict]++
			}
		}
		must(t, w.exec(t.Context(), "TRUNCATE TABLE payouts_versions"), w.exec(t.Context(), "TRUNCATE TABLE payouts_latest"))
	}
	t.Log(seen)
	for _, verdict := range []string{"drifted 1", "mismatched 1", "missing 1"} {
		if seen[verdict] == 0 {
			t.Errorf("no payout was %s (1: some came late)", verdict)
		}
	}
}
