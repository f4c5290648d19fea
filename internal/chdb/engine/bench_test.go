package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/chdb/door"
)

// BenchmarkInsert sends batches of 20 columns through clickhouse-go; ns/row is the result.
func BenchmarkInsert(b *testing.B) {
	for _, size := range []int{10000, 100000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			db := connect(b)
			execute(b, db, `CREATE TABLE b (id1 UUID, id2 UUID, id3 UUID, m1 Int64, m2 Int64, t1 Int64, t2 Int64, t3 Int64, t4 Int64,
				s1 String, s2 String, s3 String, s4 String, s5 String, s6 String, l1 LowCardinality(String), l2 LowCardinality(String),
				n1 UInt32, n2 UInt32, n3 Float64) ENGINE = MergeTree ORDER BY id1`)
			columns := benchColumns(size)
			b.ResetTimer()
			for b.Loop() {
				batch, err := db.PrepareBatch(context.Background(), "INSERT INTO b")
				must(b, err)
				for i, c := range columns {
					must(b, batch.Column(i).Append(c))
				}
				must(b, batch.Send())
			}
			report(b, size)
		})
	}
}

func benchColumns(n int) []any {
	ids, ints, words, codes := make([]uuid.UUID, n), make([]int64, n), make([]string, n), make([]string, n)
	small, floats := make([]uint32, n), make([]float64, n)
	for i := range n {
		ids[i], ints[i], words[i] = uuid.New(), int64(i)*1_000_003, "some text number "+strconv.Itoa(i)
		codes[i], small[i], floats[i] = []string{"EUR", "USD", "PLN"}[i%3], uint32(i), float64(i)/7
	}
	return []any{ids, ids, ids, ints, ints, ints, ints, ints, ints, words, words, words, words, words, words, codes, codes,
		small, small, floats}
}

// BenchmarkSelect reads a table of 1,000,000 rows through clickhouse-go.
func BenchmarkSelect(b *testing.B) {
	const n = 1_000_000
	db := connect(b)
	execute(b, db, "CREATE TABLE b (id UInt64, s String) ENGINE = MergeTree ORDER BY id")
	execute(b, db, "INSERT INTO b SELECT number, 'text number ' || toString(number) FROM numbers("+strconv.Itoa(n)+")")
	b.ResetTimer()
	for b.Loop() {
		rows, err := db.Query(context.Background(), "SELECT id, s FROM b")
		must(b, err)
		if got := drain(b, rows); got != n {
			b.Fatalf("%d rows", got)
		}
	}
	report(b, n)
}

func drain(b *testing.B, rows driver.Rows) (n int) {
	defer rows.Close()
	for rows.Next() {
		var id uint64
		var s string
		must(b, rows.Scan(&id, &s))
		n++
	}
	must(b, rows.Err())
	return n
}

// BenchmarkRoundTripBytes measures only the transport: it reads the bytes of a result without decoding them.
func BenchmarkRoundTripBytes(b *testing.B) {
	for b.Loop() {
		resp := roundTrip(context.Background(), b, "SELECT number FROM numbers(10000000)", nil,
			url.Values{"default_format": {"Native"}})
		n, err := io.Copy(io.Discard, resp.Body)
		must(b, err)
		b.SetBytes(n)
		_ = resp.Body.Close()
	}
}

// BenchmarkSmallQuery measures the latency of a query that does nothing.
func BenchmarkSmallQuery(b *testing.B) {
	db := connect(b)
	for b.Loop() {
		var n uint8
		must(b, db.QueryRow(context.Background(), "SELECT 1").Scan(&n))
	}
}

// BenchmarkGuard compares the read-only door with one that judges nothing, in turns: for a large result, for a small
// query that is the same each time, and for small queries that differ. It reports the ratio of the two times, and how
// much longer a query takes with the guard.
func BenchmarkGuard(b *testing.B) {
	for name, sql := range map[string]string{
		"large": "SELECT number, toString(number) AS s FROM numbers(2000000)",
		"same":  "SELECT number %% 7 AS k, count(), sum(number) FROM numbers(100000) GROUP BY k ORDER BY k",
		"new":   "SELECT number %% 7 AS k, count(), sum(number) FROM numbers(100000) WHERE number != %d GROUP BY k ORDER BY k",
	} {
		b.Run(name, func(b *testing.B) {
			doors := []http.RoundTripper{shared, &door.Transport{Engine: shared.Engine, ReadOnly: true}}
			var took [2]time.Duration
			for n := 0; b.Loop(); n++ {
				text := strings.ReplaceAll(sql, "%%", "%")
				if name == "new" {
					text = fmt.Sprintf(sql, n)
				}
				for i := range doors {
					i = (i + n) % len(doors) // neither is always first
					begin := time.Now()
					req, err := http.NewRequest(http.MethodPost, "http://embedded/?default_format=Native", strings.NewReader(text))
					must(b, err)
					resp, err := doors[i].RoundTrip(req)
					must(b, err)
					read, err := io.Copy(io.Discard, resp.Body)
					must(b, err)
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusOK || read == 0 {
						b.Fatalf("%d, %d bytes", resp.StatusCode, read)
					}
					took[i] += time.Since(begin)
				}
			}
			b.ReportMetric(float64(took[1])/float64(took[0]), "guarded/open")
			b.ReportMetric(float64((took[1]-took[0]).Microseconds())/1000/float64(b.N), "ms-more")
		})
	}
}

func report(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed()/time.Nanosecond)/float64(b.N*rows), "ns/row")
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
}
