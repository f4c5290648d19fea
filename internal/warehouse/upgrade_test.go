package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
	"dealhouse/schema"
)

// withChange returns the files in schema/ as a later version might have them: with one change more.
func withChange(t *testing.T) fs.FS {
	t.Helper()
	baseline, err := fs.ReadFile(schema.Files, "0001_baseline.sql")
	must(t, err)
	return fstest.MapFS{
		"0001_baseline.sql": {Data: baseline},
		"0002_colours.sql": {Data: []byte(`-- Colours, to try how a change is applied.

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS colour String DEFAULT 'blue' COMMENT 'Of the run' AFTER error;

CREATE TABLE IF NOT EXISTS colours_log (name String COMMENT 'Of the colour') ENGINE = ReplacingMergeTree ORDER BY name COMMENT 'All colours';

INSERT INTO colours_log SELECT DISTINCT colour FROM sync_runs_log;
`)},
	}
}

// later opens the database of a warehouse with a binary that has one change more.
func later(t *testing.T, w *Warehouse) version {
	t.Helper()
	v := openVersion(t, w, 0, unchanged)
	v.migrator.wanted, v.migrator.files = nil, withChange(t)
	return v
}

// TestNumberedChange upgrades a warehouse with rows by a change, which dies before and after each of its statements.
// The views show the same all the time, runs continue, and the binary of before is refused from then on.
func TestNumberedChange(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "transactions", Part, sale("PENDING", -days))
	views := oldViews(t, w)
	before := viewHashes(t, w, views)
	if len(before) < 28 || before["transactions"] == "0 0" {
		t.Fatalf("too little to compare: %v", before)
	}
	for _, at := range enginetest.Spread([]string{"ALTER TABLE sync_runs_log", "CREATE TABLE IF NOT EXISTS colours_log", "INSERT INTO colours_log"}, 1) {
		for _, after := range enginetest.Spread([]bool{true, false}, 1) {
			dieMigrating(t, w, withChange(t), at, after, views, before)
		}
	}
	must(t, w.CheckSchema(t.Context())) // it is not recorded yet
	v := later(t, w)
	if err := v.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaOld) {
		t.Errorf("before the change: %v", err)
	}
	if commands := v.migrate(t); len(commands) == 0 {
		t.Error("nothing was changed")
	}
	if again, err := v.Migrate(t.Context()); err != nil || len(again) > 0 {
		t.Errorf("a second migration: %q %v", again, err)
	}
	if d := cmp.Diff(before, viewHashes(t, w, views)); d != "" {
		t.Errorf("what the views show differs: %s", d)
	}
	if got := text(t, w, "SELECT name, (SELECT any(colour) FROM sync_runs_log) FROM colours_log FINAL"); !slices.Equal(got, []string{"blue blue"}) {
		t.Errorf("the change did %q", got)
	}
	if got := text(t, w, "SELECT version, name FROM schema_migrations ORDER BY version"); !slices.Equal(got, []string{"0 streams", "1 0001_baseline.sql", "2 0002_colours.sql"}) {
		t.Errorf("recorded: %q", got)
	}
	if got := load(t, v.Warehouse, "transactions", Part, sale("CONFIRMED", -time.Hour)); got.Updated != 1 {
		t.Errorf("a run after the change: %+v", got)
	}
	for _, err := range []error{w.CheckSchema(t.Context()), second(w.Migrate(t.Context()))} {
		if !errors.Is(err, ErrSchemaNew) || !strings.Contains(err.Error(), "0002_colours.sql") {
			t.Errorf("the binary of before: %v", err)
		}
	}
}

// TestPlanIsRunBySomebodyElse runs what PlanMigration prints as another user. Then nothing is left to do, so the worker
// needs no right to change the schema: it asks, and changes nothing.
func TestPlanIsRunBySomebodyElse(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	v := later(t, w)
	plan, err := v.PlanMigration(t.Context())
	must(t, err)
	for _, statement := range plan {
		must(t, w.conn.Exec(t.Context(), statement))
	}
	if commands := v.migrate(t); len(commands) > 0 {
		t.Errorf("%d statements are left, the first: %s", len(commands), commands[0])
	}
}

// TestEarlierWarehouse opens warehouses of before the first release: each command is refused in a sentence, and nothing
// is changed.
func TestEarlierWarehouse(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	earlier := [][]string{
		{"INSERT INTO schema_migrations_log (version, name, checksum, applied_at) VALUES (1, '0001_bookkeeping.sql', 'abc', now64(3) + 1)"},
		{"INSERT INTO schema_migrations_log (version, name, checksum, applied_at) VALUES (1, '0001_bookkeeping.sql', 'abc', now64(3) + 1), (31, '0031_settlement_matches.sql', 'abc', now64(3) + 1)"},
		{"ALTER TABLE schema_migrations_log DROP COLUMN generation, DROP COLUMN tables, DROP COLUMN views"},
		{"DROP TABLE transactions_latest SYNC", "CREATE TABLE transactions_latest (account String, id UUID) ENGINE = MergeTree ORDER BY (account, id)"},
	}
	for _, statements := range earlier[:enginetest.Sample(2, len(earlier))] {
		w := open(t)
		for _, statement := range statements {
			must(t, w.exec(t.Context(), statement))
		}
		tables := "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name"
		before := text(t, w, tables)
		_, planned := w.PlanMigration(t.Context())
		for _, err := range []error{w.CheckSchema(t.Context()), second(w.Migrate(t.Context())), planned} {
			if !errors.Is(err, ErrSchemaEarlier) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", statements, err)
			}
		}
		if d := cmp.Diff(before, text(t, w, tables)); d != "" {
			t.Errorf("%q: the tables were changed: %s", statements, d)
		}
	}
}

