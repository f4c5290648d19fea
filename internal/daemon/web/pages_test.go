package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// hostile is used wherever the service may write anything.
const hostile = `<script>alert(1)</script>`

const escaped = `&lt;script&gt;alert(1)&lt;/script&gt;`

// poison adds coupons that cannot be loaded as they are, with hostile text in them.
func poison(t *testing.T, b *bench) {
	t.Helper()
	for i := range 3 {
		record := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-00000000000%d","name":%q,"endDate":%q}`, i, hostile, hostile)
		if err := b.Put(apisim.StreamCoupons, "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Put(apisim.StreamCoupons, "acme",
		[]byte(`{"name":"`+hostile+`","description":"a record without an id"}`)); err != nil {
		t.Fatal(err)
	}
}

// TestEscaping lets hostile text come from everywhere it can: records, errors of the service, errors of this process,
// the configuration's schedule. It checks the headers of these pages too.
func TestEscaping(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	all := slices.Clone(b.streams)
	poison(t, b)
	b.pay(t, firstPayout, 1, "1")
	b.sell(t, 1, "CONFIRMED", "1", hostile, firstPayout)
	b.narrow("coupons", "transactions", "payouts")
	b.mustSync(t, "acme", b.configured("acme")...)
	b.streams = all
	b.doubt(t, "acme", "payouts")
	b.fail(t, "acme", "coupons")
	b.change("globex", "coupons", func(s *Stream) { s.LastError, s.Schedule = `"'>`+hostile, hostile })
	b.change("acme", "coupons", func(s *Stream) {
		s.Running = &syncer.Progress{Phase: syncer.Phase(hostile)}
	})
	x := b.serve(t, nil)
	x.soon(t, "Compared ")
	t.Run("text", func(t *testing.T) { testEscaped(t, x) })
	t.Run("headers", func(t *testing.T) { testHeaders(t, x) })
}

// testEscaped wants hostile text to be shown as text, and all of it.
func testEscaped(t *testing.T, x *site) {
	t.Helper()
	for path, least := range map[string]int{"/": 5, "/streams/acme/coupons": 5, "/streams/globex/coupons": 2,
		"/streams/acme/payouts": 2, "/payouts": 1} {
		body := x.page(t, path)
		if strings.Contains(body, "<script>") || strings.Contains(body, "alert(1)<") {
			t.Errorf("%s has hostile text as markup", path)
		}
		if n := strings.Count(body, escaped); n < least {
			t.Errorf("%s has the text %d times, want %d", path, n, least)
		}
	}
	for _, path := range []string{"/streams/acme/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/%3Cscript%3E",
		"/api/v1/runs?stream=%3Cscript%3E"} {
		if answer, body := x.get(t, path); strings.Contains(body, "<script") ||
			strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %s: %s", path, answer.Status, body)
		}
	}
}

