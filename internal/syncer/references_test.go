package syncer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

const offerAddresses = "/v1/deals/cashback-offers/{id}"

// expiredWorld has transactions that name cashback offers, most of which have expired since.
func expiredWorld(transactions, offers int) apisim.Options {
	return apisim.Options{Seed: 21, Retailers: offers, Promotions: -1, Coupons: -1, CashbackOffers: offers, Products: -1,
		Transactions: transactions,
		Orgs:         []apisim.Org{{Name: "acme", Currency: "EUR"}},
		Rates:        apisim.Rates{DealTurnover: 0.2, DealEdits: 0.2, NewTransactions: 0.001},
		Settings:     apisim.Settings{PageSize: 5000, KeepExpired: true}}
}

// refer requests what transactions name, limit at most, and wants no error.
func refer(t testing.TB, s *Syncer, jobs []Job, limit int) ReferenceResult {
	t.Helper()
	from := jobs[1]
	from.ReferenceLimit = limit
	results, err := s.References(t.Context(), from, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		return ReferenceResult{}
	}
	if len(results) > 1 || results[0].Err != nil {
		t.Fatalf("%+v", results)
	}
	return results[0]
}

const unknownOffers = "SELECT uniqExact(cashback_offer_id) FROM transactions WHERE cashback_offer_id NOT IN (SELECT id FROM offers_all)"