// viewHashes returns the hashes of all views by the columns that they had at first.
func viewHashes(t *testing.T, w *Warehouse, views map[string]string) map[string]string {
	t.Helper()
	hashes := map[string]string{}
	for view, columns := range views {
		from := view
		if strings.HasPrefix(view, "deals_active") {
			from = "deals_active(at = toDateTime64('2026-02-10 00:00:00', 3, 'UTC'))"
		}
		hashes[view] = text(t, w, "SELECT count(), sum(sipHash64(toString(tuple("+columns+")))) FROM "+from)[0]
	}
	return hashes
}

// oldViews returns the views of a warehouse with their columns.
func oldViews(t *testing.T, w *Warehouse) map[string]string {
	t.Helper()
	views := map[string]string{}
	for _, line := range text(t, w, `SELECT name, arrayStringConcat(columns, ', ') FROM
(
    SELECT t.name AS name, groupArray(c.name) AS columns FROM system.tables AS t INNER JOIN (SELECT * FROM system.columns ORDER BY position) AS c ON c.table = t.name AND c.database = t.database
    WHERE t.database = currentDatabase() AND t.engine = 'View' AND t.name NOT IN ('schema_migrations', 'sync_state', 'stream_freshness', 'deals_active_now') GROUP BY t.name
)`) {
		name, columns, _ := strings.Cut(line, " ")
		views[name] = columns
	}
	return views
}

// errKilled is the error of a connection whose process is dead.
var errKilled = errors.New("killed")

// mortal is a connection of a process that dies before or after a statement with the given beginning.
type mortal struct {
	driver.Conn
	at    string
	after bool
	dead  *atomic.Bool
}

func (c mortal) Exec(ctx context.Context, query string, args ...any) error {
	if c.dead.Load() {
		return errKilled
	}
	if !strings.HasPrefix(query, c.at) {
		return c.Conn.Exec(ctx, query, args...)
	}
	c.dead.Store(true)
	if c.after {
		return errors.Join(errKilled, c.Conn.Exec(ctx, query, args...))
	}
	return errKilled
}

func (c mortal) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if c.dead.Load() {
		return nil, errKilled
	}
	return c.Conn.Query(ctx, query, args...)
}

func (c mortal) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	if c.dead.Load() {
		return nil, errKilled
	}
	return c.Conn.PrepareBatch(ctx, query, opts...)
}

// dieMigrating makes a migration with the given files (nil: those of this binary) die before or after a statement, and
// compares what readers see then with what they saw at first. What the dead process had taken is free again.
func dieMigrating(t *testing.T, w *Warehouse, files fs.FS, at string, after bool, views, before map[string]string) {
	t.Helper()
	dead := &atomic.Bool{}
	victim, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database,
		Wrap: func(c driver.Conn) driver.Conn { return mortal{c, at, after, dead} }})
	must(t, err)
	victim.migrator.files = files
	if _, err := victim.Migrate(t.Context()); !errors.Is(err, errKilled) {
		t.Errorf("%s (after: %t): the migration ended with %v", at, after, err)
	}
	must(t, victim.Close())
	must(t, w.exec(t.Context(), `INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT account, stream, name, replaceRegexpOne(value, '"expires":[0-9]+', '"expires":1'), version + 1 FROM sync_state_log FINAL WHERE name = 'lease' AND value != ''`))
	must(t, w.exec(t.Context(), "INSERT INTO schema_turns_log (id, owner, over, version) SELECT id, owner, 1, version + 1 FROM schema_turns_log FINAL WHERE over = 0"))
	if d := cmp.Diff(before, viewHashes(t, w, views)); d != "" {
		t.Fatalf("dead at %s (after: %t), what the views show differs: %s", at, after, d)
	}
}

// A user who may not change the schema is told what to do.
func TestMigrateWithoutTheRight(t *testing.T) {
	t.Parallel()
	err := mayNot(fmt.Errorf("migrating: %w", &clickhouse.Exception{Code: 497, Message: "Not enough privileges"}))
	if !errors.Is(err, ErrSchemaOld) || !IsAuth(err) || !strings.Contains(err.Error(), "dealhouse migrate") {
		t.Errorf("%v", err)
	}
	if other := errors.New("other"); !errors.Is(mayNot(other), other) || errors.Is(mayNot(other), ErrSchemaOld) ||
		mayNot(nil) != nil {
		t.Error("other errors are changed")
	}
}
