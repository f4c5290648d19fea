package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/enginetest"
)

func TestCloseBodyEarly(t *testing.T) {
	t.Parallel()
	for range 3 {
		for range shared.Writers() + 2 {
			resp := roundTrip(context.Background(), t, "SELECT number FROM system.numbers", nil,
				url.Values{"default_format": {"TSV"}})
			b := make([]byte, 4)
			_, err := io.ReadFull(resp.Body, b)
			must(t, err)
			if string(b) != "0\n1\n" {
				t.Errorf("got %q", b)
			}
			must(t, resp.Body.Close())
			must(t, resp.Body.Close())
			if _, err := resp.Body.Read(b); err == nil {
				t.Error("read after close")
			}
		}
	}
	if got := cell(t, connect(t), "SELECT sum(number) FROM numbers(1000)"); got != "499500" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	db := connect(t)
	execute(t, db, "CREATE TABLE c (a UInt64) ENGINE = MergeTree ORDER BY a")
	for _, sql := range []string{
		"SELECT sum(sipHash64(number)) FROM numbers(1000000000000)",             // before the first row
		"INSERT INTO c SELECT sipHash64(number) % 2 FROM numbers(100000000000)", // not a stream
		"SELECT count() FROM numbers(100000000000) AS a JOIN numbers(10) AS b ON a.number % 10 = b.number",
	} {
		t.Run(sql, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- db.Exec(ctx, sql) }()
			waitRunning(t, sql)
			cancel()
			select { // without the cancellation it would take hours
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp := roundTrip(ctx, t, "SELECT number FROM system.numbers", nil, url.Values{"default_format": {"TSV"}})
	defer resp.Body.Close()
	_, err := io.ReadFull(resp.Body, make([]byte, 4))
	must(t, err)
	cancel()
	if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("in the middle of a result: got %v", err)
	}
	// A deadline ends a request too, wherever it is at that moment.
	short, cancelShort := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancelShort()
	req, err := http.NewRequestWithContext(short, http.MethodPost, "http://embedded/",
		strings.NewReader("SELECT number FROM system.numbers FORMAT TSV"))
	must(t, err)
	late, err := shared.RoundTrip(req)
	if err == nil {
		_, err = io.Copy(io.Discard, late.Body)
		must(t, late.Body.Close())
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its time: got %v", err)
	}
	// The pool is complete: as many queries as it has connections run at once.
	var wg sync.WaitGroup
	for range shared.Writers() {
		wg.Go(func() {
			if got := cell(t, db, "SELECT count() FROM numbers(1000)"); got != "1000" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
	wg.Wait()
}

// waitRunning waits until the engine lists the query.
func waitRunning(t testing.TB, sql string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; runtime.Gosched() {
		resp := roundTrip(context.Background(), t,
			"SELECT count() FROM system.processes WHERE endsWith(query, {q:String}) AND elapsed > 0.01",
			nil, url.Values{"param_q": {conn.EscapeParam(sql)}})
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		_ = resp.Body.Close()
		if string(b) == "1\n" {
			return
		}
	}
	t.Fatalf("%s never ran", sql)
}

func TestInsertThatBreaksOff(t *testing.T) {
	t.Parallel()
	db := connect(t)
	execute(t, db, "CREATE TABLE i (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
	database := url.Values{"database": {"t" + hexName(t)}}
	rows := bytes.Repeat([]byte("1\tsome text that takes up some space\n"), 200000)
	broken := errors.New("the source broke off")

	// A body that fails, at once or after several chunks, inserts nothing (chdb-5).
	for _, n := range []int{0, 10, len(rows)} {
		for _, failure := range []error{broken, io.ErrUnexpectedEOF} {
			req, err := http.NewRequest(http.MethodPost, "http://embedded/?query=INSERT+INTO+i+FORMAT+TSV&"+database.Encode(),
				io.MultiReader(bytes.NewReader(rows[:n]), failingReader{failure}))
			must(t, err)
			if resp, err := shared.RoundTrip(req); !errors.Is(err, failure) {
				t.Errorf("after %d bytes: got %v %v", n, resp, err)
			}
		}
	}
	// A body that the engine cannot read, near its end.
	resp := roundTrip(context.Background(), t, "INSERT INTO i FORMAT TSV",
		io.MultiReader(bytes.NewReader(rows[:1000]), strings.NewReader("x\ty\n")), database)
	if resp.StatusCode == http.StatusOK || resp.Header.Get("X-ClickHouse-Exception-Code") == "" {
		t.Errorf("bad data: got %v", resp.Status)
	}
	// An insert that is cancelled while it waits for its data.
	ctx, cancel := context.WithCancel(context.Background())
	pr, pw := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://embedded/?query=INSERT+INTO+i+FORMAT+TSV&"+database.Encode(), pr)
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := shared.RoundTrip(req)
		done <- err
	}()
	_, err = pw.Write(rows)
	must(t, err)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	if got := cell(t, db, "SELECT count() FROM i"); got != "0" {
		t.Errorf("%s rows were inserted", got)
	}
	// An empty insert is fine, and so is the next one.
	for _, data := range []string{"", "1\ta\n2\tb\n"} {
		if resp := roundTrip(context.Background(), t, "INSERT INTO i FORMAT TSV", strings.NewReader(data),
			database); resp.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", data, resp.Status)
		}
	}
	if got := cell(t, db, "SELECT count() FROM i"); got != "2" {
		t.Errorf("%s rows", got)
	}
}

// TestTimeIsUpBetweenPieces: if a client reads a result more slowly than the query's time allows, the result does
// not look complete. Mostly the engine itself reports this. But sometimes, when the time is up, it takes the query
// for one that has ended. Nobody can tell such an end from that of a complete result, so no result that ends too
// late counts as complete.
func TestTimeIsUpBetweenPieces(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const limit, rows = 100 * time.Millisecond, "1000000"
	for _, way := range []struct {
		name, sql string
		v         url.Values
	}{
		{"a setting", "SELECT number FROM numbers(" + rows + ")", url.Values{"max_execution_time": {"0.1"}}},
		{"SETTINGS", "SELECT number FROM numbers(" + rows + ") SETTINGS max_threads = 1, max_execution_time = '0.1'", nil},
		{"SETTINGS before a setting", "SELECT number FROM numbers(" + rows + ") SETTINGS max_execution_time=0.1",
			url.Values{"max_execution_time": {"3600"}}},
		{"one piece", "SELECT number FROM numbers(10)", url.Values{"max_execution_time": {"0.1"}}},
	} {
		v := url.Values{"default_format": {"TSV"}}
		maps.Copy(v, way.v)
		resp := roundTrip(t.Context(), t, way.sql, nil, v)
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusRequestTimeout {
			continue // the first rows already took too long
		}
		for begin := time.Now(); time.Since(begin) < limit; runtime.Gosched() {
		}
		_, err := io.Copy(io.Discard, resp.Body)
		if e, ok := errors.AsType[*clickhouse.Exception](err); !ok || e.Code != 159 {
			t.Errorf("%s: got %v", way.name, err)
		}
	}
	v := url.Values{"default_format": {"TSV"}, "max_execution_time": {"0.1"}, "timeout_overflow_mode": {"break"}}
	resp := roundTrip(t.Context(), t, "SELECT number FROM numbers("+rows+")", nil, v)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("who wants the rows that there are: got %v", err)
	}
}
