package warehouse

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// insertRuns writes runs of ten accounts, equally spread over the last three years. One in a hundred fails, and one
// reads the deals that transactions name.
const insertRuns = `INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, server_time, pages, rows_read, unchanged, bytes, warnings, error, version)
SELECT concat('account', toString(modulo(number, 10))), ['transactions', 'transactions', 'transactions', 'coupons', 'promotions', 'payouts'][1 + modulo(intDiv(number, 10), 6)] AS stream, generateUUIDv7(number),
    multiIf(modulo(number, 100) = 1, 'references', stream = 'transactions', if(modulo(intDiv(number, 60), 2000) = 0, 'full', 'incremental'), 'snapshot'),
    toDateTime64(now64(3) - toIntervalSecond(intDiv((%[1]d - number) * 94608000, %[1]d)), 3, 'UTC') AS began,
    %[2]s, if(modulo(number, 100) = 7, 'failed', 'success'), began, 3, 300, 300, 100000, if(modulo(number, 50) = 3, ['fields that this version does not know: a, b, c'], []),
    if(modulo(number, 100) = 7, 'the API answered 503 Service Unavailable again and again for two minutes: try again later', ''), toUnixTimestamp64Micro(toDateTime64(began, 6)) + %[3]d
FROM numbers(%[1]d)`

// fillRuns writes the given number of runs in one part, and some more in small parts, as they are before merges.
func fillRuns(b testing.TB, w *Warehouse, runs int) {
	b.Helper()
	for _, n := range []int{runs, 200, 20, 10} {
		must(b, w.conn.Exec(b.Context(), fmt.Sprintf(insertRuns, n, "began + toIntervalSecond(7)", 7)))
	}
}

// BenchmarkMillionRuns measures what people and the daemon ask repeatedly, after three years.
func BenchmarkMillionRuns(b *testing.B) {
	w := open(b)
	fillRuns(b, w, 1_000_000)
	stream := StreamID{"account3", "transactions"}
	for _, x := range []struct {
		name string
		ask  func(context.Context) error
	}{
		{"standings", func(ctx context.Context) error { _, err := w.Standings(ctx); return err }},
		{"runs", func(ctx context.Context) error { _, err := w.Runs(ctx, RunFilter{}); return err }},
		{"runs-of-each", func(ctx context.Context) error {
			_, err := w.Runs(ctx, RunFilter{PerStream: 30, Limit: 3000, WholeLooks: true, Brief: true})
			return err
		}},
		{"runs-of-one", func(ctx context.Context) error {
			_, err := w.Runs(ctx, RunFilter{Account: stream.Account, Stream: stream.Stream, Limit: 100})
			return err
		}},
		{"guarded", func(ctx context.Context) error { _, err := w.GuardedRuns(ctx); return err }},
		{"openings", func(ctx context.Context) error { _, err := w.Openings(ctx); return err }},
		{"dead", func(ctx context.Context) error {
			return w.markDeadRuns(ctx, stream.Account, stream.Stream, [16]byte{1})
		}},
		{"freshness", func(ctx context.Context) error {
			return w.conn.Exec(ctx,
				"SELECT * FROM stream_freshness FORMAT Null")
		}},
		{"clock", func(ctx context.Context) error { return w.conn.Exec(ctx, "SELECT * FROM service_clock FORMAT Null") }},
	} {
		b.Run(x.name, func(b *testing.B) {
			before := cpu(b)
			for b.Loop() {
				must(b, x.ask(b.Context()))
			}
			b.ReportMetric(float64((cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
		})
	}
}

// BenchmarkRetire measures what it takes to remove what is older than 400 days of a million runs.
func BenchmarkRetire(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := open(b)
		fillRuns(b, w, 1_000_000)
		before := cpu(b)
		b.StartTimer()
		removed, err := w.Retire(b.Context(), Retention{Runs: 400 * 24 * time.Hour})
		must(b, err)
		b.ReportMetric(float64((cpu(b) - before).Milliseconds()), "cpu-ms")
		b.ReportMetric(float64(removed[0].Rows), "removed")
	}
}
