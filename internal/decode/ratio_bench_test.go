//go:build linux

package decode

import (
	"runtime"
	"testing"
	"time"

	"github.com/go-faster/jx"
	"golang.org/x/sys/unix"
)

// BenchmarkAgainstScan reports the CPU time of decoding a page, as a multiple of that of a bare scan of the
// page by jx. Both sides take turns, and the best turn of each counts, because other programs on the machine
// slow down some of the turns.
func BenchmarkAgainstScan(b *testing.B) {
	b.Run("transactions", func(b *testing.B) { againstScan(b, "transactions", transactionsPage(1000), 1000) })
	b.Run("products", func(b *testing.B) { againstScan(b, "products", productsPage(200), 200) })
}

func againstScan(b *testing.B, of string, page []byte, rows int) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, batch := New(stream(b, of)), NewBatch(stream(b, of))
	decode, scan := time.Hour, time.Hour
	for b.Loop() {
		for range 20 { // turns
			if batch.Len() >= 50*rows {
				batch.Reset()
			}
			begin := threadTime(b)
			if err := d.Page(batch, page, 1, 1); err != nil {
				b.Fatal(err)
			}
			decoded := threadTime(b)
			if err := jx.DecodeBytes(page).Skip(); err != nil {
				b.Fatal(err)
			}
			decode, scan = min(decode, decoded-begin), min(scan, threadTime(b)-decoded)
		}
	}
	b.ReportMetric(float64(decode.Nanoseconds())/float64(rows), "decode-ns/row")
	b.ReportMetric(float64(scan.Nanoseconds())/float64(rows), "scan-ns/row")
	b.ReportMetric(float64(decode)/float64(scan), "times-scan")
	b.ReportMetric(1.2, "goal-times-scan")
}

// threadTime returns the CPU time of the calling thread.
func threadTime(b *testing.B) time.Duration {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
