package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/enginetest"
)

func TestTypesRoundTrip(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*clickhouse.Options){
		"plain": func(*clickhouse.Options) {},
		"lz4": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
		},
		"zstd": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionZSTD}
		},
		"gzip": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionGZIP}
		},
		"deflate": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionDeflate}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typesRoundTrip(t, change)
		})
	}
}

// everything has one column of each kind that a warehouse uses.
type everything struct {
	ID   uuid.UUID            `ch:"id"`
	D    decimal.Decimal      `ch:"d"`
	T    time.Time            `ch:"t"`
	Day  time.Time            `ch:"day"`
	N    *int64               `ch:"n"`
	S    *string              `ch:"s"`
	Low  string               `ch:"low"`
	Arr  []string             `ch:"arr"`
	Deep [][]int32            `ch:"deep"`
	M    map[string]uint64    `ch:"m"`
	I    int64                `ch:"i"`
	U    uint8                `ch:"u"`
	F    float64              `ch:"f"`
	B    bool                 `ch:"b"`
	DD   []*decimal.Decimal   `ch:"dd"`
	MA   map[string][]float64 `ch:"ma"`
}

func typesRoundTrip(t *testing.T, change func(*clickhouse.Options)) {
	t.Helper()
	db, ctx := connect(t, change), context.Background()
	execute(t, db, `CREATE TABLE e (id UUID, d Decimal(18, 4), t DateTime64(3, 'UTC'), day Date32, n Nullable(Int64), s Nullable(String),
		low LowCardinality(String), arr Array(LowCardinality(String)), deep Array(Array(Int32)), m Map(String, UInt64), i Int64, u UInt8, f Float64, b Bool,
		dd Array(Nullable(Decimal(38, 9))), ma Map(LowCardinality(String), Array(Float64))) ENGINE = MergeTree ORDER BY i`)
	var want []everything
	for i := range 300 {
		d := decimal.New(int64(i)*1234567891, -4)
		e := everything{
			ID: uuid.New(), D: d.Neg(), T: time.UnixMilli(1700000000123 + int64(i)).UTC(),
			Day: time.Date(1969, 7, i%28+1, 0, 0, 0, 0, time.UTC),
			Low: fmt.Sprint("v", i%3), Arr: []string{"a", "", "ö\t'\n\\"}, Deep: [][]int32{{1, int32(-i)}, {}},
			M: map[string]uint64{"k": 1 << 63, "": 0},
			I: int64(i) - 1<<62, U: uint8(i), F: float64(i) / 3, B: i%2 == 0, DD: []*decimal.Decimal{nil, &d},
			MA: map[string][]float64{"x": {1, 2}},
		}
		if i%2 == 0 {
			n, s := int64(-i), "\x00\xff quoted ' \\"
			e.N, e.S = &n, &s
		}
		want = append(want, e)
	}
	b, err := db.PrepareBatch(ctx, "INSERT INTO e")
	must(t, err)
	for i := range want {
		must(t, b.AppendStruct(&want[i]))
	}
	must(t, b.Send())
	var got []everything
	must(t, db.Select(ctx, &got, "SELECT * FROM e ORDER BY i"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got: %s", diff)
	}
	var none []everything
	must(t, db.Select(ctx, &none, "SELECT * FROM e WHERE i = 7"))
	if len(none) != 0 {
		t.Errorf("rows from nothing: %v", none)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	db := connect(t)
	ctx := context.Background()
	execute(t, db, "CREATE TABLE p (a Int64, s String) ENGINE = Memory")
	nasty := "it's \\ a\ttab\nand -- /* {x:Int64} */ \x00 ö"
	must(t, db.Exec(ctx, "INSERT INTO p SELECT {a:Int64}, {s:String}", clickhouse.Named("a", int64(-5)),
		clickhouse.Named("s", nasty)))
	var a int64
	var s string
	must(t, db.QueryRow(ctx, "SELECT a, s FROM {t:Identifier} WHERE s = {s:String} AND a IN {l:Array(Int64)}",
		clickhouse.Named("t", "p"), clickhouse.Named("s", nasty), clickhouse.Named("l", []int64{-5})).Scan(&a, &s))
	if a != -5 || s != nasty {
		t.Errorf("got %d %q", a, s)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	// One connection, so that the next request would show what one has left behind.
	db := connect(t, func(o *clickhouse.Options) { o.MaxOpenConns, o.MaxIdleConns = 1, 1 })
	ctx := context.Background()
	with := func(s clickhouse.Settings) context.Context {
		return clickhouse.Context(ctx, clickhouse.WithSettings(s))
	}
	const ask = "SELECT concat(toString(getSetting('max_block_size')), ' ', toString(getSetting('join_use_nulls')), ' ', getSetting('log_comment'))"
	for _, c := range []struct {
		settings clickhouse.Settings
		want     string
	}{
		{nil, "65409 false "},
		{clickhouse.Settings{"max_block_size": 11, "log_comment": `it's \ x`}, `11 false it's \ x`},
		{clickhouse.Settings{"max_block_size": 12, "join_use_nulls": 1}, "12 true "},
		{nil, "65409 false "},
	} {
		var got string
		must(t, db.QueryRow(with(c.settings), ask).Scan(&got))
		if got != c.want {
			t.Errorf("with %v: got %q, want %q", c.settings, got, c.want)
		}
	}
	err := db.Exec(with(clickhouse.Settings{"no_such_setting": 1}), "SELECT 1")
	wantCode(t, err, exception.UnknownSetting)
	err = db.Exec(with(clickhouse.Settings{"a b": 1}), "SELECT 1")
	wantCode(t, err, exception.UnknownSetting)
	// Nothing outlives its request (chdb-3).
	execute(t, db, "SET max_block_size = 77")
	execute(t, db, "USE system")
	execute(t, db, "CREATE TEMPORARY TABLE tmp (x Int8)")
	var got string
	must(t, db.QueryRow(ctx, ask).Scan(&got))
	if got != "65409 false " {
		t.Errorf("a setting survived: %q", got)
	}
	if got := cell(t, db, "SELECT currentDatabase()"); got != "t"+hexName(t) {
		t.Errorf("the database is %s", got)
	}
	wantCode(t, db.Exec(ctx, "SELECT * FROM tmp"), 60)
}

func wantCode(t testing.TB, err error, code int32) {
	t.Helper()
	var ex *clickhouse.Exception
	if !errors.As(err, &ex) || ex.Code != code {
		t.Errorf("got %v, want an exception with code %d", err, code)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	db := connect(t)
	ctx := context.Background()
	for sql, code := range map[string]int32{
		"SELECT * FROM nowhere":                   60,
		"SELECT (":                                62,
		"":                                        62,
		"SELECT 1; SELECT 2":                      62,
		"SELECT 1; DROP TABLE x (":                62,
		"SELECT 1 SETTINGS no_such_setting = 1":   115,
		"INSERT INTO nowhere VALUES (1)":          60,
		"SELECT throwIf(1)":                       395,
		"CREATE TABLE x (a Nope) ENGINE = Memory": 50,
		"SELECT * FROM url('http://127.0.0.1:1')": 497,
		"SYSTEM SHUTDOWN":                         497,
	} {
		t.Run(sql, func(t *testing.T) { wantCode(t, db.Exec(ctx, sql), code) })
	}
	missing, err := clickhouse.Open(shared.ClickHouseOptions("no_such_database"))
	must(t, err)
	defer func() { _ = missing.Close() }()
	wantCode(t, missing.Exec(ctx, "SELECT 1"), 81)
	// After the result has begun, the rows return the error, with its type.
	rows, err := db.Query(ctx, "SELECT throwIf(number = 3000000) FROM numbers(4000000) SETTINGS max_block_size = 10000")
	must(t, err)
	n := 0
	for rows.Next() {
		n++
	}
	wantCode(t, rows.Err(), 395)
	if n == 0 || n > 3000000 {
		t.Errorf("%d rows before the error", n)
	}
}

func TestLargeResultStreams(t *testing.T) {
	enginetest.Long(t)
	db := connect(t)
	total := uint64(enginetest.Sample(1_500_000, 3_000_000))
	rows, err := db.Query(context.Background(),
		fmt.Sprintf("SELECT number, randomPrintableASCII(90) FROM numbers(%d)", total))
	must(t, err)
	defer rows.Close()
	var before, peak runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, most := uint64(0), uint64(0)
	for rows.Next() {
		var i uint64
		var s string
		must(t, rows.Scan(&i, &s))
		if i != n || len(s) != 90 {
			t.Fatalf("row %d is %d %q", n, i, s)
		}
		if n++; n%200000 == 0 {
			runtime.ReadMemStats(&peak)
			most = max(most, peak.HeapAlloc)
		}
	}
	must(t, rows.Err())
	if n != total {
		t.Errorf("%d rows", n)
	}
	// 150 MB or more were read, but the heap holds only a few blocks and garbage.
	if limit := before.HeapAlloc + 120<<20; most > limit {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, most)
	}
}

// roundTrip sends one request to the shared engine.
func roundTrip(ctx context.Context, t testing.TB, sql string, body io.Reader, v url.Values) *http.Response {
	t.Helper()
	if body == nil {
		body = strings.NewReader(sql)
	} else {
		v.Set("query", sql)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://embedded/?"+v.Encode(), body)
	must(t, err)
	resp, err := shared.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return resp
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestManyAtOnce(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	db := connect(t)
	ctx := context.Background()
	execute(t, db, "CREATE TABLE m (w UInt32, i UInt32) ENGINE = MergeTree ORDER BY (w, i)")
	var wg sync.WaitGroup
	const workers, batches, size = 12, 5, 1000
	for w := range uint32(workers) {
		wg.Go(func() {
			for n := range uint32(batches) {
				b, err := db.PrepareBatch(ctx, "INSERT INTO m (w, i)")
				if err != nil {
					t.Error(err)
					return
				}
				for i := range uint32(size) {
					if err := b.Append(w, n*size+i); err != nil {
						t.Error(err)
					}
				}
				if err := b.Send(); err != nil {
					t.Error(err)
				}
				// A client sees its own writes at once.
				var c, d uint64
				q := clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_threads": n%3 + 1}))
				if err := db.QueryRow(q, "SELECT count(), uniqExact(i) FROM m WHERE w = {w:UInt32}",
					clickhouse.Named("w", w)).Scan(&c, &d); err != nil {
					t.Error(err)
				}
				if want := uint64(n+1) * size; c != want || d != want {
					t.Errorf("worker %d sees %d rows, %d different, after %d", w, c, d, want)
				}
			}
		})
	}
	wg.Wait()
	if got := cell(t, db, "SELECT count() FROM m"); got != fmt.Sprint(workers*batches*size) {
		t.Errorf("%s rows", got)
	}
}
