package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// old makes the database of a warehouse from before transactions were stored by the time of their sale,
// with rows in it.
func old(t *testing.T, w *Warehouse) {
	t.Helper()
	restore(t, w, "upgrade")
}

// restore makes the database of a warehouse from a folder of testdata.
func restore(t *testing.T, w *Warehouse, folder string) {
	t.Helper()
	must(t, w.admin.Exec(t.Context(), "DROP DATABASE "+w.database+" SYNC"),
		w.admin.Exec(t.Context(), w.migrator.createDatabase()))
	for _, name := range []string{"schema", "rows"} {
		script, err := os.ReadFile("testdata/" + folder + "/" + name + ".sql")
		must(t, err)
		for _, statement := range splitStatements(string(script)) {
			if err := w.conn.Exec(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", firstLine(statement), err)
			}
		}
	}
}

// viewHashes returns the hashes of all views that the old warehouse had, by their old columns, without what a dead run
// and the migration itself change.
func viewHashes(t *testing.T, w *Warehouse, views map[string]string) map[string]string {
	t.Helper()
	hashes := map[string]string{}
	for view, columns := range views {
		from, where := view, ""
		if strings.HasPrefix(view, "deals_active") {
			from = "deals_active(at = toDateTime64('2026-02-10 00:00:00', 3, 'UTC'))"
		}
		if strings.Contains(" "+columns, " account") {
			where = " WHERE account != 'dead'"
		}
		hashes[view] = text(t, w, "SELECT count(), sum(sipHash64(toString(tuple("+columns+")))) FROM "+from+where)[0]
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
    WHERE t.database = currentDatabase() AND t.engine = 'View' AND t.name NOT IN ('schema_migrations', 'sync_state', 'stream_freshness', 'deals_active_now', 'payout_changed_keys', 'payout_changed_transactions') GROUP BY t.name
)`) {
		name, columns, _ := strings.Cut(line, " ")
		views[name] = columns
	}
	return views
}

// checkUpgraded checks what must be true once the migration of TestUpgrade is done.
func checkUpgraded(t *testing.T, w *Warehouse, views, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, viewHashes(t, w, views)); d != "" {
		t.Errorf("what the views show differs: %s", d)
	}
	if again, err := w.PlanMigration(t.Context()); err != nil || len(again) > 0 {
		t.Errorf("left to do: %q %v", again, err)
	}
	for _, table := range []string{"transactions_latest", "transactions_versions"} {
		if key := text(t, w, "SELECT sorting_key FROM system.tables WHERE database = currentDatabase() AND name = '"+table+
			"'"); key[0] != "account, sold_at, id" {
			t.Errorf("%s is ordered by %s", table, key[0])
		}
	}
	if left := text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_ordered$|_(delta|changes|changed|moves)_[0-9a-f]{32}|^transactions_staging')"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, account := range []string{"acme", "globex", "dead"} {
		if wrong, err := w.CheckDerived(t.Context(), StreamID{account, "transactions"}); err != nil || len(wrong) > 0 {
			t.Errorf("%s: not as if they were made anew: %v %v", account, wrong, err)
		}
	}
	got := text(t, w, "SELECT (SELECT count() FROM transactions WHERE account = 'dead'), (SELECT count() FROM transactions_history WHERE account = 'dead'), "+
		"(SELECT groupArray((name, value)) FROM sync_state WHERE account = 'dead' AND name NOT IN ('lease', 'derived')), (SELECT outcome FROM sync_runs WHERE account = 'dead'), "+
		"(SELECT count() FROM transactions_2_staging)")
	if want := "3 3 [('watermark','2026-02-20T09:50:00Z')] success 0"; got[0] != want {
		t.Errorf("of the run that died: %s, want %s", got[0], want)
	}
}

// TestUpgrade migrates a warehouse from before transactions were stored by the time of their sale. A run that died
// between its attachments is finished. Every view shows the same as before, and runs continue where they were. In
// TestUpgradeKilled the migration dies on its way. For wide samples: TestMigrateAddsColumns migrates a warehouse
// that is in use.
func TestUpgrade(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	old(t, w)
	if err := w.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaOld) {
		t.Errorf("%v", err)
	}
	views := oldViews(t, w)
	before := viewHashes(t, w, views)
	if len(before) < 28 || before["transactions"] == "0 0" || before["payout_transactions"] == "0 0" || before["product_price_changes"] == "0 0" {
		t.Fatalf("too little to compare: %v", before)
	}
	statements, err := w.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(statements, exchangeTables(dialect{}, "transactions_latest")) {
		t.Error("the plan does not show that tables are exchanged")
	}
	checkUpgraded(t, w, views, before)
	row := text(t, w, "SELECT id FROM transactions WHERE account = 'acme' ORDER BY id LIMIT 1")[0]
	live := text(t, w, "SELECT count() FROM transactions WHERE account = 'acme'")[0]
	got := load(t, w, "transactions", Part,
		sales(saleAt(row, "2026-03-01T00:00:00Z", "CONFIRMED", "2026-03-02T00:00:00Z"),
			saleAt(idA, "2026-03-01T00:00:00Z", "PENDING", "2026-03-02T00:00:00Z")))
	if got.Updated != 1 || got.Moved != 1 || got.Inserted != 1 || fmt.Sprint(got.Live) != live {
		t.Errorf("the first run: %+v, of %s rows", got, live)
	}
	derivedHold(t, w)
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

// dieMigrating makes a migration die before or after a statement, and compares what readers see then with what they saw
// at first. What the dead process had taken is free again.
func dieMigrating(t *testing.T, w *Warehouse, at string, after bool, views, before map[string]string) {
	t.Helper()
	dead := &atomic.Bool{}
	victim, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database,
		Wrap: func(c driver.Conn) driver.Conn { return mortal{c, at, after, dead} }})
	must(t, err)
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

// TestUpgradeKilled makes the migration die before and after each statement that matters, one death after the other on
// the same warehouse, and compares what readers see in between with what they saw at first.
func TestUpgradeKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	old(t, w)
	views := oldViews(t, w)
	before := viewHashes(t, w, views)
	for _, at := range []string{"RENAME TABLE", "DROP TABLE IF EXISTS transactions_staging",
		"ALTER TABLE transactions_latest ATTACH",
		"INSERT INTO transactions_versions_ordered", "EXCHANGE TABLES transactions_versions",
		"DROP TABLE IF EXISTS transactions_versions_ordered",
		"CREATE TABLE IF NOT EXISTS transactions_latest_ordered", "INSERT INTO transactions_latest_ordered",
		"EXCHANGE TABLES transactions_latest",
		"CREATE TABLE IF NOT EXISTS transactions_keys\n", "INSERT INTO transactions_keys_delta",
		"ALTER TABLE transactions_keys REPLACE",
		"ALTER TABLE transactions_live REPLACE", "CREATE OR REPLACE VIEW transactions\n"} {
		for _, after := range []bool{false, true} {
			dieMigrating(t, w, at, after, views, before)
		}
	}
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkUpgraded(t, w, views, before)
}

// TestOldBinaryPublishesNothing makes a worker that began before the migration continue after it: it can neither stage
// nor attach what it had prepared. For wide samples: TestUpgrade migrates the same warehouse.
func TestOldBinaryPublishesNothing(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	old(t, w)
	must(t, w.exec(t.Context(), "CREATE TABLE transactions_delta_kept AS transactions_latest"))
	must(t, w.exec(t.Context(), "INSERT INTO transactions_delta_kept SELECT * FROM transactions_latest LIMIT 1"))
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"transactions_latest", "transactions_versions"} {
		if err := goneDelta(w.conn.Exec(t.Context(), attachDelta(table, "transactions_delta_kept"))); !errors.Is(err,
			errDeltaGone) {
			t.Errorf("a delta of the old order is attached to %s: %v", table, err)
		}
	}
	if err := w.conn.Exec(t.Context(), "INSERT INTO transactions_staging (run_id) VALUES (generateUUIDv4())"); !IsMissing(err) {
		t.Errorf("an old binary can still stage: %v", err)
	}
	must(t, w.exec(t.Context(), dropTable("transactions_delta_kept")))
}
