package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// wholeFormats is the environment variable with which the tests of broken results use every format, and not just a few.
const wholeFormats = "CHDB_MATRIX"

// secretOfA is a text that only client A may ever see.
const secretOfA = "secret_of_A"

// apart returns a handle on the shared engine that has its own pools, with conns connections each.
func apart(t testing.TB, conns int) *house {
	t.Helper()
	e, end := shared.Apart(conns)
	t.Cleanup(end)
	return &house{e}
}

// outputFormats returns the formats that the engine can write: all of them, or by default one of each kind.
func outputFormats(t testing.TB) []string {
	t.Helper()
	resp := roundTrip(context.Background(), t, "SELECT name FROM system.formats WHERE is_output ORDER BY name", nil, nil)
	defer resp.Body.Close()
	var all []string
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		all = append(all, sc.Text())
	}
	if len(all) < 80 {
		t.Fatalf("the engine lists only %d formats", len(all))
	}
	if os.Getenv(wholeFormats) != "" {
		return all
	}
	kinds := []string{
		"ArrowStream", "Avro", "CSVWithNames", "JSON", "JSONEachRow", "MySQLWire", "Native", "PNG", "Parquet",
		"PrettyCompact", "RawBLOB",
		"RowBinaryWithNamesAndTypes", "Template", "XML",
	}
	return slices.DeleteFunc(all, func(f string) bool { return !slices.Contains(kinds, f) })
}

// breaks are the ways in which a result breaks off. Each result has A's secret in its rows and in the name of a column.
var breaks = []struct {
	name   string
	sql    string
	v      url.Values
	leaves bool // A disconnects when the result has begun
}{
	{"a late error", rowsOfA("5000", "throwIf(number = 4000, 'boom') AS x"), url.Values{"max_block_size": {"50"}}, false},
	{"an error at once", rowsOfA("5000", "throwIf(number = 0, 'boom') AS x"), url.Values{"max_block_size": {"50"}}, false},
	{"an error in the last block", rowsOfA("5000", "throwIf(number = 4999, 'boom') AS x"),
		url.Values{"max_block_size": {"50"}}, false},
	{"too many rows", rowsOfA("5000", "1 AS x"), url.Values{"max_block_size": {"50"}, "max_result_rows": {"700"}}, false},
	{"too many rows, cut", rowsOfA("5000", "1 AS x"),
		url.Values{"max_block_size": {"50"}, "max_result_rows": {"700"}, "result_overflow_mode": {"break"}}, false},
	{"too many bytes", rowsOfA("50000", "1 AS x"), url.Values{"max_block_size": {"50"}, "max_result_bytes": {"40000"}},
		false},
	{"the door's cap", rowsOfA("400000", "1 AS x"), url.Values{"max_block_size": {"65536"}}, false},
	{"too long", rowsOfA("100000", "sleepEachRow(0.001) AS x"),
		url.Values{"max_block_size": {"5"}, "max_execution_time": {"0.03"}}, false},
	{"too long, cut", rowsOfA("100000", "sleepEachRow(0.001) AS x"),
		url.Values{"max_block_size": {"5"}, "max_execution_time": {"0.03"}, "timeout_overflow_mode": {"break"}}, false},
	{"A goes away", rowsOfA("100000", "sleepEachRow(0.001) AS x"), url.Values{"max_block_size": {"5"}}, true},
}

func rowsOfA(rows, last string) string {
	return "SELECT number, concat('" + secretOfA + "', toString(number)) AS " + secretOfA + ", " + last +
		" FROM numbers(" + rows + ")"
}

// queryOfB has one value as its answer, which no other query here has.
const queryOfB = "SELECT 4711 AS mine"

// sameSettings returns A's settings, and one that keeps times out of the answers. B needs the same settings to get A's
// connection just as A left it.
func sameSettings(v url.Values) url.Values {
	v = maps.Clone(v)
	if v == nil {
		v = url.Values{}
	}
	v.Set("output_format_write_statistics", "0")
	return v
}

