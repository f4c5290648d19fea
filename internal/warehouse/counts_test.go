package warehouse

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// prepare prepares a run of coupons, and returns it with its intent and lease.
func prepare(t *testing.T, w *Warehouse, page string) (Run, Intent, *Lease) {
	t.Helper()
	r := begin(t, w, "coupons")
	stage(t, w, r, page)
	l, err := w.Acquire(t.Context(), r)
	must(t, err)
	c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
	must(t, err)
	prepared, err := w.Writer(r).Prepare(t.Context(), c, r.StartedAt)
	must(t, err)
	return r, Intent{RunID: r.ID, MergedAt: r.StartedAt, Watermark: r.StartedAt, Prepared: prepared,
		Record: RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt, Outcome: OutcomeSuccess,
			Changes: c}}, l
}

// TestServerAttachesNothing publishes to a server that reports success but has attached no row, or those of one table
// only. The state stays, and the next run publishes.
func TestServerAttachesNothing(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"coupons_latest", "coupons_versions"}[:enginetest.Sample(1, 2)] {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			far, f := serve(t, w, Options{}, is())
			r, in, l := prepare(t, far, "["+coupon(idA, "a1", day1)+"]")
			f.does(func(s string) string {
				if strings.HasPrefix(s, "ALTER TABLE "+table+" ATTACH PARTITION") {
					return "SELECT 1"
				}
				return s
			})
			err := far.Writer(r).Publish(t.Context(), l, in)
			if lost, ok := errors.AsType[*PublishedError](err); !ok ||
				*lost != (PublishedError{Table: table, Want: 1, Have: 0}) {
				t.Errorf("%v", err)
			}
			if marks := watermarks(t, w); len(marks) > 0 {
				t.Errorf("the watermark moved: %v", marks)
			}
			must(t, l.Expire(t.Context()))

			f.does(is())
			if recovered := takeOver(t, far, begin(t, far, "coupons")); len(recovered) != 1 {
				t.Errorf("recovered %v", recovered)
			}
			if d := cmp.Diff([]string{"a1"}, text(t, w, "SELECT code FROM coupons")); d != "" {
				t.Error(d)
			}
			if n := text(t, w, "SELECT count() FROM coupons_versions"); n[0] != "1" {
				t.Errorf("%s versions", n[0])
			}
			if marks := watermarks(t, w); len(marks) != 1 {
				t.Errorf("watermarks %v", marks)
			}
		})
	}
}

// emptier empties a table once, just before a statement with a certain beginning.
type emptier struct {
	driver.Conn
	before, table string
}

func (c *emptier) empty(ctx context.Context, query string) error {
	if c.before == "" || !strings.HasPrefix(query, c.before) {
		return nil
	}
	c.before = ""
	return c.Conn.Exec(context.WithoutCancel(ctx), "TRUNCATE TABLE "+c.table)
}

func (c *emptier) Exec(ctx context.Context, query string, args ...any) error {
	return errors.Join(c.empty(ctx, query), c.Conn.Exec(ctx, query, args...))
}

func (c *emptier) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if err := c.empty(ctx, query); err != nil {
		return nil, err
	}
	return c.Conn.Query(ctx, query, args...)
}

