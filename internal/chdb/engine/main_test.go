package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.uber.org/goleak"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/door"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/sandbox"
)

// patience is how long tests wait for something that must happen. It is long enough for the slowest machine: it
// only ends tests that hang.
const patience = 5 * time.Minute

// shared is the engine of all tests: the library allows one directory per process.
var shared *house

// house is an engine with both of its doors, as package chdb puts them together.
type house struct{ *engine.Engine }

func openHouse(ctx context.Context, o contract.Options) (*house, error) {
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &house{e}, nil
}

func (h *house) Handler(o contract.HandlerOptions) http.Handler { return door.Handler(h.Engine, o) }

func (h *house) ClickHouseOptions(database string) *clickhouse.Options {
	return (&door.Transport{Engine: h.Engine}).Options(database)
}

func (h *house) ReadOnlyOptions(database string) *clickhouse.Options {
	return (&door.Transport{Engine: h.Engine, ReadOnly: true}).Options(database)
}

func (h *house) RoundTrip(req *http.Request) (*http.Response, error) {
	return (&door.Transport{Engine: h.Engine}).RoundTrip(req)
}

// TestMain opens the shared engine. In a child process, it plays the role that the environment names instead.
func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(sandbox.Aside(func() int { return runChild(role) }))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "chdb-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o := contract.Options{Dir: dir}
	if os.Getenv("CHDB_LIMIT_READERS") != "" { // as the engine of a daemon with a door is
		o.LimitReaders, o.Limits = true, contract.Limits{QueryMemory: 2 << 30, Memory: 4 << 30, Time: 5 * time.Minute,
			ResultBytes: 4 << 30, ResultRows: 100_000_000, Threads: 4, Disk: 1 << 30}
	}
	shared, err = openHouse(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "open the engine:", err)
		return 1
	}
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close the engine:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	return code
}

// connect opens clickhouse-go on the shared engine, in a database only for this test.
func connect(t testing.TB, change ...func(*clickhouse.Options)) driver.Conn {
	t.Helper()
	admin, err := clickhouse.Open(shared.ClickHouseOptions(""))
	if err != nil {
		t.Fatal(err)
	}
	name := "t" + hexName(t)
	if err := admin.Exec(context.Background(), "CREATE DATABASE IF NOT EXISTS "+name); err != nil {
		t.Fatal(err)
	}
	o := shared.ClickHouseOptions(name)
	for _, f := range change {
		f(o)
	}
	db, err := clickhouse.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = db.Close()
		if err := admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" SYNC"); err != nil {
			t.Error(err)
		}
		_ = admin.Close()
	})
	return db
}

func hexName(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("%x", t.Name())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func execute(t testing.TB, db driver.Conn, sql string) {
	t.Helper()
	if err := db.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// cell returns the one value of a query, as text.
func cell(t testing.TB, db driver.Conn, sql string) string {
	t.Helper()
	var s string
	if err := db.QueryRow(context.Background(), "SELECT toString(("+sql+"))").Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}
