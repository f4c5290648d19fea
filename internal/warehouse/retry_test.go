package warehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// remote opens the database of w again, as that of a server at the given address.
func remote(t *testing.T, w *Warehouse, address string) *Warehouse {
	t.Helper()
	far, err := Open(t.Context(), Options{DSN: "http://" + address, Database: w.database,
		MaxRetryElapsed: patience})
	if err != nil {
		t.Fatal(err)
	}
	far.backoff = time.Millisecond
	t.Cleanup(func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	})
	return far
}

// line is a TCP connection to a server that can be made to break. It is a real connection: what has
// arrived is not lost.
type line struct {
	target string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	word     string // in what a client sends; the line breaks after it
	after    int    // the number of bytes behind word after which the line breaks, once
}

func newLine(t *testing.T, target string) *line {
	t.Helper()
	l := &line{target: target, conns: map[net.Conn]bool{}}
	l.open(t, "127.0.0.1:0")
	t.Cleanup(func() { l.close(t) })
	return l
}

func (l *line) open(t *testing.T, address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	for begun := time.Now(); errors.Is(err, syscall.EADDRINUSE) && time.Since(begun) < patience; {
		<-time.After(time.Millisecond) // for a moment, somebody else's connection may have the port
		listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	}
	if err != nil {
		t.Error(err)
		return
	}
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
}

// close refuses new connections, and ends the open ones.
func (l *line) close(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	for c := range l.conns {
		_ = c.Close()
	}
}

func (l *line) serve(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.conns[client], l.conns[server] = true, true
	l.mu.Unlock()
	hangUp := func() {
		_, _ = client.Close(), server.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, client)
		delete(l.conns, server)
	}
	go func() {
		_, _ = io.Copy(client, server)
		hangUp()
	}()
	defer hangUp()
	buf, left := make([]byte, 4096), -1
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		l.mu.Lock()
		if l.word != "" && left < 0 && bytes.Contains(buf[:n], []byte(l.word)) {
			l.word, left = "", l.after
		}
		l.mu.Unlock()
		if left >= 0 {
			if left < n {
				_, _ = server.Write(buf[:left])
				return
			}
			left -= n
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// coupons returns a page of n records.
func coupons(n int) string {
	var page strings.Builder
	for i := range n {
		fmt.Fprintf(&page, ",%s", coupon(fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", i), strings.Repeat(fmt.Sprint(i), 20),
			"2026-01-01T00:00:00Z"))
	}
	return "[" + page.String()[1:] + "]"
}

// TestLostConnection loses the connection to a server: it is refused for a while, and it breaks in the middle of an
// insert. The rows must be there once.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	w := open(t)
	server := httptest.NewServer(door(w))
	t.Cleanup(server.Close)
	wire := newLine(t, server.Listener.Addr().String())
	address := wire.listener.Addr().String()
	far := remote(t, w, address)
	const rows = 3000
	r := begin(t, far, "coupons")

	wire.mu.Lock()
	wire.word, wire.after = "coupons_staging", 20_000 // of the compressed rows
	wire.mu.Unlock()
	stage(t, far, r, coupons(rows))
	if n := staged(t, w, r).Rows; n != rows || far.Retries() == 0 {
		t.Errorf("%d rows after %d retries", n, far.Retries())
	}

	before := far.Retries()
	wire.close(t)
	back := make(chan struct{})
	go func() {
		defer close(back)
		for far.Retries() < before+3 && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		wire.open(t, address)
	}()
	r = begin(t, far, "coupons")
	<-back
	stage(t, far, r, coupons(rows))
	if n := staged(t, w, r).Rows; n != rows {
		t.Errorf("%d rows", n)
	}
}

