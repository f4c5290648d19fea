package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// skewed is a connection to a warehouse whose clock is wrong by the time in by. It counts the statements.
type skewed struct {
	driver.Conn
	by         *atomic.Int64 // a time.Duration
	statements *atomic.Int64
}

func (c skewed) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	c.statements.Add(1)
	return c.Conn.Query(ctx, query, args...)
}

func (c skewed) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	c.statements.Add(1)
	row := c.Conn.QueryRow(ctx, query, args...)
	if strings.Contains(query, "now64(6)") {
		return skewedRow{row, time.Duration(c.by.Load())}
	}
	return row
}

type skewedRow struct {
	driver.Row
	by time.Duration
}

func (r skewedRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	if us, ok := dest[0].(*int64); ok {
		*us += r.by.Microseconds()
	}
	return err
}

// openSkewed is open with a clock that can be set.
func openSkewed(t *testing.T) (w *Warehouse, clock skewed) {
	t.Helper()
	clock = skewed{by: &atomic.Int64{}, statements: &atomic.Int64{}}
	w, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: open(t).database,
		Wrap: func(c driver.Conn) driver.Conn {
			return skewed{c, clock.by, clock.statements}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, clock
}

const year = 365 * 24 * time.Hour

// TestClockIsSet sets the clock of the warehouse between two runs. The later run counts, in the data and in all records
// about runs. Without a wide sample, it is set back by a year.
func TestClockIsSet(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	cases := []struct {
		name          string
		before, after time.Duration
	}{{"a year back", 0, -year}, {"a year ahead", 0, year}, {"a year ahead and back", year, 0},
		{"two minutes back", 0, -2 * time.Minute}, {"from 1971", -54 * year, 0}}
	for _, c := range cases[:enginetest.Sample(1, len(cases))] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, clock := openSkewed(t)
			const day = "2026-01-01T00:00:00Z"
			product := func(price int) string {
				return fmt.Sprintf(`[{"url":"https://a.test/p","price":%d,"history":[{"yearMonthDay":"2026-01-01","price":%d}]}]`,
					price, price)
			}
			clock.by.Store(int64(c.before))
			load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day)+","+coupon(idB, "b1", day)+"]")
			load(t, w, "products", Whole, product(1))
			earlier := begin(t, w, "coupons")
			record := RunRecord{Account: "acme", Stream: "coupons", RunID: earlier.ID, StartedAt: earlier.StartedAt,
				Outcome: OutcomeRunning}
			orphan := record
			orphan.RunID = uuid.New()
			check := Check{Account: "acme", Stream: "coupons", RunID: earlier.ID, Name: CheckRowsMatch}
			finding := Finding{Account: "acme", Kind: "missing", Subject: "1", Detail: "d"}
			must(t, w.SaveRun(t.Context(), record), w.SaveRun(t.Context(), orphan),
				w.Writer(earlier).SaveBackfill(t.Context(), BackfillPrefix+"x", "1"), saveCheck(t, w, check))
			if _, err := w.RecordFindings(t.Context(), "acme", []Finding{finding}); err != nil {
				t.Fatal(err)
			}
			must(t, w.Writer(earlier).SaveMisses(t.Context(), []Miss{{uuid.MustParse(idC), MissNotFound}}))

			clock.by.Store(int64(c.after))
			load(t, w, "coupons", Whole, "["+coupon(idA, "a2", day)+"]")
			load(t, w, "products", Whole, product(2))
			record.Outcome, check.OK = OutcomeSuccess, true
			must(t, w.SaveRun(t.Context(), record), w.markDeadRuns(t.Context(), "acme", "coupons", uuid.Nil),
				w.Writer(earlier).SaveBackfill(t.Context(), BackfillPrefix+"x", "2"), saveCheck(t, w, check))
			if _, err := w.RecordFindings(t.Context(), "acme", nil); err != nil {
				t.Fatal(err)
			}
			must(t, w.Writer(earlier).SaveMisses(t.Context(), []Miss{{uuid.MustParse(idC), MissRefused}}))

			for _, want := range []struct{ query, rows string }{
				{"SELECT code FROM coupons", "a2"},
				{"SELECT price FROM products", "2"},
				{"SELECT price FROM product_prices", "2"},
				{"SELECT outcome, count() FROM sync_runs WHERE stream = 'coupons' GROUP BY outcome ORDER BY outcome",
					"killed 1,success 3"},
				{"SELECT value FROM sync_state WHERE name = '" + BackfillPrefix + "x'", "2"},
				{"SELECT name FROM sync_state WHERE name = 'lease'", ""},
				{"SELECT count() FROM payout_findings WHERE resolved_at IS NULL", "0"},
				{"SELECT argMax(ok, checked_at) FROM quality_checks_log", "true"},
				{"SELECT reason FROM reference_misses_log FINAL", MissRefused},
			} {
				if got := strings.Join(text(t, w, want.query), ","); got != want.rows {
					t.Errorf("%s: %q, want %q", want.query, got, want.rows)
				}
			}
		})
	}
}

