package syncer

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkBackfill reads 200,000 transactions in pages of 500 that take 50 ms each, in windows of a day.
func BenchmarkBackfill(b *testing.B) {
	const transactions = 200_000
	o := transactionsWorld(transactions)
	o.Settings.PageSize, o.Settings.Latency = 500, 50*time.Millisecond
	x := serve(b, o)
	for _, parallel := range []int{1, 8} {
		b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				w := open(b)
				s, err := New(Options{Warehouse: w, Grace: patience})
				if err != nil {
					b.Fatal(err)
				}
				x.ResetLog()
				b.StartTimer()
				record, err := s.Backfill(b.Context(), x.jobs(b, "acme", "transactions")[0], everything(x, 24*time.Hour, parallel))
				if err != nil || record.Changes.Inserted != transactions {
					b.Fatalf("%+v %v", record, err)
				}
				b.ReportMetric(float64(x.Requests("/v1/deals/transactions")), "pages")
				b.ReportMetric(float64(record.Windows), "windows")
			}
			b.ReportMetric(float64(transactions)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// everything returns the range of all transactions of a world.
func everything(x *world, window time.Duration, parallel int) Range {
	now := x.Now()
	return Range{From: now.AddDate(0, 0, -430), To: now.Add(time.Second), Window: window, Parallel: parallel}
}
