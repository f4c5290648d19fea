package warehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/enginetest"
	"dealhouse/schema"
)

// Every change of the tables or views has a generation of its own. Otherwise the older of two versions could not know
// that it is older.
func TestGenerationRises(t *testing.T) {
	t.Parallel()
	streams, err := wantedStreams(dialect{})
	must(t, err)
	number, checksum, err := schema.Generation()
	must(t, err)
	if checksum == streams.checksum() {
		return
	}
	if *update {
		must(t, os.WriteFile("../../schema/generation.txt", fmt.Appendf(nil, "%d %s\n", number+1, streams.checksum()), 0o600))
		return
	}
	t.Errorf("the tables or views are no longer those of generation %d: `go generate ./...` raises it", number)
}

// version is a binary that wants other tables or views, as another process would open the warehouse. It counts what is
// sent to it, except queries.
type version struct {
	*Warehouse
	sent *sent
	said *strings.Builder
}

func (v version) commands() (all []string) {
	v.sent.mu.Lock()
	defer v.sent.mu.Unlock()
	for _, s := range v.sent.each {
		if !strings.HasPrefix(s.text, "SELECT") {
			all = append(all, s.text)
		}
	}
	v.sent.each = nil
	return all
}

func openVersion(t *testing.T, w *Warehouse, generation uint32, change func(statements []string) []string) version {
	t.Helper()
	v := version{sent: &sent{}, said: &strings.Builder{}}
	other, err := Open(t.Context(), Options{
		DSN: enginetest.DSN(), Database: w.database, Logger: slog.New(slog.NewTextHandler(v.said, nil)),
		Wrap: func(c driver.Conn) driver.Conn { return recorder{c, v.sent} },
	})
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) })
	other.migrator.wanted = func(d dialect) (migration, error) {
		m, err := wantedStreams(d)
		m.generation, m.statements = generation, change(m.statements)
		return m, err
	}
	v.Warehouse = other
	return v
}

func unchanged(statements []string) []string { return statements }

// withView returns a set of statements with one more view, which says which version made it.
func withView(text string) func([]string) []string {
	return func(statements []string) []string {
		return append(statements, "CREATE OR REPLACE VIEW made_by AS SELECT '"+text+"' AS version")
	}
}

func (v version) migrate(t *testing.T) (commands []string) {
	t.Helper()
	_, err := v.Migrate(t.Context())
	must(t, err, v.CheckSchema(t.Context()))
	return v.commands()
}

// TestTwoVersionsSideBySide migrates with an older version and a newer one in turn: the older one touches nothing.
func TestTwoVersionsSideBySide(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	older, newer := openVersion(t, w, 1000, withView("older")), openVersion(t, w, 1001, withView("newer"))
	for i, v := range []version{older, newer, older, newer, older}[:enginetest.Sample(3, 5)] {
		commands := v.migrate(t)
		if first := i < 2; first != (len(commands) > 0) {
			t.Errorf("migration %d: %d statements: %.300q", i+1, len(commands), commands)
		}
		want := "older"
		if i > 0 {
			want = "newer"
		}
		if got := text(t, w, "SELECT version FROM made_by"); got[0] != want {
			t.Errorf("after migration %d the views are those of the %s version", i+1, got[0])
		}
	}
	if said := older.said.String(); strings.Count(said, "another version") != 1 ||
		!strings.Contains(said, "generation_of_the_warehouse=1001 generation_of_this_version=1000") {
		t.Errorf("the older version says %q", said)
	}
	if said := newer.said.String(); strings.Contains(said, "another version") {
		t.Errorf("the newer version says %q", said)
	}
	load(t, older.Warehouse, "coupons", Whole, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
	if got := text(t, newer.Warehouse, "SELECT code FROM coupons"); len(got) != 1 {
		t.Errorf("the newer version reads %v of what the older one loaded", got)
	}
}

// Two builds of one generation that differ do not undo each other's views either. For wide samples:
// TestTwoVersionsSideBySide has two that differ more.
func TestTwoBuildsOfOneGeneration(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	one, other := openVersion(t, w, 1000, withView("one")), openVersion(t, w, 1000, withView("other"))
	one.migrate(t)
	for _, v := range []version{other, one, other} {
		if commands := v.migrate(t); len(commands) > 0 {
			t.Errorf("%d statements: %.300q", len(commands), commands)
		}
	}
	if !strings.Contains(other.said.String(), "another version") {
		t.Errorf("it says %q", other.said)
	}
}

// An older version that does not know the tables of the newer one would leave columns empty, so it is refused. For wide
// samples: TestTwoVersionsSideBySide has two versions.
func TestOlderVersionWithOtherTables(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	newer := openVersion(t, w, 1001, func(statements []string) []string {
		return append([]string{"CREATE TABLE IF NOT EXISTS more_latest (id UInt8 COMMENT 'x') ENGINE = MergeTree ORDER BY id COMMENT 'x'"}, statements...)
	})
	newer.migrate(t)
	older := openVersion(t, w, 1000, unchanged)
	for _, err := range []error{older.CheckSchema(t.Context()), second(older.Migrate(t.Context()))} {
		if !errors.Is(err, ErrSchemaNew) || !strings.Contains(err.Error(), "1001") {
			t.Errorf("%v", err)
		}
	}
	// Different comments are not a reason to refuse.
	commented := openVersion(t, w, 999, func(statements []string) []string {
		return append([]string{"CREATE TABLE IF NOT EXISTS more_latest (id UInt8 COMMENT 'it''s \\' y') ENGINE = MergeTree ORDER BY id COMMENT 'y'"}, statements...)
	})
	must(t, commented.CheckSchema(t.Context()))
	// If somebody has dropped a column by hand, the newer version adds it again.
	must(t, w.exec(t.Context(), "ALTER TABLE coupons_staging DROP COLUMN _page"))
	if err := commented.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaNew) {
		t.Errorf("%v", err)
	}
	if commands := newer.migrate(t); len(commands) == 0 {
		t.Error("the column is not put back")
	}
	must(t, commented.CheckSchema(t.Context()))
}

