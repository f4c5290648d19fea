package warehouse

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// TestDroppedAndChangedViews drops, renames and changes views by hand: each time the check says that the schema has to
// be made, a migration makes the view again, and the definitions are those of before.
func TestDroppedAndChangedViews(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	definitions := func() []string {
		return text(t, w, "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND engine = 'View' ORDER BY name")
	}
	before := definitions()
	damages := [][]string{
		{"DROP VIEW transactions", "DROP TABLE coupons_staging SYNC"},
		{"CREATE OR REPLACE VIEW payouts AS SELECT 1 AS id"},
		{"DROP VIEW deals_active"},       // has parameters, and so no columns that a client can list
		{"DROP VIEW transactions_as_of"}, // the same
		{"DROP VIEW payout_findings"},    // made by a numbered file
		{"DROP VIEW sync_runs", "DROP VIEW stream_freshness"},
		{"RENAME TABLE coupons TO coupons_old"},
		{"ALTER TABLE daily_cashback COMMENT COLUMN day 'mine'"},
		{"DROP TABLE coupons_staging SYNC"},
	}
	for _, damage := range enginetest.Spread(damages, 2) {
		for _, statement := range damage {
			must(t, w.exec(t.Context(), statement))
		}
		if err := w.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaOld) {
			t.Errorf("%s: the check says %v", damage, err)
		}
		planned, err := w.PlanMigration(t.Context())
		must(t, err)
		done, err := w.Migrate(t.Context())
		must(t, err)
		if !slices.Equal(planned[:len(planned)-1], done) {
			t.Errorf("%s: other statements were run than were planned", damage)
		}
		must(t, w.CheckSchema(t.Context()))
		if again, err := w.Migrate(t.Context()); err != nil || len(again) > 0 {
			t.Errorf("%s: a second migration runs %d statements: %v", damage, len(again), err)
		}
		must(t, w.exec(t.Context(), "DROP VIEW IF EXISTS coupons_old"))
		if d := cmp.Diff(before, definitions()); d != "" {
			t.Errorf("%s: the views are others now: %s", damage, d)
		}
	}
}

// TestDroppedTable takes a table away: it is not made again empty, because the state says that its rows are loaded.
func TestDroppedTable(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for _, table := range []string{"transactions_latest", "sync_state_log", "product_prices_latest"} {
		must(t, w.exec(t.Context(), "RENAME TABLE "+table+" TO "+table+"_kept"))
		_, err := w.Migrate(t.Context())
		dropped, ok := errors.AsType[*DroppedError](err)
		if !ok || !slices.Equal(dropped.Tables, []string{table}) || !strings.Contains(err.Error(), "restore a backup") {
			t.Errorf("%s: %v", table, err)
		}
		if err := w.CheckSchema(t.Context()); err == nil || errors.Is(err, ErrSchemaOld) {
			t.Errorf("%s: the check says %v", table, err)
		}
		must(t, w.exec(t.Context(), "RENAME TABLE "+table+"_kept TO "+table))
		must(t, w.CheckSchema(t.Context()))
	}
}

// TestDroppedPublicView drops a view of the database of views.
func TestDroppedPublicView(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w, views := openPublic(t)
	must(t, w.admin.Exec(t.Context(), "DROP VIEW "+views+".transactions"))
	if err := w.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaOld) {
		t.Errorf("the check says %v", err)
	}
	migratePublic(t, w)
}