// forgetful is a server that executes each statement and loses the first answer to it.
type forgetful struct {
	http.Handler
	mu   sync.Mutex
	seen map[string]bool
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	statement := r.URL.Query().Get("query")
	if statement == "" {
		statement = string(body)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	first := !f.seen[statement]
	f.seen[statement] = true
	f.mu.Unlock()
	if !first {
		f.Handler.ServeHTTP(w, r)
		return
	}
	f.Handler.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// TestEveryAnswerIsLost executes each statement of a run twice, because the answer to the first is lost. The result
// must be the same as without losses. For wide samples: TestWarehouseComesBack of package syncer loses answers.
func TestEveryAnswerIsLost(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	server := httptest.NewServer(&forgetful{Handler: door(w),
		seen: map[string]bool{}})
	t.Cleanup(server.Close)
	far := remote(t, w, server.Listener.Addr().String())
	const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

	got := []Changes{
		load(t, far, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]", "["+coupon(idB, "b1", day1)+"]"),
		load(t, far, "coupons", Whole, "["+coupon(idA, "a2", day2)+"]", "["+coupon(idC, "c1", day1)+"]"),
	}
	want := []Changes{{Inserted: 2, Distinct: 2, Staged: 2, First: true},
		{Inserted: 1, Updated: 1, Deleted: 1, Distinct: 2, Live: 2, Staged: 2}}
	if d := cmp.Diff(want, got, anySum); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a2", "c1"}, text(t, w, "SELECT code FROM coupons ORDER BY id")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a1", "a2", "b1", "c1"},
		text(t, w, "SELECT code FROM coupons_history ORDER BY code")); d != "" {
		t.Error(d)
	}
	load(t, far, "products", Whole, `[{"url":"https://a.test/p","history":[{"yearMonthDay":"2026-01-01","price":1},{"yearMonthDay":"2026-01-02","price":2}]}]`)
	if d := cmp.Diff([]string{"2026-01-01 1", "2026-01-02 2"},
		text(t, w, "SELECT day, price FROM product_prices ORDER BY day")); d != "" {
		t.Error(d)
	}
	if far.Retries() < 30 {
		t.Errorf("only %d statements were tried again", far.Retries())
	}
}

// TestWarehouseFaults makes the engine refuse an insert until someone repairs it, or for good.
func TestWarehouseFaults(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.backoff = time.Millisecond
	r := begin(t, w, "coupons")
	stage(t, w, r, coupons(1))
	batch := decode.NewBatch(r.Stream)
	if err := decode.New(r.Stream).Page(batch, []byte(coupons(5)), 1, 1); err != nil {
		t.Fatal(err)
	}
	number := 1
	for _, c := range []struct {
		name, spoil, mend string
		code              int32
	}{
		{"too many parts", "parts_to_delay_insert = 100, parts_to_throw_insert = 1", "parts_to_throw_insert = 30000", 252},
		{"disk full", "min_free_disk_bytes_to_perform_insert = 1000000000000000", "min_free_disk_bytes_to_perform_insert = 0",
			243},
	} {
		alter := func(settings string) {
			if err := w.conn.Exec(context.WithoutCancel(t.Context()),
				"ALTER TABLE coupons_staging MODIFY SETTING "+settings); err != nil {
				t.Error(err)
			}
		}
		// For good: the run ends with an error that says what to do.
		alter(c.spoil)
		w.maxRetryElapsed = 20 * time.Millisecond
		var fault *FaultError
		if _, err := w.Writer(r).Stage(t.Context(), number, batch); !errors.As(err, &fault) || fault.Code != c.code ||
			fault.Advice == "" {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := staged(t, w, r).Rows; n != uint64(1+5*(number-1)) {
			t.Errorf("%s: %d rows are staged", c.name, n)
		}
		// Repaired during the retries: the same batch is inserted, once.
		w.maxRetryElapsed = patience
		before, mended := w.Retries(), make(chan struct{})
		go func() {
			defer close(mended)
			for w.Retries() == before && t.Context().Err() == nil {
				<-time.After(time.Millisecond)
			}
			alter(c.mend)
		}()
		if _, err := w.Writer(r).Stage(t.Context(), number, batch); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		<-mended
		if n := staged(t, w, r).Rows; n != uint64(1+5*number) {
			t.Errorf("%s: %d rows are staged", c.name, n)
		}
		number++
	}
	// Someone made it read-only: waiting does not help.
	if err := w.conn.Exec(t.Context(), "ALTER TABLE coupons_staging MODIFY SETTING table_readonly = 1"); err != nil {
		t.Fatal(err)
	}
	var fault *FaultError
	if _, err := w.Writer(r).Stage(t.Context(), number, batch); !errors.As(err, &fault) || fault.Attempts != 1 ||
		!strings.Contains(fault.Error(), "table_readonly = 0") {
		t.Errorf("%v", err)
	}
}

// starved gives one statement almost no memory, once.
type starved struct {
	driver.Conn
	done *bool
}

func (c starved) Exec(ctx context.Context, query string, args ...any) error {
	if strings.HasPrefix(query, "INSERT INTO coupons_changes") && !*c.done {
		*c.done = true
		ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_memory_usage": 1}))
	}
	return c.Conn.Exec(ctx, query, args...)
}

// TestMemoryLimit runs out of memory in the middle of the comparison. Its steps are then done again together.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	w := open(t)
	done := false
	short, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database,
		Wrap: func(c driver.Conn) driver.Conn { return starved{c, &done} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := short.Close(); err != nil {
			t.Error(err)
		}
	})
	short.backoff = time.Millisecond
	if c := load(t, short, "coupons", Whole, coupons(9)); c.Inserted != 9 || short.Retries() != 1 {
		t.Errorf("%+v after %d retries", c, short.Retries())
	}
}

