package syncer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// between calls do once, before the page of a list with that number is answered.
func (x *world) between(path string, page int, do func(r *http.Request)) {
	var pages atomic.Int64
	x.SetBefore(func(r *http.Request) {
		if r.URL.Path == path && pages.Add(1) == int64(page) {
			do(r)
		}
	})
}

// thousand returns a world of 1,000 transactions and as many promotions, on pages of 100.
func thousand(t *testing.T, order apisim.Order, unknown apisim.UnknownCursor) *world {
	t.Helper()
	o := apisim.Options{Seed: 3, Retailers: 20, Promotions: 1000, Coupons: -1, CashbackOffers: -1, Transactions: 1000,
		Products: -1,
		Orgs:     []apisim.Org{{Name: "acme", Currency: "EUR"}},
		Settings: apisim.Settings{Order: order, UnknownCursor: unknown}}
	return serve(t, o)
}

func runOnce(t *testing.T, w *warehouse.Warehouse, job Job) (warehouse.RunRecord, error) {
	t.Helper()
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(t.Context(), job)
}

// TestCursorRowMoves updates the row at the cursor between two pages, so that it moves to the end of the list: the page
// begins with it, and the rest of the list is left out. For wide samples: TestMovingLists moves rows while they are
// read.
func TestCursorRowMoves(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	touch := func(x *world) func(*http.Request) {
		return func(r *http.Request) {
			if err := x.Touch("transactions", "acme", r.URL.Query().Get("cursor")); err != nil {
				t.Error(err)
			}
		}
	}
	t.Run("first load", func(t *testing.T) {
		t.Parallel()
		x, w := thousand(t, apisim.ByUpdatedAsc, 0), open(t)
		job := x.jobs(t, "acme", "transactions")[0]
		x.between("/v1/deals/transactions", 4, touch(x))
		record, err := runOnce(t, w, job)
		if err != nil || record.Totals.Pages > 14 {
			t.Errorf("%v after %d pages", err, record.Totals.Pages)
		}
		checkTruth(t, w, x, "acme", "transactions")
	})
	t.Run("full read", func(t *testing.T) {
		t.Parallel()
		x, w := thousand(t, apisim.ByUpdatedAsc, 0), open(t)
		job := x.jobs(t, "acme", "transactions")[0]
		syncAll(t, w, []Job{job})
		job.Full = true
		x.between("/v1/deals/transactions", 10, touch(x)) // 99 rows, fewer than the guard lets pass
		if record, err := runOnce(t, w, job); err != nil || record.Changes.Deleted != 0 {
			t.Errorf("%v, %+v", err, record.Changes)
		}
		checkTruth(t, w, x, "acme", "transactions")
	})
}

// TestCursorRowVanishes deletes the row at the cursor, of which the service then knows nothing.
func TestCursorRowVanishes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	orders := []apisim.Order{apisim.ByID, apisim.ByUpdatedAsc, apisim.Shuffled}
	for i, unknown := range []apisim.UnknownCursor{apisim.UnknownBadRequest, apisim.UnknownNotFound,
		apisim.UnknownFirstPage, apisim.UnknownEmpty} {
		for j, stream := range []string{"transactions", "promotions"} {
			path := "/v1/deals/" + stream
			for k, page := range []int{2, 10, 7} {
				order := orders[k]
				if ((i+j+k)%len(orders) != 0 || (i+j)%2 != 0 || i > 0) && !enginetest.Wide() {
					continue // a refusal for one stream, in one order
				}
				t.Run(fmt.Sprintf("%s of %s %s", unknown, stream, order), func(t *testing.T) {
					t.Parallel()
					x, w := thousand(t, order, unknown), open(t)
					job := x.jobs(t, "acme", stream)[0]
					syncAll(t, w, []Job{job})
					x.Advance(time.Hour)
					job.Full = true
					x.between(path, page, func(r *http.Request) {
						if err := x.Delete(stream, "acme", r.URL.Query().Get("cursor")); err != nil {
							t.Error(err)
						}
					})
					record, err := runOnce(t, w, job)
					if err != nil {
						t.Fatal(err)
					}
					if n := x.Count(stream, "acme"); record.Changes.Live+record.Changes.Inserted-record.Changes.Deleted != uint64(n) {
						t.Errorf("%d rows are listed, the run says %+v", n, record.Changes)
					}
					checkTruth(t, w, x, "acme", stream)
				})
			}
		}
	}
}

// TestListThatNeverStandsStill deletes the row at each cursor: the run must not treat what it got as the whole list. It
// is incomplete, deletes nothing, and the next one repairs it. For wide samples: TestMovingLists has lists that move.
func TestListThatNeverStandsStill(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := thousand(t, apisim.Shuffled, apisim.UnknownEmpty), open(t)
	job := x.jobs(t, "acme", "promotions")[0]
	syncAll(t, w, []Job{job})
	loaded := one(t, w, "SELECT count() FROM promotions")
	var vanishing atomic.Bool
	vanishing.Store(true)
	x.SetBefore(func(r *http.Request) {
		if id := r.URL.Query().Get("cursor"); id != "" && vanishing.Load() {
			_ = x.Delete("promotions", "acme", id) // it may already be gone
		}
	})
	record, err := runOnce(t, w, job)
	if _, incomplete := errors.AsType[*IncompleteError](err); !incomplete ||
		record.Outcome != warehouse.OutcomeIncomplete || record.Changes.Deleted != 0 {
		t.Errorf("%v, %s, %+v", err, record.Outcome, record.Changes)
	}
	if n := one(t, w, "SELECT count() FROM promotions"); n < loaded {
		t.Errorf("%s of %s rows are left", n, loaded)
	}
	vanishing.Store(false)
	if _, err := runOnce(t, w, job); err != nil {
		t.Error(err)
	}
	checkTruth(t, w, x, "acme", "promotions")
	if got := one(t, w, "SELECT groupArray(outcome) FROM (SELECT outcome FROM sync_runs ORDER BY started_at)"); got != "['success','incomplete','success']" {
		t.Error(got)
	}
}