// TestEmptiedDelta empties what a run has prepared, before it is published and while it is: a replica that lags has
// none of it. The state stays, and the next run reads everything again. Without a wide sample, only while it is. For
// wide samples: TestServerAttachesNothing has a publication without its rows.
func TestEmptiedDelta(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	for name, before := range map[string]string{
		"before": "SELECT table, hash_of_all_files", "while": "ALTER TABLE coupons_versions ATTACH",
		"between": "ALTER TABLE coupons_latest ATTACH",
	} {
		if name != "while" && !enginetest.Wide() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			c := &emptier{}
			again, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database,
				Wrap: func(conn driver.Conn) driver.Conn {
					if c.Conn == nil {
						c.Conn = conn
						return c
					}
					return conn
				}})
			must(t, err)
			t.Cleanup(func() { must(t, again.Close()) })
			load(t, again, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]")
			r, in, l := prepare(t, again, "["+coupon(idA, "a2", day2)+"]")
			c.before, c.table = before, r.delta()
			err = again.Writer(r).Publish(t.Context(), l, in)
			if lost, ok := errors.AsType[*DeltaError](err); !ok || lost.Want != 1 || lost.Rows != 0 {
				t.Errorf("%v", err)
			}
			must(t, l.Expire(t.Context()))
			if recovered := takeOver(t, again, begin(t, again, "coupons")); len(recovered) != 0 {
				t.Errorf("recovered %v", recovered)
			}
			if marks := watermarks(t, w); len(marks) > 0 {
				t.Errorf("the watermark moved: %v", marks)
			}
			load(t, again, "coupons", Whole, "["+coupon(idA, "a2", day2)+"]")
			if d := cmp.Diff([]string{"a2"}, text(t, w, "SELECT code FROM coupons")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestKeyTwice checks that a delta is not published if it has a key twice, or more rows than the plan.
func TestKeyTwice(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	r := begin(t, w, "products")
	stage(t, w, r, `[{"url":"https://a.test/p","history":[{"yearMonthDay":"2026-01-01","price":1}]}]`)
	x := w.Writer(r)
	c, err := x.Plan(t.Context(), Whole, staged(t, w, r))
	must(t, err)
	_, err = x.Prepare(t.Context(), c, r.StartedAt)
	must(t, err)
	for table, delta := range map[string]string{"products_latest": r.delta(), "product_prices_latest": r.childDelta()} {
		must(t, w.exec(t.Context(), "SYSTEM STOP MERGES "+delta),
			w.exec(t.Context(), "INSERT INTO "+delta+" SELECT * FROM "+delta))
		if rows := text(t, w, "SELECT count() FROM "+delta); rows[0] != "2" {
			t.Fatalf("%s rows", rows[0])
		}
		counted := c
		if table == "products_latest" {
			counted.Inserted = 2
		}
		_, err := x.countPrepared(t.Context(), counted)
		if twice, ok := errors.AsType[*DeltaError](err); !ok ||
			*twice != (DeltaError{Table: table, Want: 2, Rows: 2, Keys: 1}) {
			t.Errorf("%v", err)
		}
		must(t, w.exec(t.Context(), "TRUNCATE TABLE "+delta), x.Discard(t.Context()))
		if table == "products_latest" {
			must(t, x.DropStaging(t.Context()))
		}
		stage(t, w, r, `[{"url":"https://a.test/p","history":[{"yearMonthDay":"2026-01-01","price":1}]}]`)
		_, err = x.Prepare(t.Context(), c, r.StartedAt)
		must(t, err)
	}
}

// TestKeyOfNullTwice checks the same if a part of the key is NULL.
func TestKeyOfNullTwice(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := begin(t, w, "transactions")
	stage(t, w, r, `[{"id":"`+idA+`","updatedAt":"`+day1+`"},{"id":"`+idB+`","updatedAt":"`+day1+`"}]`)
	x := w.Writer(r)
	c, err := x.Plan(t.Context(), Part, staged(t, w, r))
	must(t, err)
	_, err = x.Prepare(t.Context(), c, r.StartedAt)
	must(t, err)
	must(t, w.exec(t.Context(), "SYSTEM STOP MERGES "+r.delta()),
		w.exec(t.Context(), "INSERT INTO "+r.delta()+" SELECT * FROM "+r.delta()+" WHERE id = '"+idA+"'"))
	c.Inserted = 3
	_, err = x.countPrepared(t.Context(), c)
	if twice, ok := errors.AsType[*DeltaError](err); !ok ||
		*twice != (DeltaError{Table: "transactions_latest", Want: 3, Rows: 3, Keys: 2}) {
		t.Errorf("%v", err)
	}
}

// TestMergedAway counts what was attached and has been merged with other parts since.
func TestMergedAway(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]")
	r, in, l := prepare(t, w, "["+coupon(idA, "a2", day2)+"]")
	p := publication{Writer: w.Writer(r), lease: l, intent: in}
	for _, target := range p.targets() {
		must(t, p.attach(t.Context(), target))
		must(t, w.exec(t.Context(), "OPTIMIZE TABLE "+target.table+" FINAL"))
	}
	must(t, p.checkAttached(t.Context(), p.targets()))
	p.begun = true
	must(t, p.finish(t.Context()), l.Release(t.Context()))
	if n := text(t, w, "SELECT count() FROM coupons_versions"); n[0] != "2" {
		t.Errorf("%s versions: a delta that was attached was attached again", n[0])
	}
}
