package syncer

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkBackfill reads 200,000 transactions in pages of 500 that take 50 ms each: as one list, in windows of a
// day, and in windows that fit what they hold.
func BenchmarkBackfill(b *testing.B) {
	const transactions = 200_000
	o := transactionsWorld(transactions)
	o.Settings.PageSize, o.Settings.Latency = 500, 50*time.Millisecond
	x := serve(b, o)
	for _, c := range []struct {
		name     string
		window   time.Duration
		parallel int
	}{
		{"list", 0, 0}, {"day/parallel=1", 24 * time.Hour, 1}, {"day/parallel=8", 24 * time.Hour, 8},
		{"auto/parallel=1", 0, 1}, {"auto/parallel=8", 0, 8},
	} {
		b.Run(c.name, func(b *testing.B) {
			var cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				w := open(b)
				s, err := New(Options{Warehouse: w, Grace: patience})
				if err != nil {
					b.Fatal(err)
				}
				x.ResetLog()
				job := x.jobs(b, "acme", "transactions")[0]
				before := cpuTime(b)
				b.StartTimer()
				var inserted uint64
				if c.parallel == 0 {
					record, e := s.Run(b.Context(), job)
					inserted, err = record.Changes.Inserted, e
				} else {
					record, e := s.Backfill(b.Context(), job, everything(x, c.window, c.parallel))
					inserted, err = record.Changes.Inserted, e
				}
				if err != nil || inserted != transactions {
					b.Fatalf("%d %v", inserted, err)
				}
				cpu += cpuTime(b) - before
				b.ReportMetric(float64(x.Requests("/v1/deals/transactions")), "pages")
			}
			b.ReportMetric(float64(transactions)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// cpuTime is what this process has used, the engine and the simulator with it.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// everything returns the range of all transactions of a world.
func everything(x *world, window time.Duration, parallel int) Range {
	now := x.Now()
	return Range{From: now.AddDate(0, 0, -430), To: now.Add(time.Second), Window: window, Parallel: parallel}
}
