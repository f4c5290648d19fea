package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/enginetest"
)

// fillAll fills all tables that are copied with random rows of two accounts.
func fillAll(t *testing.T, w *Warehouse, rows, seed int) {
	t.Helper()
	tables, err := w.permanentTables(t.Context())
	must(t, err)
	if len(tables) < 30 {
		t.Fatalf("only %d tables are copied", len(tables))
	}
	for _, table := range tables {
		fill(t, w, table, rows, seed)
	}
}

func fill(t *testing.T, w *Warehouse, table copiedTable, rows, seed int) {
	t.Helper()
	var structure, values []string
	for _, c := range table.columns {
		typ := c.typ
		if inner, is := strings.CutPrefix(typ, "SimpleAggregateFunction("); is {
			_, inner, _ = strings.Cut(inner, ", ")
			typ = strings.TrimSuffix(inner, ")")
		}
		typ = strings.NewReplacer("LowCardinality(String)", "String", "Bool", "UInt8").Replace(typ)
		structure = append(structure, c.name+" "+typ)
		switch {
		case c.name == "account":
			values = append(values, "['acme', 'globex'][1 + modulo(rowNumberInAllBlocks(), 2)]")
		case c.name == "version": // of what is written later it is higher
			values = append(values, fmt.Sprintf("%d * 1000 + modulo(version, 1000)", 1+seed))
		case strings.HasSuffix(table.name, "_latest") && c.name == "_deleted":
			values = append(values, "modulo(_deleted, 2)")
		case c.typ == "DateTime64(3, 'UTC')" && c.name != "sold_at", c.typ == "DateTime64(6, 'UTC')",
			strings.HasSuffix(c.typ, ", DateTime('UTC'))"):
			values = append(values, fmt.Sprintf("toDateTime64('2026-05-01 00:00:00', 6, 'UTC') + toIntervalMillisecond(modulo(reinterpret(%s, 'Int32'), 1000000))", c.name))
		case c.name == "sold_at":
			values = append(values, "if(sold_at IS NULL, NULL, toDateTime64('2026-05-01 00:00:00', 3, 'UTC') - toIntervalDay(modulo(reinterpret(assumeNotNull(sold_at), 'UInt32'), 70)))")
		default:
			values = append(values, c.name)
		}
	}
	statement := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generateRandom(%s, %d, 12, 3) LIMIT %d", table.name, joinNames(table.columns),
		strings.Join(values, ", "), quote(strings.Join(structure, ", ")), seed, rows)
	if err := w.conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("filling %s: %v\n%s", table.name, err, statement)
	}
}

// compareAll compares all tables of two databases of the engine, row by row, without what the copy compares by.
func compareAll(t *testing.T, a, b *Warehouse) {
	t.Helper()
	tables, err := a.permanentTables(t.Context())
	must(t, err)
	for _, table := range tables {
		side := func(w *Warehouse) string {
			return fmt.Sprintf("SELECT %s, count() AS times FROM %s.%s %s WHERE %s GROUP BY ALL", joinNames(table.columns), w.database,
				table.name, table.final, table.where)
		}
		for _, query := range []string{side(a) + " EXCEPT " + side(b), side(b) + " EXCEPT " + side(a)} {
			var differ uint64
			must(t, a.conn.QueryRow(t.Context(), "SELECT count() FROM ("+query+")").Scan(&differ))
			if differ > 0 {
				t.Errorf("%s: %d rows differ", table.name, differ)
			}
		}
	}
}

func (o CopyOptions) quiet() CopyOptions {
	o.Waiting = func(StreamID) {}
	if o.Copying == nil {
		o.Copying = func(string, uint64) {}
	}
	return o
}

// Rows of every table, with every type and every nonsense, arrive as they are. What is copied again brings what has
// changed, and a copy that ends at any piece goes on.
func TestCopy(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	from, to := open(t), open(t)
	fillAll(t, from, 300, 1)
	copyKilled(t, from, to, 60, 1000)
	compareAll(t, from, to)
	c, err := from.CopyTo(t.Context(), to, CopyOptions{}.quiet())
	must(t, err)
	if c.Rows < 5000 || c.Written != 0 {
		t.Errorf("nothing has changed, and the copy says %+v", c)
	}
	if !enginetest.Wide() {
		return
	}
	fillAll(t, from, 100, 2)
	for table, condition := range map[string]string{"transactions_versions": "cityHash64(_run_id) % 3 = 0", "coupons_latest": "cityHash64(id) % 3 = 0",
		"sync_runs_log": "started_at < '2026-04-30 23:55:00'"} { // as retention does
		must(t, from.conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 2})),
			"ALTER TABLE "+table+" DELETE WHERE "+condition))
	}
	copyKilled(t, from, to, 1, 2)
	compareAll(t, from, to)
}

// copyKilled copies, and ends the copy at more and more pieces, until one comes to its end.
func copyKilled(t *testing.T, from, to *Warehouse, first, factor int) {
	t.Helper()
	for end := first; ; end *= factor {
		ctx, kill := context.WithCancel(t.Context())
		left := end
		_, err := from.CopyTo(ctx, to, CopyOptions{Copying: func(string, uint64) {
			if left--; left == 0 {
				kill()
			}
		}}.quiet())
		kill()
		if left > 0 {
			must(t, err)
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("a copy that was ended: %v", err)
		}
	}
}