func second[A, B any](_ A, b B) B { return b }

// TestVersionsMigrateAtOnce makes processes of two versions migrate one empty database at the same time, many times.
// Whichever is last, the views are those of the newer version. For wide samples: TestMigrateFromTwoProcesses
// migrates at once.
func TestVersionsMigrateAtOnce(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	older, newer := openVersion(t, w, 1000, withView("older")), openVersion(t, w, 1001, withView("newer"))
	for range enginetest.Sample(1, 8) {
		must(t, w.admin.Exec(t.Context(), "DROP DATABASE "+w.database+" SYNC"))
		atOnce(t, older.Warehouse, newer.Warehouse, older.Warehouse, newer.Warehouse)
		if got := text(t, w, "SELECT version FROM made_by"); got[0] != "newer" {
			t.Errorf("the views are those of the %s version", got[0])
		}
		must(t, older.CheckSchema(t.Context()), newer.CheckSchema(t.Context()))
	}
}

// atOnce migrates from all at the same time.
func atOnce(t *testing.T, all ...*Warehouse) {
	t.Helper()
	var group sync.WaitGroup
	start := make(chan struct{})
	for _, w := range all {
		group.Go(func() {
			<-start
			if _, err := w.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	group.Wait()
}

// TestTurnOfADeadProcess does not wait for a process that is known to be dead, nor for one that has not renewed its
// turn for long.
func TestTurnOfADeadProcess(t *testing.T) {
	t.Parallel()
	w := open(t)
	insert := func(id, owner string) {
		t.Helper()
		must(t, w.exec(t.Context(), "INSERT INTO schema_turns_log (id, owner, over, version) VALUES ('"+id+"', '"+owner+
			"', 0, 1)"))
	}
	mine := &turn{w: w, table: schemaTurns}
	insert(idA, "elsewhere/1/deadbeef") // an embedded warehouse has one process
	if other, err := mine.ask(t.Context()); err != nil || other != "" {
		t.Errorf("it waits for %q, %v", other, err)
	}
	mine.release(t.Context())
	alive := w.owner.String()
	insert(idB, alive)
	if other, err := mine.ask(t.Context()); err != nil || other != alive {
		t.Errorf("it waits for %q, %v", other, err)
	}
	held, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	if err := mine.wait(held); err == nil {
		t.Error("it does not stop waiting")
	}
	later := w.sightings.now().Add(leaseTTL)
	w.sightings.now = func() time.Time { return later }
	if other, err := mine.ask(t.Context()); err != nil || other != "" {
		t.Errorf("after its time it waits for %q, %v", other, err)
	}
	mine.release(t.Context())
}