// TestRemedies distinguishes what may pass from what does not.
func TestRemedies(t *testing.T) {
	t.Parallel()
	code := func(n int32) error { return fmt.Errorf("staging: %w", &clickhouse.Exception{Code: n}) }
	for _, c := range []struct {
		name         string
		err          error
		passes, slow bool
	}{
		{"refused connection", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true, false},
		{"reset connection", fmt.Errorf("x: %w", syscall.ECONNRESET), true, false},
		{"cut answer", io.ErrUnexpectedEOF, true, false},
		{"time-out", &net.OpError{Op: "read", Err: context.DeadlineExceeded}, true, false},
		{"bad gateway", &clickhouse.HTTPError{StatusCode: 502, Err: errors.New("x")}, true, false},
		{"not found", &clickhouse.HTTPError{StatusCode: 404, Err: errors.New("x")}, false, false},
		{"wrong name", &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false, false},
		{"too many parts", code(252), true, false},
		{"memory", code(241), true, false},
		{"read-only replica", code(242), true, true},
		{"disk full", code(243), true, true},
		{"keeper", code(999), true, false},
		{"syntax", code(62), false, false},
		{"password", code(516), false, false},
		{"unknown table", code(60), false, false},
		{"read-only user", code(164), false, false},
		{"killed by someone", code(394), false, false},
		{"content", code(469), false, false},
		{"answered in HTTP", &clickhouse.HTTPError{StatusCode: 503, Err: &clickhouse.Exception{Code: 62}}, false, false},
		{"given up before", &FaultError{Err: code(252)}, false, false},
	} {
		got, passes := remedyOf(c.err)
		if passes != c.passes || got.slow != c.slow || passes && got.advice == "" {
			t.Errorf("%s: %+v, %t", c.name, got, passes)
		}
	}
}

// TestFullDisk: the first line about a full disk says that it is full, and which: of an embedded warehouse that of its
// folder, as nobody can ask the engine for its disks.
func TestFullDisk(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	full := &clickhouse.Exception{Code: 243, Message: "Cannot reserve 1.00 MiB"}
	for dsn, want := range map[string]string{
		"embedded:/srv/deals":   "the disk of /srv/deals is full: free space on it, or move the folder",
		"clickhouse://h:9000/x": "SELECT name, path, free_space FROM system.disks",
	} {
		var log bytes.Buffer
		p := &pool{given: Options{DSN: dsn}, log: slog.New(slog.NewTextHandler(&log, nil)), backoff: time.Millisecond,
			maxRetryElapsed: 300 * time.Millisecond}
		err := p.retry(t.Context(), "INSERT", func() error { return full })
		if first, _, _ := strings.Cut(log.String(), "\n"); !strings.Contains(first, want) ||
			!strings.Contains(first, "level=WARN") {
			t.Errorf("%s: the log begins with %s", dsn, first)
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "disks") != (dsn[0] == 'c') {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

// TestMayPass tells faults that may pass from mistakes in a statement, of which ClickHouse has many more codes.
func TestMayPass(t *testing.T) {
	t.Parallel()
	for _, code := range []int32{241, 202, 252, 243, 201, 159, 394, 499, 49, 1001} {
		err := error(&clickhouse.Exception{Code: code})
		if !MayPass(err) || !MayPass(fmt.Errorf("x: %w", &FaultError{Err: err})) {
			t.Errorf("code %d does not count as a fault that may pass", code)
		}
	}
	for _, code := range []int32{51, 69, 125, 153, 395, 32, 62, 164, 396, 774} {
		if MayPass(&clickhouse.Exception{Code: code}) {
			t.Errorf("code %d counts as a fault that may pass", code)
		}
	}
}

// told is a log that calls a function when something is written to it.
type told func()

func (f told) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestRetryEndsWithItsContext checks that a retry ends if the worker is told to stop.
func TestRetryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.backoff = time.Hour
	w.maxRetryElapsed = 10 * time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	w.log = slog.New(slog.NewTextHandler(told(func() { cancel(stop) }), nil)) // it logs before it waits
	err := w.retry(ctx, "SELECT 1", func() error { return syscall.ECONNREFUSED })
	if !errors.Is(err, stop) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
	short, cancelShort := context.WithTimeout(t.Context(), time.Minute)
	defer cancelShort()
	var fault *FaultError
	if err := w.retry(short, "SELECT 1", func() error { return syscall.ECONNREFUSED }); !errors.As(err, &fault) ||
		fault.Attempts != 1 {
		t.Errorf("it waited for what could not come in time: %v", err)
	}
}
