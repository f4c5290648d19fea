package syncer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
)

// item is a row of an odd list.
type item struct {
	id      string
	created int
	updated time.Time
}

// oddList is a list of transactions that the simulator does not have: with ids that follow time, or in the order of
// creation.
type oddList struct {
	items    []*item
	less     func(a, b *item) int
	offsets  bool // cursors are opaque
	requests int
	before   func(cursor string) // called before each page; may change the list
	mu       sync.Mutex
}

const oddPage = 100

func (l *oddList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	cursor := r.URL.Query().Get("cursor")
	if l.before != nil {
		l.before(cursor)
	}
	after, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("updatedAfter")) // zero where there is none
	before, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("updatedBefore"))
	var listed []*item
	for _, i := range l.items {
		if (after.IsZero() || i.updated.After(after)) && (before.IsZero() || i.updated.Before(before)) {
			listed = append(listed, i)
		}
	}
	slices.SortStableFunc(listed, l.less)
	at := 0
	if l.offsets && cursor != "" {
		text, _ := base64.StdEncoding.DecodeString(cursor)
		_, _ = fmt.Sscanf(string(text), "o%d", &at)
	} else if cursor != "" {
		at = slices.IndexFunc(listed, func(i *item) bool { return i.id == cursor })
	}
	if at < 0 {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	end := min(at+oddPage, len(listed))
	answer, data := map[string]any{}, []map[string]any{}
	for _, i := range listed[min(at, end):end] {
		data = append(data, map[string]any{"id": i.id, "updatedAt": i.updated.UTC().Format(dealapi.TimeLayout),
			"status": "PENDING"})
	}
	answer["data"] = data
	switch {
	case end == len(listed):
	case l.offsets:
		answer["cursor"] = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "o%d", end))
	default:
		answer["cursor"] = listed[end].id
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// readOdd reads an odd list, and counts its first thousand rows that were not read.
func readOdd(t *testing.T, l *oddList, read func(*chain) error) (missed int, c *chain) {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	job := jobsOf(t, newClient(t, "acme", server.URL, "key"), "acme", "transactions")[0]
	r := newTestReader(job)
	ids, c := collect(t, r, time.Time{}, read)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.items[:1000] {
		if !ids[i.id] {
			missed++
		}
	}
	return missed, c
}

func byCursors(c *chain) error { return c.read("") }

func byUpdated(a, b *item) int { return a.updated.Compare(b.updated) }

func byCreation(a, b *item) int { return a.created - b.created }

// minutes returns rows that changed a minute after each other, until two days ago.
func minutes(rows int, id func(n int) string) []*item {
	var all []*item
	for n := range rows {
		all = append(all, &item{id(n), n, time.Now().Add(-48*time.Hour + time.Duration(n-rows)*time.Minute)})
	}
	return all
}

func randomID(int) string { return uuid.NewString() }

// TestIDsThatFollowTime moves the row at the cursor of a list by updatedAt whose ids are in the same order: it looks
// like a list by id, in which nothing can move.
func TestIDsThatFollowTime(t *testing.T) {
	t.Parallel()
	l := &oddList{less: byUpdated, items: minutes(1000,
		func(n int) string { return fmt.Sprintf("01920000-%04x-7000-8000-%012x", n, n) })}
	moved := false
	l.before = func(cursor string) {
		if cursor == l.items[300].id && !moved {
			l.items[300].updated, moved = time.Now(), true
		}
	}
	if missed, c := readOdd(t, l, byCursors); missed > 0 || c.gap != "" || c.order.byID() {
		t.Errorf("%d rows were missed, gap %q, by id %t", missed, c.gap, c.order.byID())
	}
}

// TestSweepByCreation reads a list by creation in ranges of time. Only the last row of its first page changed lately,
// so the page looks like the earliest rows of a list by updatedAt.
func TestSweepByCreation(t *testing.T) {
	t.Parallel()
	l := &oddList{less: byCreation, items: minutes(1000, randomID)}
	l.items[oddPage-1].updated = time.Now().Add(-time.Second)
	missed, c := readOdd(t, l, (*chain).sweep)
	if missed > 0 || c.gap != "" || l.requests > 60 {
		t.Errorf("%d rows were missed, gap %q, %d requests", missed, c.gap, l.requests)
	}
}

// TestBulkStampWithOpaqueCursors reads 350 rows that changed in one millisecond of a busy list with opaque cursors.
func TestBulkStampWithOpaqueCursors(t *testing.T) {
	t.Parallel()
	l := &oddList{less: byCreation, items: minutes(1000, randomID), offsets: true}
	for _, i := range l.items[200:550] {
		i.updated = l.items[200].updated
	}
	l.before = func(string) {
		l.items = append(l.items, &item{uuid.NewString(), len(l.items), time.Now()})
	}
	if missed, c := readOdd(t, l, byCursors); missed > 0 || c.gap != "" || !c.swept {
		t.Errorf("%d rows were missed, gap %q, swept %t", missed, c.gap, c.swept)
	}
}

// TestNewestFirstUnderTraffic reads a list, the newest rows first, to which a row is added before each page. For wide
// samples: TestMovingLists has each order.
func TestNewestFirstUnderTraffic(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	l := &oddList{less: func(a, b *item) int { return byUpdated(b, a) }}
	const pages = 100
	for n := range pages * oddPage {
		l.items = append(l.items, &item{uuid.NewString(), n,
			time.Now().Add(-time.Duration(pages*oddPage-n) * 15 * time.Millisecond)})
	}
	l.before = func(string) {
		l.items = append(l.items, &item{uuid.NewString(), len(l.items), time.Now()})
	}
	missed, c := readOdd(t, l, byCursors)
	if missed > 0 || c.gap != "" || l.requests > 10*pages {
		t.Errorf("%d rows were missed, gap %q, %d requests for %d pages", missed, c.gap, l.requests, pages)
	}
}
