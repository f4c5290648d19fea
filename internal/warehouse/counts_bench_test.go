package warehouse

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// countedSales is the number of sales that are loaded; COUNTED_SALES in the environment sets it, to a multiple of 1000.
func countedSales(b *testing.B) uint64 {
	b.Helper()
	text := os.Getenv("COUNTED_SALES")
	if text == "" {
		return 200_000
	}
	n, err := strconv.ParseUint(text, 10, 64)
	must(b, err)
	return n
}

// cpu returns the processor time that the process has used, the embedded engine included.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkCounts publishes a first load of transactions, and measures how much of that time goes into counting: the
// keys of what is prepared, and the parts of what is attached.
func BenchmarkCounts(b *testing.B) {
	sales := countedSales(b)
	for b.Loop() {
		w := open(b)
		r := begin(b, w, "transactions")
		pages := make([]string, sales/1000)
		for page := range pages {
			rows := make([]string, 1000)
			for i := range rows {
				rows[i] = saleAt(fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", page*1000+i),
					fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+i%28), "PENDING", "2026-02-01T00:00:00Z")
			}
			pages[page] = "[" + strings.Join(rows, ",") + "]"
		}
		stage(b, w, r, pages...)
		l, err := w.Acquire(b.Context(), r)
		must(b, err)
		x := w.Writer(r)
		spent := map[string]time.Duration{}
		measure := func(name string, do func() error) {
			before, start := cpu(b), time.Now()
			must(b, do())
			spent[name+"-cpu-ms"] += cpu(b) - before
			spent[name+"-ms"] += time.Since(start)
		}
		var c Changes
		var prepared Prepared
		measure("plan", func() (err error) { c, err = x.Plan(b.Context(), Part, staged(b, w, r)); return err })
		measure("prepare", func() error { return x.prepare(b.Context(), c, r.StartedAt) })
		measure("count-keys", func() (err error) { prepared, err = x.countPrepared(b.Context(), c); return err })
		in := Intent{RunID: r.ID, MergedAt: r.StartedAt, Prepared: prepared, Derived: derivedNames(r.Stream),
			Record: RunRecord{Account: "acme", Stream: "transactions", RunID: r.ID, StartedAt: r.StartedAt,
				Outcome: OutcomeSuccess, Changes: c}}
		p := publication{Writer: x, lease: l, intent: in}
		measure("count-parts", func() error { _, err := p.countTargets(b.Context(), p.targets()); return err })
		measure("publish", func() error { return x.Publish(b.Context(), l, in) })
		for name, d := range spent {
			b.ReportMetric(float64(d.Milliseconds()), name)
		}
		must(b, l.Release(b.Context()))
	}
}