// TestPages reads what the pages say about streams in different states.
func TestPages(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	x := b.serve(t, nil)
	wantText(t, x.page(t, "/"), "Nothing has run yet.", "Not run yet", "No runs yet", "in 4 minutes",
		"<code>*/5 * * * *</code>")
	wantText(t, x.page(t, "/streams/acme/coupons"), "Nothing has run yet. The first run comes in 4 minutes.",
		"Nothing that was rejected is open.")

	poison(t, b)
	b.mustSync(t, "acme")
	b.fresh()
	wantText(t, x.page(t, "/"), fmt.Sprintf("Records of the coupons of acme could not be loaded; %d streams have not run yet.", len(catalog.All())),
		"The last 1 run: 1 success.", ">Up to date<")
	page := x.page(t, "/streams/acme/coupons")
	wantText(t, page, "missing_key", "not_a_timestamp", "<code>endDate</code>", "<td>snapshot</td>", "Changes by day",
		fmt.Sprintf("1 success. The newest: success, %d rows in", b.loaded("acme", "coupons")),
		`href="/api/v1/runs?account=acme&amp;stream=coupons&amp;limit=1000"`)
	wantText(t, x.page(t, "/streams/acme/transactions"), "Transactions by day of sale", "at most", `title="2`)
	wantText(t, x.page(t, "/streams/acme/products"), "Product prices by day")

	// A run under way shows how far it is, compared with the length of the last run.
	b.change("acme", "products", func(s *Stream) {
		s.Since = b.now().Add(-90 * time.Second)
		s.Running = &syncer.Progress{Phase: syncer.PhaseReading, Totals: warehouse.Totals{Pages: 2, Read: 40, Bytes: 46_000}}
	})
	b.change("acme", "transactions", func(s *Stream) {
		s.Running = &syncer.Progress{Phase: syncer.PhaseReading, Windows: syncer.Windows{Total: 12, Done: 5}}
	})
	wantText(t, x.page(t, "/"), `<progress value="40" max="110"`, "Reading: 40 rows, 2 pages, 44.9 KiB, for 1 min 30 s",
		`<progress value="5" max="12"`, "5 windows of 12", `data-refresh="1500"`)

	// A guard stops the run after half of the coupons have vanished.
	n := 0
	for record := range b.Truth(apisim.StreamPromotions, "acme") {
		if n++; n%2 == 0 {
			id := strings.Split(strings.SplitN(string(record), `"id":"`, 2)[1], `"`)[0]
			if err := b.Delete(apisim.StreamPromotions, "acme", id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if errs := b.sync(t.Context(), t, "acme", "promotions"); errs["promotions"] == nil {
		t.Fatal("no guard stopped the run")
	}
	b.fresh()
	wantText(t, x.page(t, "/"), "A guard stopped the promotions of acme: a person must look.", ">Needs a person<",
		"1 run failed", "no longer lists")
	if body := x.page(t, "/"); strings.Count(body, `class="mark"`) != 1 {
		t.Error("the chart does not mark the run that was stopped")
	}
}

func wantText(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, text := range all {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not on the page: %s", text, strings.Join(strings.Fields(markup.ReplaceAllString(page, " ")), " "))
		}
	}
}

var markup = regexp.MustCompile(`<[^>]*>`)

// cut is a connection that can be made to fail.
type cut struct {
	driver.Conn
	broken *atomic.Bool
}

func (c cut) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if c.broken.Load() {
		return nil, fmt.Errorf("dial tcp 192.0.2.1:9000: connect: connection refused")
	}
	return c.Conn.Query(ctx, query, args...)
}

// wrapped opens the warehouse of the bench once more, through other connections.
func (b *bench) wrapped(t *testing.T, wrap func(driver.Conn) driver.Conn) *warehouse.Warehouse {
	t.Helper()
	return warehousetest.Again(t, b.w, warehouse.Options{Wrap: wrap})
}

// TestUnreachable makes the warehouse unreachable: pages show what was known, and say so (web-4).
func TestUnreachable(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.mustSync(t, "acme", "coupons")
	var broken atomic.Bool
	w := b.wrapped(t, func(c driver.Conn) driver.Conn { return cut{c, &broken} })
	through := func(o *Options) { o.Warehouse = w }
	x := b.serve(t, through)
	x.page(t, "/streams/acme/coupons")
	broken.Store(true)
	b.pass(3 * time.Minute)
	wantText(t, x.page(t, "/"), "The warehouse does not answer. This is what was known 3 minutes ago.",
		"connection refused", fmt.Sprintf(">%d</dd>", b.loaded("acme", "coupons")), ">Up to date<")
	wantText(t, x.page(t, "/streams/acme/coupons"), "The warehouse does not answer (", "<td>snapshot</td>")
	var status statusJSON
	x.json(t, "/api/v1/status", &status)
	if status.State != stateCut || status.Warehouse.Reachable ||
		!strings.Contains(status.Warehouse.Error, "connection refused") || len(status.Streams) != 2*len(catalog.All()) {
		t.Errorf("%+v", status)
	}
	if answer, body := x.get(t, "/api/v1/runs"); answer.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(body, "connection refused") {
		t.Errorf("%s: %s", answer.Status, body)
	}

	// A daemon that has never reached the warehouse still knows its configuration.
	y := b.serve(t, through)
	wantText(t, y.page(t, "/"), "The warehouse does not answer.", "connection refused", ">Unknown<", "No runs known")
	wantText(t, y.page(t, "/streams/acme/coupons"), "The warehouse does not answer (")

	broken.Store(false)
	b.fresh()
	wantText(t, x.page(t, "/"), "1 stream is up to date; 11 streams have not run yet.")
	wantText(t, y.page(t, "/"), "1 stream is up to date; 11 streams have not run yet.")
}

// TestNoServer names a server that does not exist: the page gives the reason at once, without
// the statement that failed.
func TestNoServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "clickhouse"} {
		log := &buffer{}
		w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: scheme + "://reader:s3cret@" + closed.Addr().String(),
			Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		x := b.serve(t, func(o *Options) { o.Warehouse = w })
		body := x.page(t, "/")
		wantText(t, body, "The warehouse does not answer.", "connection refused")
		if strings.Contains(body, "SELECT") || strings.Contains(body, "s3cret") ||
			strings.Contains(log.String(), "trying again") {
			t.Errorf("%s: %s\n%s", scheme, body, log)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