// answered is a response of the door.
type answered struct {
	Status int
	Body   []byte
}

func askIn(ctx context.Context, address, format, sql string, v url.Values) (answered, error) {
	u := url.Values{"default_format": {format}}
	for k := range v {
		u[k] = v[k]
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/?"+u.Encode(), strings.NewReader(sql))
	if err != nil {
		return answered{}, err
	}
	resp, err := plain.Do(req)
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answered{resp.StatusCode, body}, err
}

// childAnswers reads formats and prints, for each, what a fresh engine answers to B.
func childAnswers() error {
	fresh := map[string]answered{}
	e, err := openChild()
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	srv := httptest.NewServer(e.Handler(contract.HandlerOptions{MaxWait: patience}))
	defer srv.Close()
	for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {
		if fresh[sc.Text()], err = askIn(context.Background(), srv.URL, sc.Text(), queryOfB, sameSettings(nil)); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(fresh)
}

// freshAnswers returns B's answers from an engine in another process.
func freshAnswers(t *testing.T, formats []string) map[string]answered {
	t.Helper()
	cmd := child(t, "answers", childDir+"="+t.TempDir())
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(formats, "\n")), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var fresh map[string]answered
	must(t, json.Unmarshal(out, &fresh))
	return fresh
}

// accidents matches texts that differ even between two equal answers.
var accidents = regexp.MustCompile(`"elapsed_ns":"\d+"`)

// lasting returns an answer without the parts that differ each time: Avro's mark between blocks, and times.
func lasting(format string, body []byte) []byte {
	if strings.HasPrefix(format, "Avro") && len(body) > 16 {
		body = bytes.ReplaceAll(body, body[len(body)-16:], nil)
	}
	return accidents.ReplaceAll(body, nil)
}

// TestCleanConnections breaks off results of client A, in every format and in every way, and checks what client B is
// then answered on the same connection (chdb-2). For wide samples, and for all formats: TestCleanTransport has fewer.
func TestCleanConnections(t *testing.T) {
	if os.Getenv(wholeFormats) == "" {
		enginetest.OnlyWide(t)
	}
	t.Parallel()
	formats := outputFormats(t)
	fresh := freshAnswers(t, formats)
	work := make(chan string)
	var wg sync.WaitGroup
	for range 4 {
		e := apart(t, 1)
		srv := httptest.NewServer(e.Handler(contract.HandlerOptions{MaxBufferedBytes: 1 << 20, MaxWait: patience}))
		t.Cleanup(srv.Close)
		wg.Go(func() {
			for format := range work {
				for _, way := range breaks {
					v := sameSettings(way.v)
					for _, second := range []string{format, "JSON"} {
						breakOff(t, srv.URL, format, way.sql, v, way.leaves)
						want := fresh[second]
						right := func(a answered) bool {
							return a.Status == want.Status && bytes.Equal(lasting(second, a.Body), lasting(second, want.Body))
						}
						got, err := askIn(context.Background(), srv.URL, second, queryOfB, v)
						// B has A's limit of 30 ms too. For as long as only this limit has ended its
						// own query, B asks again.
						for begin := time.Now(); time.Since(begin) < patience; {
							late := bytes.Contains(got.Body, []byte("TIMEOUT_EXCEEDED")) ||
								v.Get("max_execution_time") != "" && err != nil || // an answer that has begun is broken off
								v.Get("timeout_overflow_mode") == "break" && !right(got)
							if !late || bytes.Contains(got.Body, []byte(secretOfA)) {
								break
							}
							got, err = askIn(context.Background(), srv.URL, second, queryOfB, v)
						}
						if err != nil || !right(got) {
							t.Errorf("%s, %s, then %s: %v\ngot  %d %.300q\nwant %d %.300q", format, way.name, second, err, got.Status,
								got.Body, want.Status, want.Body)
						}
						if broken := bytes.Contains(got.Body, []byte(secretOfA)); broken {
							t.Errorf("%s, %s, then %s: B sees what is A's", format, way.name, second)
						}
					}
				}
			}
		})
	}
	for _, f := range formats {
		work <- f
	}
	close(work)
	wg.Wait()
}

// breakOff sends A's query and makes its result break off.
func breakOff(t *testing.T, address, format, sql string, v url.Values, leaves bool) {
	t.Helper()
	sql += " -- " + address // to tell it from the queries of other tests
	if !leaves {
		// Whether A sees an error depends on the format. It does not matter here.
		_, _ = askIn(context.Background(), address, format, sql, v)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = askIn(ctx, address, format, sql, v)
	}()
	begun := "SELECT count() FROM system.processes WHERE endsWith(query, {q:String}) AND read_rows > 10"
	if format == "Template" || strings.HasPrefix(format, "Protobuf") || format == "CapnProto" {
		begun = "SELECT 1" // they need a schema, and fail
	}
	// By the end of this loop, the query has mostly begun. If not, A disconnects before that,
	// which must do no harm either.
	for begin := time.Now(); time.Since(begin) < 500*time.Millisecond; runtime.Gosched() {
		select {
		case <-ended:
		default:
			resp := roundTrip(context.Background(), t, begun, nil, url.Values{"param_q": {conn.EscapeParam(sql)}})
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || string(b) == "0\n" {
				continue
			}
		}
		break
	}
	cancel()
	<-ended
}

// TestCleanTransport shows that the program itself, whose queries use the same pools, never sees what a client's broken
// result left behind: neither with a reader's rights nor as a writer.
func TestCleanTransport(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	e := apart(t, 1)
	srv := httptest.NewServer(e.Handler(contract.HandlerOptions{AllowWrites: true, MaxBufferedBytes: 1 << 20,
		MaxWait: patience}))
	t.Cleanup(srv.Close)
	formats := []string{"JSON", "Parquet", "RowBinaryWithNamesAndTypes"}
	if os.Getenv(wholeFormats) == "" {
		formats = formats[:1]
	}
	for name, o := range map[string]*clickhouse.Options{"read-only": e.ReadOnlyOptions(""),
		"writer": e.ClickHouseOptions("")} {
		db, err := clickhouse.Open(o)
		must(t, err)
		defer func() { _ = db.Close() }()
		for _, way := range breaks {
			settings, v := clickhouse.Settings{}, maps.Clone(way.v)
			for k := range way.v {
				settings[k] = way.v.Get(k)
			}
			if way.v.Get("max_result_bytes") == "" {
				settings["max_result_bytes"] = strconv.Itoa(1 << 20) // as the door sets it for A
			}
			if name == "read-only" {
				v.Set("readonly", "2") // the same pool
			}
			ctx := clickhouse.Context(context.Background(), clickhouse.WithSettings(settings))
			for _, format := range formats {
				// The result of the first is streamed, the others are buffered.
				for sql, want := range map[string]string{"SELECT 'mine'": "mine", "SHOW DATABASES LIKE 'system'": "system",
					"DESCRIBE system.one": "dummy"} {
					breakOff(t, srv.URL, format, way.sql, v, way.leaves)
					got, err := firstColumn(ctx, db, sql)
					for begin := time.Now(); time.Since(begin) < patience; { // this query has the limit of 30 ms too
						e, ok := errors.AsType[*clickhouse.Exception](err)
						cut := way.v.Get("timeout_overflow_mode") == "break" && err == nil && len(got) == 0
						if !cut && (!ok || e.Code != 159) {
							break
						}
						got, err = firstColumn(ctx, db, sql)
					}
					if err != nil || !slices.Equal(got, []string{want}) {
						t.Errorf("%s, %s, %s: %s: %q, %v", name, format, way.name, sql, got, err)
					}
				}
			}
		}
	}
}

// firstColumn returns the first value of each row, which must be a text.
func firstColumn(ctx context.Context, db clickhouse.Conn, sql string) (values []string, err error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	into := make([]any, len(rows.Columns()))
	for i := range into {
		into[i] = new(string)
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		values = append(values, *into[0].(*string))
	}
	return values, rows.Err()
}
