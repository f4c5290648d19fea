package syncer

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// clockWorld is a service whose clocks can be set: that of its updatedAt and that of its Date header. A cache or a copy
// that is behind may answer in its place. Time in it passes only when a test says so, for the warehouse too.
type clockWorld struct {
	*worker
	store   *warehouse.Warehouse
	account string
	began   time.Time

	mu        sync.Mutex
	passed    time.Duration // since began
	date      time.Duration // how far the clock of the Date header is ahead
	stamps    time.Duration // how far that of updatedAt is
	warehouse time.Duration // how far that of the warehouse is
	noDate    bool
	lists     map[string]map[string]clockRow // by path and id
	copies    []*clockWorld                  // of before
	cache     *clockWorld                    // a cache of that time answers for the lists; nil: none does
	lag       time.Duration                  // a copy that is so far behind answers; 0: none does
	header    http.Header                    // added to answers of the cache
	page      int
	version   int
	requests  int
	onRequest func(n int)
}

type clockRow struct {
	version int
	updated time.Time
}

const (
	pathTransactions = "/v1/deals/transactions"
	pathCoupons      = "/v1/deals/coupons"
	pathProducts     = "/v2/products"
)

var clockPaths = []string{pathTransactions, pathCoupons, pathProducts}

func newClockWorld(t *testing.T, w *warehouse.Warehouse, account string) *clockWorld {
	t.Helper()
	c := &clockWorld{store: w, account: account, began: time.Now().UTC().Truncate(time.Second), page: 7,
		lists: map[string]map[string]clockRow{}}
	for _, p := range clockPaths {
		c.lists[p] = map[string]clockRow{}
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	sim := serve(t, tinyWorld(1, account)).Sim // for its key
	c.worker = newWorker(t, &world{Sim: sim, url: server.URL}, w.Database(), account, clocks{})
	for i := range 12 {
		c.pass(time.Minute)
		for _, p := range clockPaths {
			c.put(p, i)
		}
	}
	return c
}

func clockID(i int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", i) }

// now is the true time.
func (c *clockWorld) now() time.Time { return c.began.Add(c.passed) }

// pass lets time pass, for everyone.
func (c *clockWorld) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies = append(c.copies, c.copy())
	c.passed += d
	c.setWarehouse()
}

func (c *clockWorld) setWarehouse() { c.seam.skew = c.passed + c.warehouse }

func (c *clockWorld) copy() *clockWorld {
	o := &clockWorld{began: c.began, passed: c.passed, date: c.date, stamps: c.stamps, page: c.page, lists: map[string]map[string]clockRow{}}
	for p, list := range c.lists {
		o.lists[p] = maps.Clone(list)
	}
	return o
}

// was returns the service as it was so long ago, or as it was first.
func (c *clockWorld) was(ago time.Duration) *clockWorld {
	found := c.copies[0]
	for _, o := range c.copies {
		if o.passed <= c.passed-ago {
			found = o
		}
	}
	return found
}

// at returns the same service at another time.
func (c *clockWorld) at(passed time.Duration) *clockWorld {
	o := c.copy()
	o.passed = passed
	return o
}

// keep lets a cache answer with what it has kept for so long.
func (c *clockWorld) keep(ago time.Duration, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache, c.header = c.was(ago), header
}

// behind lets a copy of the service answer that is so far behind.
func (c *clockWorld) behind(lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = lag
}

func (c *clockWorld) put(p string, i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.lists[p][clockID(i)] = clockRow{c.version, c.now().Add(c.stamps)}
}

func (c *clockWorld) remove(p string, i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lists[p], clockID(i))
}

// set sets the clocks of the service and of the warehouse.
func (c *clockWorld) set(date, stamps, warehouse time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.date, c.stamps, c.warehouse = date, stamps, warehouse
	c.setWarehouse()
}