// TestReferences resolves hundreds of expired offers in bounded runs, and wants only the joins to change.
func TestReferences(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	transactions, few := enginetest.Sample(2_000, 10_000), enginetest.Sample(101, 300)
	x, w := serve(t, expiredWorld(transactions, 2*few)), open(t)
	x.Advance(14 * 24 * time.Hour)
	key, _ := x.Keys("acme")
	const ceiling = 500
	if err := x.SetRateLimit(apisim.RateLimit{PerSecond: ceiling}); err != nil {
		t.Fatal(err)
	}
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: x.url, Key: key,
		Limiter: dealapi.NewLimiter(ceiling), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	jobs := x.jobs(t, "acme", "cashback_offers", "transactions")
	jobs[0].Client, jobs[1].Client = client, client
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	if r := syncAll(t, w, jobs[1:])["acme/transactions"]; r.Totals.Read < uint64(transactions) {
		t.Fatalf("%+v", r)
	}
	if r := refer(t, s, jobs, 100); r.Record.Mode != "" || x.Requests(offerAddresses) != 0 {
		t.Error("offers were asked for one by one before their list was read")
	}
	syncAll(t, w, jobs[:1])
	before, err := digest(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var unknown int
	if _, err := fmt.Sscan(one(t, w, unknownOffers), &unknown); err != nil || unknown < few {
		t.Fatalf("%d offers are unknown: %v", unknown, err)
	}
	newest := one(t, w, `SELECT groupArray(id) FROM (SELECT cashback_offer_id AS id FROM transactions
WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM offers_all) GROUP BY id ORDER BY max(updated_at) DESC, id LIMIT 100)`)

	runs, stored := 0, 0
	for ; stored < unknown; runs++ {
		r := refer(t, s, jobs, 100)
		stored += int(r.Stored)
		if r.Stored == 0 || r.Stored > 100 || r.NotFound+r.Unusable > 0 || x.Requests(offerAddresses) != stored {
			t.Fatalf("run %d: %+v after %d requests", runs, r, x.Requests(offerAddresses))
		}
		if c, n := r.Record.Changes, r.Stored; c.Inserted != n || c.Updated+c.Deleted+c.Unchanged != 0 ||
			r.Record.Totals.Pages != n || r.Record.Totals.Read != n {
			t.Errorf("%+v", r.Record)
		}
		if got := one(t, w, "SELECT count() FROM offers_all WHERE NOT listed AND has("+newest+", toString(id))"); runs == 0 &&
			got != "100" {
			t.Errorf("only %s of the 100 newest were asked for first", got)
		}
	}
	if want := (unknown + 99) / 100; runs != want {
		t.Errorf("%d offers took %d runs, want %d", unknown, runs, want)
	}
	t.Logf("%d offers in %d runs", unknown, runs)
	for _, request := range x.Log() {
		if request.Status == http.StatusTooManyRequests {
			t.Fatal("the rate limit was exceeded")
		}
	}
	if r := refer(t, s, jobs, 100); r.Record.Mode != "" || x.Requests(offerAddresses) != unknown {
		t.Errorf("what is known was asked for again: %+v", r)
	}

	// Joins are complete and right; nothing else changes.
	join := "SELECT count() FROM transactions AS t LEFT JOIN offers_all AS o ON o.account = t.account AND o.id = t.cashback_offer_id WHERE t.cashback_offer_id IS NOT NULL AND "
	if n := one(t, w, join+"o.retailer_id IS NULL"); n != "0" {
		t.Errorf("%s transactions are left without their offer", n)
	}
	if n := one(t, w, join+"NOT (o.retailer_id = t.retailer_id)"); n != "0" {
		t.Errorf("%s transactions have another's offer", n)
	}
	after, err := digest(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the views have changed: %s", d)
	}
	checkTruth(t, w, x, "acme", "cashback_offers")
	checkHistory(t, w, "acme", "cashback_offers")
	checkTidy(t, w, "acme", "cashback_offers")
	if c := syncAll(t, w, jobs[:1])["acme/cashback_offers"].Changes; c.Any() ||
		c.Live != uint64(x.Count(apisim.StreamCashbackOffers, "")) {
		t.Errorf("the next list: %+v", c)
	}
	if got := one(t, w, "SELECT (countIf(mode = 'references'), sumIf(inserted, mode = 'references')) FROM sync_runs"); got != fmt.Sprintf("(%d,%d)", runs, unknown) {
		t.Errorf("sync_runs: %s", got)
	}
}

// TestReferenceIsListedLater reads offers by their addresses that are too new for the list that was loaded: the next
// list makes them live, and a later one drops them. For wide samples: TestReferences asks by address.
func TestReferenceIsListedLater(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	o := expiredWorld(400, 40)
	o.Rates.NewTransactions = 0.3
	x, w := serve(t, o), open(t)
	jobs := x.jobs(t, "acme", "cashback_offers", "transactions")
	for i := range jobs {
		jobs[i].AllowMassDelete = true
	}
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	syncAll(t, w, jobs)
	x.Advance(5 * 24 * time.Hour)
	syncAll(t, w, jobs[1:])
	r := refer(t, s, jobs, jobs[1].ReferenceLimit)
	if r.Stored == 0 {
		t.Fatal("no transaction names a newer offer")
	}
	early := "SELECT id FROM cashback_offers_versions WHERE _run_id = '" + r.Record.RunID.String() + "'"
	syncAll(t, w, jobs)
	checkTruth(t, w, x, "acme", "cashback_offers")
	checkHistory(t, w, "acme", "cashback_offers")
	if live := one(t, w, "SELECT count() FROM cashback_offers WHERE id IN ("+early+")"); live == "0" {
		t.Error("none of them was listed by then")
	}
	x.Advance(60 * 24 * time.Hour)
	syncAll(t, w, jobs)
	checkTruth(t, w, x, "acme", "cashback_offers")
	checkHistory(t, w, "acme", "cashback_offers")
	if got := one(t, w, "SELECT (count(), countIf(listed)) FROM offers_all WHERE id IN ("+early+
		")"); got != fmt.Sprintf("(%d,0)", r.Stored) {
		t.Errorf("of %d offers, (known, listed) are %s", r.Stored, got)
	}
}

// TestReferencesNotFound lets the service not find what has expired. That is requested once, and again when
// ReferenceRetry has passed. For wide samples: TestReferenceFaults has addresses that are not found.
func TestReferencesNotFound(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	o := expiredWorld(1000, 130)
	o.Settings.KeepExpired = false
	x, w := serve(t, o), open(t)
	x.Advance(14 * 24 * time.Hour)
	jobs := x.jobs(t, "acme", "cashback_offers", "transactions")
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	syncAll(t, w, jobs)
	first := refer(t, s, jobs, 70)
	if first.NotFound != 70 || first.Stored != 0 || first.Record.Totals.Pages != 70 || first.Record.Totals.Read != 0 ||
		first.Record.Outcome != warehouse.OutcomeSuccess || len(first.Record.Warnings) > 0 {
		t.Errorf("%+v", first)
	}
	second := refer(t, s, jobs, jobs[1].ReferenceLimit)
	missing := 70 + int(second.NotFound)
	if got := one(t, w, unknownOffers); fmt.Sprint(missing) != got || x.Requests(offerAddresses) != missing+2 { // one of the list in each run
		t.Errorf("%s offers are unknown, %d were not found with %d requests", got, missing, x.Requests(offerAddresses))
	}
	syncAll(t, w, jobs)
	if r := refer(t, s, jobs, jobs[1].ReferenceLimit); r.Record.Mode != "" || x.Requests(offerAddresses) != missing+2 {
		t.Errorf("asked again: %+v", r)
	}
	if got := one(t, w, "SELECT (count(), any(stream), any(reason)) FROM reference_misses"); got != fmt.Sprintf("(%d,'cashback_offers','not_found')", missing) {
		t.Errorf("reference_misses: %s", got)
	}
	jobs[1].ReferenceRetry = time.Hour
	age := func(minutes int) {
		t.Helper()
		old := fmt.Sprintf("CREATE TABLE aged ENGINE = MergeTree ORDER BY id AS SELECT * REPLACE (now64(3) - INTERVAL %d MINUTE AS asked_at) FROM reference_misses_log FINAL", minutes)
		for _, q := range []string{old, "TRUNCATE TABLE reference_misses_log",
			"INSERT INTO reference_misses_log SELECT * FROM aged", "DROP TABLE aged SYNC"} {
			if err := w.Conn().Exec(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	age(30)
	if r := refer(t, s, jobs, jobs[1].ReferenceLimit); r.Record.Mode != "" {
		t.Errorf("asked again too early: %+v", r)
	}
	age(61)
	if r := refer(t, s, jobs, jobs[1].ReferenceLimit); int(r.NotFound) != missing ||
		x.Requests(offerAddresses) != 2*missing+3 {
		t.Errorf("not asked again: %+v", r)
	}
	if r := refer(t, s, jobs, jobs[1].ReferenceLimit); r.Record.Mode != "" || x.Requests(offerAddresses) != 2*missing+3 {
		t.Errorf("asked a third time: %+v", r)
	}
}

// TestReferenceFaults wants only answers that say something about the row to be remembered. One bad row must not block
// the others, and a service that is down must not be asked for each row.
func TestReferenceFaults(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const rows = 40
	w := open(t)
	id := func(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }
	offer := func(i int) string { return fmt.Sprintf(`{"id":%q,"url":"u%d"}`, id(i), i) }
	always := func(status int) func(int) (int, string) { return func(int) (int, string) { return status, "" } }
	only := func(status int, body string) func(int) (int, string) {
		return func(i int) (int, string) {
			if i == rows-1 { // the newest
				return status, body
			}
			return http.StatusOK, offer(i)
		}
	}
	for name, c := range map[string]struct {
		answer                     func(i int) (int, string)
		stored, unusable, requests int
		misses                     string // of reference_misses: (times, reason)
		fails                      bool
	}{
		"all is well": {answer: func(i int) (int, string) { return http.StatusOK, offer(i) }, stored: rows,
			requests: rows, misses: "[]"},
		"refused key": {answer: always(http.StatusForbidden), requests: askers, misses: "[]", fails: true},
		"service down": {answer: always(http.StatusBadGateway), requests: 4 * (maxFaults + askers), misses: "[]",
			fails: true},
		"one always fails": {answer: only(http.StatusInternalServerError, ""), stored: rows - 1, requests: rows + 3,
			misses: "[]"},
		"one is refused": {answer: only(http.StatusBadRequest, ""), stored: rows - 1, unusable: 1, requests: rows,
			misses: "[(1,'refused')]"},
		"one is another record": {answer: only(http.StatusOK, offer(rows)), stored: rows - 1, unusable: 1, requests: rows,
			misses: "[(1,'unusable')]"},
		"one has no key": {answer: only(http.StatusOK, `{"url":"x"}`), stored: rows - 1, unusable: 1, requests: rows,
			misses: "[(1,'unusable')]"},
		"one is gone": {answer: only(http.StatusGone, ""), stored: rows - 1, requests: rows,
			misses: "[(1,'not_found')]"},
		"one is no record": {answer: only(http.StatusOK, `[1]`), stored: rows - 1, requests: rows + 3, misses: "[]"},
	} {
		if slices.Contains([]string{"all is well", "one is refused", "one has no key", "one is no record", "one always fails",
			"one is gone", "refused key"}, name) && !enginetest.Wide() {
			continue // much like another one of these
		}
		t.Run(name, func(t *testing.T) {
			beside(t)
			var requests atomic.Int64
			mux := http.NewServeMux()
			mux.HandleFunc("/v1/deals/cashback-offers",
				func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[]}`) })
			mux.HandleFunc("/v1/deals/transactions", func(w http.ResponseWriter, _ *http.Request) {
				var records []string
				for i := range rows {
					records = append(records, fmt.Sprintf(`{"id":%q,"cashbackOfferId":%q,"updatedAt":"2026-01-01T00:00:%02dZ"}`,
						id(1000+i), id(i), i))
				}
				fmt.Fprint(w, `{"data":[`+strings.Join(records, ",")+`]}`)
			})
			mux.HandleFunc(offerAddresses, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				var i int
				if _, err := fmt.Sscan(strings.TrimLeft(r.PathValue("id")[24:], "0")+" ", &i); err != nil {
					i = 0
				}
				status, body := c.answer(i)
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			})
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			account := strings.ReplaceAll(name, " ", "-")
			jobs := jobsOf(t, newClient(t, account, server.URL, "key"), account, "cashback_offers", "transactions")
			syncAll(t, w, jobs)
			s, err := New(Options{Warehouse: w, Grace: patience})
			if err != nil {
				t.Fatal(err)
			}
			results, err := s.References(t.Context(), jobs[1], jobs)
			if err != nil || len(results) != 1 {
				t.Fatalf("%+v, %v", results, err)
			}
			r := results[0]
			if int(r.Stored) != c.stored || int(r.Unusable) != c.unusable || (r.Err != nil) != c.fails ||
				int(requests.Load()) > c.requests {
				t.Errorf("%+v after %d requests, want at most %d", r, requests.Load(), c.requests)
			}
			mine := " WHERE account = '" + account + "'"
			quiet := c.stored == rows || name == "one is gone"
			if !c.fails && (len(r.Record.Warnings) == 0) != quiet {
				t.Errorf("warnings: %q", r.Record.Warnings)
			}
			if got := one(t, w, "SELECT groupArray((n, reason)) FROM (SELECT count() AS n, reason FROM reference_misses"+mine+
				" GROUP BY reason)"); got != c.misses {
				t.Errorf("misses: %s", got)
			}
			if got := one(t, w, "SELECT (count(), countIf(listed)) FROM offers_all"+mine); got != fmt.Sprintf("(%d,0)",
				c.stored) {
				t.Errorf("offers_all: %s", got)
			}
			if name == "one is another record" {
				if got := one(t, w, "SELECT (any(key), any(reason), any(raw), count()) FROM rejected_records"+
					mine); got != fmt.Sprintf("('%s','other_key','%s',1)", id(rows-1), offer(rows)) {
					t.Errorf("rejected_records: %s", got)
				}
			}
			checkTidy(t, w, account, "cashback_offers")
		})
	}
}

// TestReferencesStopped interrupts the requests: what was read until then is kept, and the next run continues. For wide
// samples: TestReferencesKilled ends them too.
func TestReferencesStopped(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, expiredWorld(1000, 130)), open(t)
	x.Advance(14 * 24 * time.Hour)
	jobs := x.jobs(t, "acme", "cashback_offers", "transactions")
	syncAll(t, w, jobs)
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x.SetFault(func(*http.Request) apisim.Fault {
		if x.Requests(offerAddresses) > 30 {
			cancel()
		}
		return apisim.Fault{}
	})
	results, err := s.References(ctx, jobs[1], jobs)
	if err != nil || len(results) != 1 {
		t.Fatalf("%+v, %v", results, err)
	}
	r := results[0]
	if r.Err != nil || r.Record.Outcome != warehouse.OutcomeSuccess || r.Stored == 0 || r.Stored > 40 ||
		len(r.Record.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
	if got := one(t, w, "SELECT count() FROM offers_all WHERE NOT listed"); got != fmt.Sprint(r.Stored) {
		t.Errorf("%s offers are there, %d were stored", got, r.Stored)
	}
	checkTidy(t, w, "acme", "cashback_offers")
	x.SetFault(nil)
	refer(t, s, jobs, jobs[1].ReferenceLimit)
	if got := one(t, w, unknownOffers); got != "0" {
		t.Errorf("%s are left", got)
	}
}

// TestReferencesTwice lets several workers make requests at once: the others leave a stream to the worker that has it.
// For wide samples: TestReferences asks by address.
func TestReferencesTwice(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, expiredWorld(1000, 130)), open(t)
	x.Advance(14 * 24 * time.Hour)
	jobs := x.jobs(t, "acme", "cashback_offers", "transactions")
	syncAll(t, w, jobs)
	unknown := one(t, w, unknownOffers)
	var group sync.WaitGroup
	for range 3 {
		v := newWorker(t, x, w.Database(), "acme", clocks{})
		mine := []Job{v.job(t, "acme", "cashback_offers"), v.job(t, "acme", "transactions")}
		group.Go(func() {
			if _, err := v.References(t.Context(), mine[1], mine); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	refer(t, s, jobs, jobs[1].ReferenceLimit) // of two that begin at the same moment, both may have given way
	if got := one(t, w, unknownOffers); got != "0" {
		t.Errorf("%s are left", got)
	}
	if got := one(t, w, "SELECT (count(), uniqExact(id)) FROM cashback_offers_versions WHERE _deleted"); got != fmt.Sprintf("(%s,%s)", unknown, unknown) {
		t.Errorf("%s rows for %s offers", got, unknown)
	}
	checkTruth(t, w, x, "acme", "cashback_offers")
	checkHistory(t, w, "acme", "cashback_offers")
	checkTidy(t, w, "acme", "cashback_offers")
}