// saveCheck writes a check to quality_checks, as a run does.
func saveCheck(t *testing.T, w *Warehouse, c Check) error {
	t.Helper()
	s, err := catalog.Find(c.Stream)
	q := newQuality(w, RunRecord{Account: c.Account, Stream: c.Stream}, s)
	q.checks = []Check{c}
	return errors.Join(err, q.before(t.Context()), q.save(t.Context()))
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestRunOfAWrongClockIsNotTheLast leaves a run that seems to begin in a future year out of the states of streams. For
// wide samples: TestClockIsSet sets the clock.
func TestRunOfAWrongClockIsNotTheLast(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w, clock := openSkewed(t)
	for _, run := range []struct {
		skew    time.Duration
		outcome string
	}{{year, OutcomeSuccess}, {0, OutcomeFailed}} {
		clock.by.Store(int64(run.skew))
		r := begin(t, w, "coupons")
		must(t, w.SaveRun(t.Context(), RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt,
			FinishedAt: r.StartedAt, Outcome: run.outcome}))
	}
	all, err := w.Standings(t.Context())
	if err != nil || len(all) != 1 || all[0].LastOutcome != OutcomeFailed || all[0].LookedAt != nil &&
		all[0].LookedAt.After(all[0].Now) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestMigrationsAreKeptWhenTheClockIsSetBack applies a schema again after a record that a clock ahead has made. For
// wide samples: TestRejectsWithTheClockSetBack has such a clock, TestMigrateTwice the records.
func TestMigrationsAreKeptWhenTheClockIsSetBack(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	must(t, w.exec(t.Context(), "INSERT INTO schema_migrations_log (version, name, checksum, applied_at) VALUES (0, 'streams', 'other', now64(3) + INTERVAL 1 YEAR)"))
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLeaseOfAWrongClock does not wait until the time that a lease names, but for as long as a lease lasts that
// is not renewed.
func TestLeaseOfAWrongClock(t *testing.T) {
	t.Parallel()
	w, clock := openSkewed(t)
	local := time.Now()
	w.sightings.now = func() time.Time { return local }
	r := begin(t, w, "coupons")
	renew := func() {
		t.Helper()
		clock.by.Store(int64(year))
		now, err := w.Now(t.Context())
		must(t, err)
		value, err := json.Marshal(leaseValue{Owner: "elsewhere", Attempt: uuid.New(), RunID: uuid.New(),
			Expires: now.Add(leaseTTL).UnixMicro()})
		must(t, err, w.saveStates(t.Context(), r.Account, "coupons", stateRow{stateLease, string(value), 0}))
		clock.by.Store(0)
	}
	held := func(want time.Duration) {
		t.Helper()
		before, err := w.Now(t.Context())
		must(t, err)
		_, err = w.Acquire(t.Context(), r)
		after, _ := w.Now(t.Context())
		var held *HeldError
		if !errors.As(err, &held) || held.Expires.Before(before.Add(want)) || held.Expires.After(after.Add(want)) {
			t.Fatalf("between %s and %s, want a lease of %s, got %v", before, after, want, err)
		}
	}
	renew()
	held(leaseTTL)
	local = local.Add(leaseTTL - time.Second)
	held(time.Second)
	renew() // its holder is alive
	local = local.Add(time.Second)
	held(leaseTTL)
	local = local.Add(leaseTTL)
	l, err := w.Acquire(t.Context(), r)
	must(t, err)
	if !l.Orphan() {
		t.Error("the holder is not told that the last one may be dead")
	}
	must(t, l.Release(t.Context()))
}

// TestIntentsInTheOrderOfWriting carries out the older of two intents first, even if the clock was set back
// between them.
func TestIntentsInTheOrderOfWriting(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := begin(t, w, "coupons")
	must(t, w.saveStates(t.Context(), "acme", "coupons", stateRow{intentName(uuid.New()), "0", 0}))
	// The server writes the time itself. So the time is changed here, to what a clock that is a year ahead would
	// have written.
	must(t, w.exec(t.Context(), "INSERT INTO sync_state_log SELECT * REPLACE (updated_at + INTERVAL 1 YEAR AS updated_at) FROM sync_state_log WHERE value = '0'"))
	must(t, w.saveStates(t.Context(), "acme", "coupons", stateRow{intentName(uuid.New()), "1", 0}))
	l, err := w.Acquire(t.Context(), r)
	must(t, err)
	var order []string
	for _, s := range l.states {
		if strings.HasPrefix(s.name, stateIntent) {
			order = append(order, s.value)
		}
	}
	if d := cmp.Diff([]string{"0", "1"}, order); d != "" {
		t.Error(d)
	}
	must(t, l.Release(t.Context()))
}