// right puts everything right.
func (c *clockWorld) right() {
	c.set(0, 0, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache, c.lag, c.header, c.noDate, c.onRequest = nil, 0, nil, false, nil
}

func (c *clockWorld) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.onRequest != nil {
		c.onRequest(c.requests)
	}
	from, list := c, slices.Contains(clockPaths, r.URL.Path)
	switch {
	case c.lag > 0:
		from = c.was(c.lag).at(max(0, c.passed-c.lag))
		from.date = c.date // it has the clock of the service
	case c.cache != nil && list:
		from = c.cache
		maps.Copy(w.Header(), c.header)
	}
	w.Header().Set("Date", from.now().Add(from.date).Format(http.TimeFormat))
	if c.noDate {
		w.Header()["Date"] = nil
	}
	if list {
		_, _ = w.Write(from.list(r.URL.Path, r.URL.Query()))
		return
	}
	row, found := from.lists[path.Dir(r.URL.Path)][path.Base(r.URL.Path)]
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(row.json(path.Dir(r.URL.Path), path.Base(r.URL.Path))))
}

// list answers with a page, in the order of ids.
func (c *clockWorld) list(p string, q url.Values) []byte {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(c.lists[p])) {
		at := c.lists[p][id].updated
		after, before := q.Get("updatedAfter"), q.Get("updatedBefore")
		stampOf := at.Format(dealapi.TimeLayout)
		if (after == "" || stampOf > after) && (before == "" || stampOf < before) && id >= q.Get("cursor") && id >= q.Get("page") {
			ids = append(ids, id)
		}
	}
	next := ""
	if len(ids) > c.page {
		next, ids = ids[c.page], ids[:c.page]
	}
	var rows []string
	for _, id := range ids {
		rows = append(rows, c.lists[p][id].json(p, id))
	}
	name, more := "cursor", ""
	if p == pathProducts {
		name = "nextPage"
	}
	if next != "" {
		more = fmt.Sprintf(`,%q:%q`, name, next)
	}
	return []byte(`{"data":[` + strings.Join(rows, ",") + `]` + more + `}`)
}

func (r clockRow) json(p, id string) string {
	row := map[string]any{"id": id, "updatedAt": r.updated.UTC().Format(dealapi.TimeLayout), "currencyCode": "EUR", "status": "PENDING",
		"retailerName": r.text(), "code": r.text()}
	if p == pathProducts {
		row = map[string]any{"url": "https://shop.example/" + id, "name": r.text()}
	}
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (r clockRow) text() string { return fmt.Sprintf("v%06d", r.version) }

var clockStreams = map[string]string{"transactions": pathTransactions, "coupons": pathCoupons, "products": pathProducts}

// truth and visible return what readers should see and what they see: a text by the id.
func (c *clockWorld) truth(stream string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := map[string]string{}
	for id, r := range c.lists[clockStreams[stream]] {
		rows[id] = r.text()
	}
	return rows
}

func (c *clockWorld) visible(t *testing.T, stream string) map[string]string {
	t.Helper()
	columns := map[string]string{"transactions": "toString(id), retailer_name", "coupons": "toString(id), code",
		"products": "substring(url, 22), name"}[stream]
	rows, err := c.store.Conn().Query(t.Context(), "SELECT "+columns+" FROM "+stream+" WHERE account = {account:String}", named("account", c.account))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		all[id] = text
	}
	return all
}

// sync runs a stream, and wants no row to be lost or set back by it, whoever answers.
func (c *clockWorld) sync(t *testing.T, stream string, full bool) (warehouse.RunRecord, error) {
	t.Helper()
	before := c.visible(t, stream)
	job := c.job(t, c.account, stream)
	job.Full = full
	job.AllowMassDelete = false
	record, err := c.Run(t.Context(), job)
	truth := c.truth(stream)
	after := c.visible(t, stream)
	for id, text := range before {
		switch now, kept := after[id]; {
		case !kept && truth[id] != "":
			t.Errorf("%s: %s was deleted, but is there: %v", stream, id, err)
		case kept && now < text:
			t.Errorf("%s: %s was set back from %s to %s: %v", stream, id, text, now, err)
		}
	}
	return record, err
}

// mark returns the stored watermark of the transactions.
func (c *clockWorld) mark(t *testing.T) time.Time {
	t.Helper()
	text := one(t, c.store, "SELECT max(value) FROM sync_state WHERE stream = 'transactions' AND name = 'watermark' AND account = '"+c.account+"'")
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && text != "" {
		t.Fatal(err)
	}
	return at
}
