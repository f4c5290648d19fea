package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// counted counts the inserts that are sent.
type counted struct {
	driver.Conn
	inserts *int
}

func (c counted) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	*c.inserts++
	return c.Conn.PrepareBatch(ctx, query, opts...)
}

// TestPoison stages batches of which the engine refuses a few rows. These are found, with their JSON, in few inserts,
// and all others are staged, also if the same batch is sent again.
func TestPoison(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	inserts := 0
	w.conn = counted{w.conn, &inserts}
	if err := w.exec(t.Context(), "ALTER TABLE coupons_staging ADD CONSTRAINT taste CHECK code != 'poison'"); err != nil {
		t.Fatal(err)
	}
	const rows = 500
	id := func(i int) string { return fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", i) }
	poisoned := []int{3, 4, 250, 499}
	record := func(i int) string {
		if slices.Contains(poisoned, i) {
			return coupon(id(i), "poison", "2026-01-01T00:00:00Z")
		}
		return coupon(id(i), fmt.Sprint(i), "2026-01-01T00:00:00Z")
	}
	r := begin(t, w, "coupons")
	batch, d := decode.NewBatch(r.Stream), decode.New(r.Stream)
	for from := 0; from < rows; from += 100 { // the first record of each page has no key, and so no row
		page := `[{"code":"poison"}`
		for i := from; i < from+100; i++ {
			page += "," + record(i)
		}
		if err := d.Page(batch, []byte(page+"]"), uint32(from/100+1), 1); err != nil {
			t.Fatal(err)
		}
	}
	var want []decode.Reject
	for _, i := range poisoned {
		want = append(want, decode.Reject{Page: uint32(i/100 + 1), Fetched: 1, Key: id(i), Reason: decode.ReasonRefused,
			Raw: record(i)})
	}
	for range 2 {
		inserts = 0
		got, err := w.Writer(r).Stage(t.Context(), 1, batch)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(decode.Reject{}, "Sum")); d != "" {
			t.Error(d)
		}
		if most := 2*len(poisoned)*9 + 1; inserts > most { // 2^9 > 500
			t.Errorf("%d inserts, at most %d are needed", inserts, most)
		}
		if n := staged(t, w, r).Rows; n != uint64(rows-len(poisoned)) {
			t.Errorf("%d rows are staged", n)
		}
	}
	if c := publish(t, w, r, Whole); c.Inserted != uint64(rows-len(poisoned)) {
		t.Errorf("%+v", c)
	}

	// A record that is listed and can no longer be loaded is not gone: its row stays, and no check counts
	// it as surplus.
	r = begin(t, w, "coupons")
	batch.Reset()
	page := "[" + coupon(id(5), "poison", "2026-01-02T00:00:00Z") + "," + record(6) + "]"
	if err := d.Page(batch, []byte(page), 1, r.StartedAt.UnixMicro()); err != nil {
		t.Fatal(err)
	}
	rejects, err := w.Writer(r).Stage(t.Context(), 1, batch)
	if err == nil {
		err = w.Writer(r).Reject(t.Context(), rejects)
	}
	if err != nil {
		t.Fatal(err)
	}
	live := uint64(rows - len(poisoned))
	c := publish(t, w, r, Whole)
	if got := text(t, w, "SELECT code FROM coupons WHERE id = '"+id(5)+"'"); c.Deleted != live-2 || len(got) != 1 ||
		got[0] != "5" {
		t.Errorf("%+v, and of the row that was refused there is %q", c, got)
	}
	checks, err := w.CheckQuality(t.Context(),
		RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, Mode: catalog.Snapshot.String(), Outcome: OutcomeSuccess,
			StartedAt: r.StartedAt, FinishedAt: time.Now().Add(time.Hour), Changes: c, Totals: Totals{Unloadable: 1}})
	if err != nil || len(checks) == 0 || checks[0].Name != CheckRowsMatch || !checks[0].OK {
		t.Errorf("%+v, %v", checks, err)
	}
}

// TestPoisonedParent leaves out a product that the engine refuses, with its prices, and no other. For wide samples:
// TestPoison has rows that are refused.
func TestPoisonedParent(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	if err := w.exec(t.Context(), "ALTER TABLE products_staging ADD CONSTRAINT c CHECK name != 'poison'"); err != nil {
		t.Fatal(err)
	}
	r := begin(t, w, "products")
	const poisoned = `{"url":"https://a.test/2","name":"poison","history":[{"yearMonthDay":"2026-01-02","views":666}]}`
	page := `[{"url":"https://a.test/1","history":[{"yearMonthDay":"2026-01-01","views":1},{"views":7},{"yearMonthDay":"2026-01-03","views":3}]},` +
		poisoned + `,{"url":"https://a.test/3","history":[{"yearMonthDay":"2026-01-04"}]}]`
	batch := decode.NewBatch(r.Stream)
	if err := decode.New(r.Stream).Page(batch, []byte(page), 1, r.StartedAt.UnixMicro()); err != nil {
		t.Fatal(err)
	}
	got, err := w.Writer(r).Stage(t.Context(), 1, batch)
	if err != nil {
		t.Fatal(err)
	}
	want := []decode.Reject{{Page: 1, Fetched: r.StartedAt.UnixMicro(), Key: batch.Key(1), Reason: decode.ReasonRefused,
		Raw: poisoned}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(decode.Reject{}, "Sum")); d != "" {
		t.Error(d)
	}
	if c := publish(t, w, r, Whole); c.Inserted != 2 {
		t.Errorf("%+v", c)
	}
	if d := cmp.Diff([]string{"2026-01-01 1", "2026-01-03 3", "2026-01-04 \u2400"},
		text(t, w, "SELECT day, ifNull(toString(views), '\u2400') FROM product_prices ORDER BY day")); d != "" {
		t.Error(d)
	}
}

// TestAllIsPoison gives up if the table itself is wrong, after a limited number of inserts. For wide samples:
// TestPoison has rows that are refused.
func TestAllIsPoison(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	if err := w.exec(t.Context(), "ALTER TABLE coupons_staging ADD CONSTRAINT never CHECK 0"); err != nil {
		t.Fatal(err)
	}
	r := begin(t, w, "coupons")
	batch := decode.NewBatch(r.Stream)
	if err := decode.New(r.Stream).Page(batch, []byte(coupons(maxRefused+1)), 1, 1); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	var exception *clickhouse.Exception
	if _, err := w.Writer(r).Stage(t.Context(), 1, batch); !errors.As(err, &refused) || !errors.As(err, &exception) ||
		!strings.Contains(err.Error(), "coupons") {
		t.Errorf("%v", err)
	}
	if n := staged(t, w, r).Rows; n != 0 {
		t.Errorf("%d rows are staged", n)
	}
}