// corrupting changes what is sent: it leaves out rows, or doubles them, or changes a cell.
type corrupting struct {
	driver.Conn
	fault string
	left  *atomic.Int64 // how many rows it does that to
}

func (c corrupting) PrepareBatch(ctx context.Context, query string, o ...driver.PrepareBatchOption) (driver.Batch, error) {
	b, err := c.Conn.PrepareBatch(ctx, query, o...)
	if !strings.Contains(query, "coupons_") && !strings.Contains(query, "payouts_") {
		return b, err
	}
	return corruptBatch{b, c}, err
}

type corruptBatch struct {
	driver.Batch
	by corrupting
}

func (b corruptBatch) Append(row ...any) error {
	if b.by.left.Add(-1) < 0 {
		return b.Batch.Append(row...)
	}
	switch b.by.fault {
	case "lost":
		return nil
	case "altered":
		row = slices.Clone(row)
		for i, cell := range row {
			if text, is := cell.(string); is && i > 0 && text != "" {
				row[i] = text[:len(text)-1] + string([]byte{text[len(text)-1] ^ 1})
				break
			}
		}
	case "doubled":
		if err := b.Batch.Append(row...); err != nil {
			return err
		}
	}
	return b.Batch.Append(row...)
}

// What is lost, doubled or altered on the way is noticed. If that ends, it is put right; else the copy fails.
func TestCopyCorrupted(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	from := open(t)
	for _, name := range []string{"coupons_latest", "coupons_versions", "payouts_versions"} {
		tables, err := from.permanentTables(t.Context())
		must(t, err)
		fill(t, from, tables[slices.IndexFunc(tables, func(x copiedTable) bool { return x.name == name })], 50, 3)
	}
	for _, fault := range []string{"lost", "altered", "doubled"} {
		for _, times := range []int64{3, 1 << 40} {
			t.Run(fmt.Sprint(fault, times), func(t *testing.T) {
				t.Parallel()
				to := open(t)
				left := new(atomic.Int64)
				left.Store(times)
				bad, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: to.database,
					Wrap: func(c driver.Conn) driver.Conn { return corrupting{c, fault, left} }})
				must(t, err)
				defer func() { must(t, bad.Close()) }()
				_, err = from.CopyTo(t.Context(), bad, CopyOptions{}.quiet())
				if x, is := errors.AsType[*CopyError](err); times > 3 && (!is || !strings.Contains(x.Error(), "not equal")) {
					t.Errorf("it never ends, and the copy says %v", err)
				}
				if times == 3 {
					must(t, err)
					compareAll(t, from, to)
				}
			})
		}
	}
}

// A warehouse that was loaded by itself, or in which people have entered something, is not copied into.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	run := "INSERT INTO sync_runs_log (account, stream, run_id, started_at, version) VALUES ('acme', 'coupons', generateUUIDv4(), now64(3), 1)"
	must(t, from.conn.Exec(t.Context(), run))
	must(t, to.conn.Exec(t.Context(), "INSERT INTO settlements_log (account, reference, revision, hash, amount) VALUES ('acme', 'r', 1, 'h', 5)"))
	refused := func(words string) {
		t.Helper()
		_, err := from.CopyTo(t.Context(), to, CopyOptions{}.quiet())
		if x, is := errors.AsType[*CopyError](err); !is || !strings.Contains(x.Error(), words) {
			t.Errorf("%v", err)
		}
	}
	refused("entered there")
	must(t, to.conn.Exec(t.Context(), run))
	refused("loaded by itself")
	if n := text(t, to, "SELECT count() FROM settlements_log"); n[0] != "1" {
		t.Errorf("what was entered: %s rows", n)
	}
}

// While a run is under way, the copy waits for it. What it brings without its state counts as not loaded.
func TestCopyWaits(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	r := begin(t, from, "coupons")
	stage(t, from, r, "["+coupon(idA, "a", day1)+"]")
	publish(t, from, r, Whole)
	lease, err := from.Acquire(t.Context(), begin(t, from, "coupons"))
	must(t, err)
	waited := false
	_, err = from.CopyTo(t.Context(), to, CopyOptions{Wait: 50 * time.Millisecond, Copying: func(string, uint64) {},
		Waiting: func(id StreamID) { waited = waited || id.Stream == "coupons" }})
	if !errors.Is(err, errStillRunning) || !waited {
		t.Errorf("waited: %v, %v", waited, err)
	}
	if rows, state := text(t, to, "SELECT count() FROM coupons"), text(t, to, "SELECT count() FROM sync_state"); rows[0] != "1" || state[0] != "0" {
		t.Errorf("%s rows and %s states were copied", rows, state)
	}
	must(t, lease.Release(t.Context()))
	_, err = from.CopyTo(t.Context(), to, CopyOptions{Wait: time.Minute}.quiet())
	must(t, err)
	compareAll(t, from, to)
}