// TestOpaqueCursors reads lists whose cursors are no item's id. They are complete all the same. For wide samples:
// TestMovingLists has each kind of cursor.
func TestOpaqueCursors(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	cursors := []apisim.CursorKind{apisim.CursorOffset, apisim.CursorKeyset, apisim.CursorLastID}
	for _, cursor := range cursors[:enginetest.Sample(1, len(cursors))] {
		t.Run(cursor.String(), func(t *testing.T) {
			t.Parallel()
			x, w := thousand(t, apisim.Shuffled, apisim.UnknownBadRequest), open(t)
			if err := x.Update(func(s *apisim.Settings) { s.Cursor = cursor }); err != nil {
				t.Fatal(err)
			}
			records := syncAll(t, w, x.jobs(t, "acme", "promotions", "transactions"))
			checkTruth(t, w, x, "acme", "promotions", "transactions")
			if n := records["acme/promotions"].Totals.Pages; n > 16 {
				t.Errorf("%d pages of promotions", n)
			}
		})
	}
}

// TestProductMissingOnce takes a product out of one walk, as a feed does that shifts while it is read. It stays, until
// two walks in a row do not have it.
func TestProductMissingOnce(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	o := tinyWorld(5, "acme")
	x, w := serve(t, o), open(t)
	job := x.jobs(t, "acme", "products")[0]
	job.DeleteAfterLists = 2 // the default
	syncAll(t, w, []Job{job})
	all := one(t, w, "SELECT count() FROM products")
	var id string
	for record := range x.Truth("products", "acme") {
		var p struct{ URL string }
		if err := json.Unmarshal(record, &p); err != nil {
			t.Fatal(err)
		}
		if id = p.URL; id != "" {
			break
		}
	}
	count := func(step, want string, kept uint64) {
		t.Helper()
		record := syncAll(t, w, []Job{job})["acme/products"]
		if n := one(t, w, "SELECT count() FROM products"); n != want || record.Changes.Kept != kept {
			t.Errorf("%s: %s products, want %s; %+v", step, n, want, record.Changes)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(x.Delete("products", "acme", id))
	count("missing once", all, 1)
	must(x.Restore("products", "acme", id))
	count("there again", all, 0)
	must(x.Delete("products", "acme", id))
	count("missing for the first time", all, 1)
	dry := job
	dry.DryRun = true
	if r, err := runOnce(t, w, dry); err != nil || r.Changes.Deleted != 1 {
		t.Errorf("a dry run: %v, %+v", err, r.Changes)
	}
	record := syncAll(t, w, []Job{job})["acme/products"]
	if n := one(t, w, "SELECT count() + 1 FROM products"); n != all || record.Changes.Deleted != 1 ||
		record.Changes.Kept != 0 {
		t.Errorf("missing twice in a row: %s products, %+v", n, record.Changes)
	}
}

// TestRowsOnTheBorder loads rows whose updatedAt is exactly initial_from, or exactly the watermark. The filter of the
// service leaves out what changed at the very time that it is asked for. For wide samples:
// TestIncrementalReadsOnlyWhatChanged has the main path.
func TestRowsOnTheBorder(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	o := apisim.Options{Seed: 1, Retailers: 3, Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: -1,
		Products: -1,
		Orgs:     []apisim.Org{{Name: "acme", Currency: "EUR"}}}
	x, w := serve(t, o), open(t)
	at := x.Now().Add(-time.Hour).Truncate(time.Millisecond)
	put := func(n int, updated time.Time) {
		t.Helper()
		record := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","updatedAt":%q,"status":"PENDING"}`, n,
			updated.UTC().Format(dealapi.TimeLayout))
		if err := x.Put("transactions", "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	job := x.jobs(t, "acme", "transactions")[0]
	job.InitialFrom, job.Overlap = at, 0
	put(1, at)
	put(2, at.Add(-time.Millisecond))
	put(3, at.Add(time.Minute))
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Changes.Inserted != 2 ||
		!r.Watermark.Equal(at.Add(time.Minute)) {
		t.Errorf("%+v, watermark %s", r.Changes, r.Watermark)
	}
	put(4, at.Add(time.Minute))                    // with the newest row
	put(5, at.Add(time.Minute-catalog.MinOverlap)) // as late as a row may become visible
	put(6, at.Add(time.Minute-catalog.MinOverlap-time.Second))
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Changes.Inserted != 2 {
		t.Errorf("%+v", r.Changes)
	}
}

// TestManyEmptyPages loads a list of which 150 pages in a row are empty, and promise more.
func TestManyEmptyPages(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const pages = 150
	cursor := func(n int) string { return fmt.Sprintf("00000000-0000-4000-9000-%012d", n) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if text := r.URL.Query().Get("cursor"); text != "" {
			_, _ = fmt.Sscanf(text[24:], "%d", &n) // 0 is the first page
		}
		if n == pages {
			fmt.Fprint(w, `{"data":[{"id":"00000000-0000-4000-8000-000000000001","code":"x"}]}`)
			return
		}
		fmt.Fprintf(w, `{"data":[],"cursor":%q}`, cursor(n+1))
	}))
	t.Cleanup(server.Close)
	w := open(t)
	r := syncAll(t, w, jobsOf(t, newClient(t, "acme", server.URL, "key"), "acme", "coupons"))["acme/coupons"]
	if r.Changes.Inserted != 1 {
		t.Errorf("%+v after %d pages", r.Changes, r.Totals.Pages)
	}
}
