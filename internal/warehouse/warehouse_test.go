package warehouse

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	w := open(t)
	again, err := w.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(again) != 0 {
		t.Errorf("the second migration ran %d statements, the last: %s", len(again), again[len(again)-1])
	}
	if err := w.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMigrateFromTwoProcesses is for wide samples: TestMigrateTwice migrates again.
func TestMigrateFromTwoProcesses(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	for range enginetest.Sample(1, 15) {
		must(t, w.conn.Exec(t.Context(), "DROP DATABASE "+w.database+" SYNC"))
		atOnce(t, w, w, w)
		must(t, w.CheckSchema(t.Context()))
	}
}

// TestMigrateAddsColumns adds a missing column to tables. Of two rows, the one that has a value in it is updated, and
// the other one does not change.
func TestMigrateAddsColumns(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const uncoded = `{"id":"` + idB + `","updatedAt":"2026-01-01T00:00:00Z"}`
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+","+uncoded+"]")
	for _, statement := range []string{
		"DROP VIEW coupons", "DROP VIEW coupons_history",
		"ALTER TABLE coupons_staging MODIFY COLUMN _hash FixedString(16) DEFAULT sipHash128(id) COMMENT 'an earlier one'",
		"ALTER TABLE coupons_latest COMMENT COLUMN _hash 'an earlier one'",
		"ALTER TABLE coupons_versions COMMENT COLUMN _hash 'an earlier one'",
		"ALTER TABLE coupons_staging DROP COLUMN code", "ALTER TABLE coupons_latest DROP COLUMN code",
		"ALTER TABLE coupons_versions DROP COLUMN code",
	} {
		if err := w.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaOld) {
		t.Errorf("%v", err)
	}
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	if got := load(t, w, "coupons", Whole,
		"["+coupon(idA, "b", "2026-01-02T00:00:00Z")+","+uncoded+"]"); got.Updated != 1 || got.Unchanged != 1 {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff([]string{"b", ""}, text(t, w, "SELECT code FROM coupons ORDER BY id")); d != "" {
		t.Error(d)
	}
}

func TestMigrateRefusesWhatWouldLoseData(t *testing.T) {
	t.Parallel()
	w := open(t)
	if err := w.exec(t.Context(), "ALTER TABLE payouts_latest MODIFY COLUMN total_gmv Nullable(String)"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "payouts_latest.total_gmv") {
		t.Errorf("%v", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	if err := w.exec(t.Context(), "INSERT INTO schema_migrations_log (version, name, checksum) VALUES (9999, '9999_future.sql', 'x')"); err != nil {
		t.Fatal(err)
	}
	if err := w.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaNew) {
		t.Errorf("%v", err)
	}
}

func TestEveryColumnHasAComment(t *testing.T) {
	t.Parallel()
	w := open(t)
	bare := text(t, w, `SELECT table, name FROM system.columns
WHERE database = currentDatabase() AND comment = '' AND NOT match(table, '_staging$')`)
	if len(bare) > 0 {
		t.Errorf("columns without a comment: %s", strings.Join(bare, ", "))
	}
	if bare := text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND comment = ''"); len(bare) > 0 {
		t.Errorf("tables without a comment: %s", strings.Join(bare, ", "))
	}
	for _, s := range catalog.All() {
		columns := text(t, w, "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {view:String} ORDER BY position", named("view", s.Name))
		if columns[0] != "account" || columns[1] != s.KeyColumn() || columns[len(columns)-1] != "synced_at" {
			t.Errorf("%s begins with %s, %s and ends with %s", s.Name, columns[0], columns[1], columns[len(columns)-1])
		}
	}
}
