package payouts

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// history fills the tables as years of syncs would have done. Every sale is first read as pending, then as decided; 98
// % get one of 1,000 payouts, and some change after that. The totals of the payouts are computed from the transactions
// as they were when they got their payout.
const history = `INSERT INTO transactions_versions (account, id, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_name,
    payout_id, synced_at, _hash, _version, _deleted, _run_id)
WITH number AS n, sipHash64(n) AS h, toNullable(toInt64(intDiv(n * 1000, {sales:UInt64}) + 1)) AS payout,
    toDateTime64('2015-01-01 00:00:00', 3, 'UTC') + toIntervalHour(assumeNotNull(payout) * 70) AS made, made - toIntervalDay(91) AS sold,
    multiIf(h % 8 = 0, 'DECLINED', h % 32 = 1, 'PENDING', 'CONFIRMED') AS decided,
    arrayJoin(arrayFilter(v -> v.4, [
        (sold + toIntervalDay(1), 'PENDING', CAST(NULL, 'Nullable(Int64)'), toUInt8(1)),
        (sold + toIntervalDay(30), decided, CAST(NULL, 'Nullable(Int64)'), toUInt8(1)),
        (made + toIntervalSecond(h % 300), decided, payout, h % 50 != 7),
        (made + toIntervalDay(20), 'DECLINED', payout, h % 50 != 7 AND h % 64 = 33)])) AS v
SELECT 'acme', reinterpretAsUUID(sipHash128(n)), sold, v.1, 'EUR', toDecimal64(h % 100000, 4) / 100, toDecimal64(h % 5000, 4) / 100, v.2, 'u-' || toString(h % 10000),
    'Shop ' || toString(h % 200), v.3, v.1, sipHash128(n, v.1), bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(v.1)), 64), toUInt128(n)), 0, generateUUIDv4()
FROM numbers({sales:UInt64})`

const paid = `INSERT INTO payouts_versions (account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions,
    pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, synced_at, _hash, _version, _deleted, _run_id)
SELECT account, payout_id, count(), sum(order_value), toDecimal128(sum(order_value), 10) / count(), sum(cashback),
    countIf(status = 'CONFIRMED'), countIf(status = 'DECLINED'), countIf(status = 'PENDING'),
    sumIf(order_value, status = 'CONFIRMED'), sumIf(order_value, status = 'DECLINED'), sumIf(order_value, status = 'PENDING'),
    sumIf(cashback, status = 'CONFIRMED'), sumIf(cashback, status = 'DECLINED'), sumIf(cashback, status = 'PENDING'),
    min(sold_at), max(sold_at), now64(3), sipHash128(payout_id), 1, 0, generateUUIDv4()
FROM transactions_versions WHERE payout_id IS NOT NULL AND updated_at < sold_at + toIntervalDay(100) GROUP BY account, payout_id`

// Goals for the reconciliation of all payouts and for a statement: time, and by how much the process grows, which is
// more than what the engine takes for the statements.
const (
	reconcileGoal = 5 * time.Second
	growthGoal    = 1024 // MiB
)

// BenchmarkReconcile reconciles 1,000 payouts with their transactions, which have about three versions each, by the
// sums that runs maintain. RECONCILED_SALES is the number of transactions; the goals are for 5 million. peak-MiB is how
// much the process grew.
func BenchmarkReconcile(b *testing.B) {
	sales := cmp.Or(os.Getenv("RECONCILED_SALES"), "50000")
	x := newWorld(b, scripted())
	run := func(query string) {
		b.Helper()
		if err := x.w.Conn().Exec(b.Context(), strings.ReplaceAll(query, "{sales:UInt64}", sales)); err != nil {
			b.Fatal(err)
		}
	}
	run(history)
	run("INSERT INTO transactions_latest SELECT * FROM transactions_versions SETTINGS optimize_on_insert = 1")
	run("OPTIMIZE TABLE transactions_latest FINAL") // as years of merges leave it
	run(paid)
	run("INSERT INTO payouts_latest SELECT * FROM payouts_versions")
	if err := x.w.RebuildDerived(b.Context(),
		warehouse.StreamID{Account: "acme", Stream: catalog.Transactions().Name}); err != nil {
		b.Fatal(err)
	}
	one, month := int64(500), time.Date(2019, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, read := range map[string]func(){
		"one payout": func() {
			all, err := x.w.Payouts(b.Context(), warehouse.PayoutFilter{Account: "acme", Payout: &one})
			if err != nil || len(all) != 1 {
				b.Fatalf("%d payouts, %v", len(all), err)
			}
		},
		"payouts": func() {
			all, err := x.w.Payouts(b.Context(), warehouse.PayoutFilter{})
			if err != nil || len(all) != 1000 || all[0].Verdict != Drifted && all[0].Verdict != Matched {
				b.Fatalf("%d payouts, %v", len(all), err)
			}
		},
		"transactions of one": func() {
			all, err := x.w.PayoutTransactions(b.Context(), warehouse.PayoutFilter{Payout: &one})
			if err != nil || len(all) == 0 {
				b.Fatalf("%d transactions, %v", len(all), err)
			}
		},
		"reconciliation": func() {
			r, err := Reconcile(b.Context(), x.w, Filter{Account: "acme"})
			if err != nil || len(r.Payouts) != 1000 {
				b.Fatalf("%d payouts, %v", len(r.Payouts), err)
			}
		},
		"statement": func() {
			s, err := NewStatement(b.Context(), x.w, "acme", month)
			if err != nil || len(s.Currencies) != 1 || len(s.Currencies[0].Entries) < 3 {
				b.Fatalf("%+v, %v", s, err)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			before := memory(b, "VmRSS:")
			if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
				b.Log("the peak is that since the process began:", err)
			}
			for b.Loop() {
				read()
			}
			b.ReportMetric(float64(memory(b, "VmHWM:")-before)/1024, "peak-MiB")
			if name == "reconciliation" || name == "statement" {
				b.ReportMetric(float64(reconcileGoal.Nanoseconds()), "goal-ns/op")
				b.ReportMetric(growthGoal, "goal-peak-MiB")
			}
		})
	}
}

// memory reads a number, in kilobytes, that Linux reports about this process. On other systems it returns 0.
func memory(b *testing.B, name string) int {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), name)
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes
}
