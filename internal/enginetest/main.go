package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
)

// Options says what a test binary does besides its tests.
type Options struct {
	// Roles has, by name, what the binary does instead of its tests when Role starts it. An
	// error makes the exit code 1.
	Roles map[string]func(context.Context) error
	// Setup is called after the engine has started, before the first test. The function that it returns is called after
	// the last test. Setup may be nil.
	Setup func(context.Context) (teardown func() error, err error)
	// Shards is the number of shards of the cluster that the engine makes up by itself; 0: no cluster.
	Shards int
	// Leaks are goroutines that may be left at the end, apart from those that goleak ignores anyway.
	Leaks []goleak.Option
}

// Main is the whole of a TestMain: it runs the tests with an engine that they share, or what Role or Life asks for. It
// does not return.
func Main(m *testing.M, o Options) { os.Exit(runMain(m, o)) }

func runMain(m *testing.M, o Options) int {
	CollectLess()
	ctx := context.Background()
	if role := os.Getenv(roleVariable); role != "" {
		return codeOf(0, o.Roles[role](ctx))
	}
	if dir := os.Getenv(lifeVariable); dir != "" {
		dataSource = catalog.EmbeddedScheme + dir
		return m.Run()
	}
	dir, err := makeFolder()
	if err != nil {
		return codeOf(0, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears its temporary folder
	dataSource = catalog.EmbeddedScheme + dir
	engine, err := chdb.Open(ctx, chdb.Options{Dir: dir, Shards: o.Shards, Keeper: keeper(), FewRows: FewRows()})
	if err != nil {
		return codeOf(0, fmt.Errorf("opening the engine of the tests: %w", err))
	}
	admin, err := clickhouse.Open(engine.ClickHouseOptions("default"))
	if err != nil {
		return codeOf(0, errors.Join(fmt.Errorf("connecting to the engine of the tests: %w", err), engine.Close()))
	}
	shared.admin = admin
	if err := errors.Join(beReplica(), readOnce(ctx, engine)); err != nil { // a query may map the library once more
		return codeOf(0, errors.Join(err, admin.Close(), engine.Close()))
	}
	code := runTests(ctx, m, o)
	if keeper() != "" {
		return code // an engine with replicated tables may crash when it is closed
	}
	code = codeOf(code, errors.Join(admin.Close(), engine.Close()))
	if code == 0 {
		code = codeOf(code, goleak.Find(o.Leaks...))
	}
	return code
}

// readOnce lets the guard of readers list what is stored, which it does once: nothing yet. So the tables of a cluster
// that one test makes, which no embedded warehouse has, do not stop the readers of another test.
func readOnce(ctx context.Context, engine *chdb.Engine) error {
	reader, err := clickhouse.Open(engine.ReadOnlyOptions("default"))
	if err != nil {
		return err
	}
	var n uint8
	return errors.Join(reader.QueryRow(ctx, "SELECT 1").Scan(&n), reader.Close())
}

func runTests(ctx context.Context, m *testing.M, o Options) int {
	if o.Setup == nil {
		return m.Run()
	}
	teardown, err := o.Setup(ctx)
	if err != nil {
		return codeOf(0, err)
	}
	code := m.Run()
	return codeOf(code, teardown())
}

func makeFolder() (string, error) {
	if err := InMemory(); err != nil {
		return "", err
	}
	return os.MkdirTemp("", "dealhouse-test-")
}

// codeOf returns the exit code. An error is printed, and turns 0 into 1.
func codeOf(code int, err error) int {
	if err == nil {
		return code
	}
	fmt.Fprintln(os.Stderr, err)
	return max(code, 1)
}
