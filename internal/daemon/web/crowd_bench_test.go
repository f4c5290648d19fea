package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/catalog"
)

// BenchmarkCrowd loads the pages of 50 accounts and 300 streams when all kept answers are stale, as for somebody who
// looks once a minute, with the runs of half an hour and with those of weeks. It reports the size of the pages and the
// CPU time that they take, including the engine's. Wall-clock time would say little on a machine with other work.
func BenchmarkCrowd(b *testing.B) {
	for _, runs := range []int{9_000, 300_000} {
		x := crowd(b, 50)
		if more := runs - 9_000; more > 0 {
			err := x.w.Conn().Exec(b.Context(), fmt.Sprintf(`INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, rows_read, version)
SELECT 'account-' || leftPad(toString(number %% 50), 2, '0'), splitByChar(',', '%s')[intDiv(number, 50) %% 6 + 1], generateUUIDv7(), 'snapshot',
    now64(3) - toIntervalMinute(60) - toIntervalSecond(intDiv(number, 300) * 300) AS began, began + toIntervalSecond(2), 'success', 1000 + number %% 77, 1
FROM numbers(%d)`, strings.Join(catalog.Names(), ","), more))
			if err != nil {
				b.Fatal(err)
			}
		}
		site := x.serve(b, nil)
		for _, path := range []string{"/", "/timeline", "/api/v1/status"} {
			b.Run(fmt.Sprintf("%d runs%s", runs, path), func(b *testing.B) {
				size, began := 0, cpuTime(b)
				for b.Loop() {
					x.pass(time.Minute)
					answer, err := http.Get(site.base + path)
					if err != nil {
						b.Fatal(err)
					}
					body, err := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					if size = len(body); err != nil || answer.StatusCode != http.StatusOK {
						b.Fatal(answer.Status, err)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
				b.ReportMetric(300, "goal-cpu-ms/op")
				b.ReportMetric(float64(size), "B/page")
			})
		}
	}
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
