package syncer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// scoped is a world whose deals are read in a scope, and which of them the rules in doc.go ("What the service
// promises") put into it, written without the catalog's matching.
type scoped struct {
	*world
	store  *warehouse.Warehouse
	worker *worker
	job    Job
	values map[string][]string // as in the configuration, by filter
}

func newScoped(t *testing.T, account, stream string, change func(*apisim.Options)) *scoped {
	t.Helper()
	o := apisim.Options{Seed: 7, Retailers: 6, Promotions: 20, Coupons: 40, CashbackOffers: 40, Transactions: 20,
		Products: -1, HistoryDays: 3,
		Orgs:     []apisim.Org{{Name: account, Currency: "EUR"}},
		Rates:    apisim.Rates{DealTurnover: 0.15, DealEdits: 0.2},
		Settings: apisim.Settings{PageSize: 4}}
	if change != nil {
		change(&o)
	}
	x, w := serve(t, o), open(t)
	s := &scoped{world: x, store: w, worker: newWorker(t, x, w.Database(), account, clocks{})}
	s.job = s.worker.job(t, account, stream)
	s.job.AllowMassDelete = false
	return s
}

// to sets the scope, as the configuration would.
func (s *scoped) to(values map[string][]string) {
	s.values = values
	s.job.Scope = catalog.NewScope(s.job.Stream, values)
}

// admits reports whether a record is in the scope.
func (s *scoped) admits(t *testing.T, record []byte) bool {
	t.Helper()
	var r struct {
		Hostname, Name, Category string
		Countries                []string
	}
	if err := json.Unmarshal(record, &r); err != nil {
		t.Fatal(err)
	}
	for filter, values := range s.values {
		has := map[string][]string{"hostname": {r.Hostname}, "name": {r.Name}, "category": {r.Category},
			"country": r.Countries}[filter]
		if !slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(has, func(h string) bool { return strings.EqualFold(h, v) })
		}) {
			return false
		}
	}
	return true
}

// run is a run that is to succeed.
func (s *scoped) run(t *testing.T) warehouse.RunRecord {
	t.Helper()
	r, err := s.worker.Run(t.Context(), s.job)
	if err != nil {
		t.Fatalf("in the scope %s: %v", s.job.Scope, err)
	}
	return r
}

// check wants the view to be the API in the scope, and the state to say so.
func (s *scoped) check(t *testing.T, least int) {
	t.Helper()
	want := map[string]map[string]string{}
	for record := range s.Truth(s.job.Stream.Name, s.job.Account) {
		if s.admits(t, record) {
			row := expected(t, s.job.Stream.Name, record)
			want[row["id"]] = row
		}
	}
	if len(want) < least {
		t.Fatalf("the scope %s has %d rows, which says nothing", s.job.Scope, len(want))
	}
	if d := gocmp.Diff(want, shownRows(t, s.store, s.job.Stream.Name, s.job.Account)); d != "" {
		t.Errorf("the scope %s differs from the truth (-truth +view):\n%.2000s", s.job.Scope, d)
	}
	status, err := s.store.Status(t.Context())
	if i := slices.IndexFunc(status, func(x warehouse.StreamStatus) bool { return x.Stream == s.job.Stream.Name }); err != nil || status[i].Scope != s.job.Scope.Encode() {
		t.Errorf("%+v, %v: want the scope %s", status, err, s.job.Scope.Encode())
	}
}

// hosts returns the retailers, ordered by how many deals they have, the most first.
func (s *scoped) hosts(t *testing.T) []string {
	t.Helper()
	counts := map[string]int{}
	for record := range s.Truth(s.job.Stream.Name, s.job.Account) {
		var r struct{ Hostname string }
		if err := json.Unmarshal(record, &r); err != nil {
			t.Fatal(err)
		}
		counts[r.Hostname]++
	}
	var hosts []string
	for h := range counts {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	return hosts
}

func warned(r warehouse.RunRecord, text string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

// TestScope loads a part of a stream, and compares it with that part of the truth: while it changes, when it is
// widened, when it is narrowed with and without consent, from a service that does not know the filters, and from
// one that refuses a value.
func TestScope(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	s := newScoped(t, "acme", "coupons", nil)
	hosts := s.hosts(t)
	s.to(map[string][]string{"hostname": {strings.ToUpper(hosts[0]), hosts[1]}})
	r := s.run(t)
	s.check(t, 8)
	if r.Scope != s.job.Scope.Encode() || !warned(r, "the scope of the stream was changed from all rows to hostname ") {
		t.Errorf("the scope %q of the run, warnings %q", r.Scope, r.Warnings)
	}
	if got, want := s.requestsOf(), slices.Sorted(slices.Values(hosts[:2])); !slices.Equal(got, want) {
		t.Errorf("asked for the hostnames %q, want %q", got, want)
	}

	s.Advance(3 * 24 * time.Hour)
	s.job.MaxDeleteRatio = 0.9 // much of a small world is gone
	if r = s.run(t); warned(r, "scope") || r.Changes.Outside > 0 || r.Changes.Deleted == 0 {
		t.Errorf("nothing was said of a scope that stays: %+v %q", r.Changes, r.Warnings)
	}
	s.check(t, 8)

	wide := s.job.Scope
	s.to(nil)
	if r = s.run(t); !warned(r, "was changed from hostname") || r.Changes.Deleted > 0 {
		t.Errorf("widened: %+v %q", r.Changes, r.Warnings)
	}
	s.check(t, 30)

	s.job.MaxDeleteRatio = 0.2
	before := shownRows(t, s.store, "coupons", "acme")
	s.to(map[string][]string{"hostname": {hosts[2]}})
	_, err := s.worker.Run(t.Context(), s.job)
	guard, stopped := errors.AsType[*GuardError](err)
	if !stopped || !strings.Contains(err.Error(), "the scope of the stream, hostname "+hosts[2]+", leaves out ") {
		t.Fatalf("narrowed without consent: %v", err)
	}
	if !gocmp.Equal(before, shownRows(t, s.store, "coupons", "acme")) {
		t.Error("a run that was stopped has changed what readers see")
	}
	g, err := s.store.GuardedRun(t.Context(), warehouse.StreamID{Account: "acme", Stream: "coupons"})
	if err != nil || g == nil {
		t.Fatal(g, err)
	}
	consent := warehouse.Action{Actor: "jane", Via: warehouse.ViaPage, Action: warehouse.ActionConsent, Account: "acme",
		Stream: "coupons", RunID: g.RunID, Deletes: g.Deletes}
	if _, err := s.store.RecordAction(t.Context(), consent); err != nil {
		t.Fatal(err)
	}
	if r = s.run(t); r.Changes.Outside == 0 || r.Changes.Outside > r.Changes.Deleted ||
		r.Changes.Deleted > guard.Deletes || !warned(r, "rows are outside of the scope") {
		t.Errorf("narrowed with consent to %d: %+v %q", guard.Deletes, r.Changes, r.Warnings)
	}
	s.check(t, 2)
	if got := one(t, s.store, "SELECT (deleted, out_of_scope, scope) FROM sync_runs WHERE outcome = 'success' ORDER BY started_at DESC LIMIT 1"); got != fmt.Sprintf("(%d,%d,'%s')", r.Changes.Deleted, r.Changes.Outside, r.Scope) {
		t.Errorf("sync_runs has %s", got)
	}
	if n := one(t, s.store, "SELECT count() >= 40 FROM coupons_all"); n != "1" {
		t.Error("coupons_all lacks rows: those that left the scope are known still")
	}

	t.Run("filters that the service does not know", func(t *testing.T) {
		defer s.ignoreFilters(t, false)
		s.ignoreFilters(t, true)
		s.values, s.job.Scope, s.job.AllowMassDelete = map[string][]string{"hostname": hosts[:2]}, wide, true
		if r := s.run(t); !warned(r, "rows from outside of the scope, with hostname ") ||
			!warned(r, `the parameter "hostname"`) || r.Totals.Staged >= r.Totals.Read {
			t.Errorf("%+v %q", r.Totals, r.Warnings)
		}
		s.check(t, 4)
	})
	t.Run("changed there and back", func(t *testing.T) {
		for _, values := range []map[string][]string{{"hostname": hosts[2:4]}, {"hostname": hosts[:2]}, nil,
			{"hostname": hosts[:1]}}[:enginetest.Sample(1, 4)] {
			s.to(values)
			s.run(t)
			s.check(t, 2)
		}
		checkHistory(t, s.store, "acme", "coupons")
		checkDerived(t, s.store, "acme", "coupons")
	})
	t.Run("a retailer without rows", func(t *testing.T) {
		s.to(map[string][]string{"hostname": {hosts[0], "nobody.example"}})
		s.run(t)
		s.check(t, 2)
		s.job.AllowMassDelete = false
		s.to(map[string][]string{"hostname": {"nobody.example"}})
		if _, err := s.worker.Run(t.Context(), s.job); !isGuard(err) {
			t.Errorf("a scope without a row emptied the view: %v", err)
		}
	})
}

func isGuard(err error) bool {
	_, is := errors.AsType[*GuardError](err)
	return is
}

// requestsOf returns the hostnames that were requested, each once.
func (s *scoped) requestsOf() (hosts []string) {
	for _, r := range s.Log() {
		q, err := url.ParseQuery(r.Query)
		if h := q.Get("hostname"); err == nil && h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (s *scoped) ignoreFilters(t *testing.T, on bool) {
	t.Helper()
	if err := s.Update(func(o *apisim.Settings) { o.IgnoreTextFilters = on }); err != nil {
		t.Fatal(err)
	}
}

// put stores a coupon of a retailer, and returns its id.
func (s *scoped) put(t *testing.T, n int, host string, updated time.Time) string {
	t.Helper()
	id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)
	text := fmt.Sprintf(`{"id":%q,"code":"C%d","hostname":%q,"updatedAt":%q}`, id, n, host,
		updated.UTC().Format(time.RFC3339Nano))
	if err := s.Put(s.job.Stream.Name, "", []byte(text)); err != nil {
		t.Error(err)
	}
	return id
}

// TestRowsThatMoveBetweenLists moves rows while the lists of a scope are read one after the other: what is in the scope
// at every moment is never deleted, with or without a new updatedAt, and what has left the scope is deleted, though its
// address answers. For wide samples: TestScope has lists of a scope, TestMovingLists lists that move.
func TestRowsThatMoveBetweenLists(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	s := newScoped(t, "acme", "coupons", nil)
	s.to(map[string][]string{"hostname": {"a.example", "b.example"}})
	s.job.MaxDeleteRatio = 0.9
	long := s.Now().Add(-48 * time.Hour)
	for n := range 10 {
		s.put(t, n, []string{"a.example", "b.example"}[n%2], long)
	}
	s.run(t)
	s.check(t, 10)
	// Row 1 is in b.example. Once a.example has been read, it moves there, and is in neither list that is read.
	for _, test := range []struct {
		name    string
		updated func() time.Time
	}{
		{"with a new updatedAt", s.Now},
		{"with its updatedAt as it was", func() time.Time { return long }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.put(t, 1, "b.example", long)
			s.run(t)
			moved, id := false, ""
			s.SetBefore(func(r *http.Request) {
				if r.URL.Query().Get("hostname") == "b.example" && !moved {
					moved, id = true, s.put(t, 1, "a.example", test.updated())
				}
			})
			r := s.run(t)
			s.SetBefore(nil)
			if !moved || r.Changes.Deleted > 0 || r.Changes.Kept != 1 {
				t.Errorf("moved %t: %+v %q", moved, r.Changes, r.Warnings)
			}
			if n := one(t, s.store, "SELECT count() FROM coupons WHERE id = '"+id+"'"); n != "1" {
				t.Errorf("the row is there %s times", n)
			}
			s.run(t)
			s.check(t, 10)
		})
	}
	s.put(t, 2, "c.example", long)
	s.job.ConfirmDeletes = true
	if r := s.run(t); r.Changes.Deleted != 1 || r.Changes.Kept > 0 {
		t.Errorf("a row that left the scope: %+v %q", r.Changes, r.Warnings)
	}
	s.check(t, 9)
}

// TestScopeOfOffers selects by several filters at once. Rows match several values of one filter, and the service
// refuses one value: the other lists are loaded, and nothing is deleted. For wide samples: TestScope has one filter.
func TestScopeOfOffers(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	s := newScoped(t, "acme", "cashback_offers",
		func(o *apisim.Options) { o.Rates.DealEdits, o.Settings.KeepExpired = 0, true })
	s.job.AllowMassDelete = true
	var countries []string
	var pair map[string][]string // of one offer
	for record := range s.Truth("cashback_offers", "acme") {
		var r struct {
			Category  string
			Countries []string
		}
		if err := json.Unmarshal(record, &r); err != nil {
			t.Fatal(err)
		}
		if countries = append(countries, r.Countries...); r.Category != "" && len(r.Countries) > 0 {
			pair = map[string][]string{"country": {strings.ToLower(r.Countries[0])}, "category": {r.Category, "Nothing"}}
		}
	}
	slices.Sort(countries)
	countries = slices.Compact(countries)
	s.to(map[string][]string{"country": countries})
	if r := s.run(t); r.Duplicates == 0 {
		t.Errorf("no offer is available in two of %q", countries)
	}
	s.check(t, 20)
	s.Advance(3 * 24 * time.Hour)
	if r := s.run(t); r.Changes.Deleted == 0 {
		t.Errorf("no offer ended in three days: %+v", r.Changes)
	}
	s.check(t, 20) // those that ended still have an address
	s.to(pair)
	s.run(t)
	s.check(t, 1)
	loaded := len(shownRows(t, s.store, "cashback_offers", "acme"))
	s.Advance(5 * 24 * time.Hour)
	s.to(map[string][]string{"country": {countries[0], "GERMANY"}})
	r, err := s.worker.Run(t.Context(), s.job)
	if _, incomplete := errors.AsType[*IncompleteError](err); !incomplete ||
		!strings.Contains(err.Error(), `refused 1 of the 2 lists of its scope: country "GERMANY"`) {
		t.Errorf("a value that is refused: %v", err)
	}
	if r.Changes.Deleted > 0 || len(shownRows(t, s.store, "cashback_offers", "acme")) <= loaded {
		t.Errorf("of %d rows: %+v", loaded, r.Changes)
	}
	s.to(map[string][]string{"country": {"GERMANY"}})
	if _, err := s.worker.Run(t.Context(), s.job); err == nil ||
		!strings.Contains(err.Error(), `reading the part of the scope with country "GERMANY"`) {
		t.Errorf("a scope that is refused: %v", err)
	}
	s.to(map[string][]string{"name": {"Nobody & Sons"}, "country": countries[:1]})
	s.run(t)
	s.check(t, 0)
}

// TestScopeWhileListsMove reads a scope of lists that change between their pages: no row from outside is ever shown,
// and once they stand still the view is the truth. For wide samples: TestScope has lists of a scope, TestMovingLists
// lists that move.
func TestScopeWhileListsMove(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	for seed := range uint64(enginetest.Sample(1, 6)) {
		s := newScoped(t, "acme", "coupons", func(o *apisim.Options) {
			o.Seed, o.Settings.PageSize = 20+seed, 2+int(seed)
			o.Settings.Order = []apisim.Order{apisim.ByUpdatedDesc, apisim.ByUpdatedAsc, apisim.ByID}[seed%3]
			o.Settings.CursorMustMatch = seed%2 == 0
		})
		hosts := s.hosts(t)
		s.to(map[string][]string{"hostname": hosts[:3]})
		s.job.AllowMassDelete = true
		for range 3 {
			move := apisim.Movement{Seed: seed, PerPage: 0.5, Aim: 0.3, Insert: 1, Update: 2, Delete: 1, Step: time.Millisecond,
				MaxEvents: 100}
			if err := s.SetMovement(move); err != nil {
				t.Fatal(err)
			}
			if _, err := s.worker.Run(t.Context(), s.job); err != nil {
				if _, incomplete := errors.AsType[*IncompleteError](err); !incomplete {
					t.Fatal(err)
				}
			}
			for _, row := range shownRows(t, s.store, "coupons", "acme") {
				if !slices.Contains(hosts[:3], row["hostname"]) {
					t.Errorf("a row of %s is shown", row["hostname"])
				}
			}
			if err := s.SetMovement(apisim.Movement{}); err != nil {
				t.Fatal(err)
			}
		}
		s.run(t)
		s.check(t, 5)
	}
}

// TestKilledWhileTheScopeChanges lets a worker die at a step of the run that narrows a stream, and of the one that
// widens it: from there on, nothing that it does arrives. Readers see the one scope or the other, the state says which,
// and the next worker ends it. For wide samples: TestScope changes it, TestKillMatrix kills.
func TestKilledWhileTheScopeChanges(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	points := []string{"ALTER TABLE coupons_latest ATTACH", "INSERT coupons_delta", "INSERT sync_state_log intent",
		"INSERT sync_state_log intent cleared"}
	s := newScoped(t, "acme", "coupons", nil)
	s.job.AllowMassDelete = true
	s.run(t)
	hosts := s.hosts(t)
	for i, point := range points[:enginetest.Sample(2, len(points))] {
		for _, values := range []map[string][]string{{"hostname": hosts[:2]}, nil} {
			before := shownRows(t, s.store, "coupons", "acme")
			s.to(values)
			dying := newWorker(t, s.world, s.store.Database(), "acme", clocks{})
			var dead atomic.Bool
			dying.seam.set(func(_ context.Context, step string, after bool) error {
				if step == point && after == (i%2 == 0) {
					dead.Store(true)
				}
				if dead.Load() {
					return errInjected
				}
				return nil
			})
			job := s.job
			job.Client = dying.client
			if _, err := dying.Run(t.Context(), job); err == nil || !dead.Load() {
				t.Fatalf("%s: dead %t, %v", point, dead.Load(), err)
			}
			expireLeases(t, s.store, "acme")
			got := shownRows(t, s.store, "coupons", "acme")
			narrow := func(rows map[string]map[string]string) (n int) {
				for _, row := range rows {
					if slices.Contains(hosts[:2], row["hostname"]) {
						n++
					}
				}
				return n
			}
			if len(got) != len(before) && (values != nil) != (len(got) == narrow(before)) {
				t.Errorf("%s: %d rows, of %d before", point, len(got), len(before))
			}
			s.run(t)
			s.check(t, 4)
			checkHistory(t, s.store, "acme", "coupons")
		}
	}
}

// TestReferencesOutsideTheScope: deals that transactions name are found by their addresses, though the scope has none
// of them. They are not shown as live, and stay when the scope is read again. For wide samples: TestScope has a scope,
// TestReferences what is read by its address.
func TestReferencesOutsideTheScope(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	s := newScoped(t, "acme", "coupons", nil)
	s.job.AllowMassDelete = true
	id := s.put(t, 77, "far.example", s.Now().Add(-time.Hour))
	s.to(map[string][]string{"hostname": {"near.example"}})
	s.put(t, 78, "near.example", s.Now().Add(-time.Hour))
	s.run(t)
	sale := fmt.Sprintf(`{"id":"00000001-0000-4000-8000-000000000000","couponId":%q,"updatedAt":%q}`, id,
		s.Now().UTC().Format(time.RFC3339Nano))
	if err := s.Put(apisim.StreamTransactions, "acme", []byte(sale)); err != nil {
		t.Fatal(err)
	}
	sales := s.worker.job(t, "acme", "transactions")
	if _, err := s.worker.Run(t.Context(), sales); err != nil {
		t.Fatal(err)
	}
	r, err := s.worker.References(t.Context(), sales, []Job{s.job})
	if err != nil {
		t.Fatal(err)
	}
	if n := one(t, s.store, "SELECT (count(), countIf(hostname = 'far.example')) FROM coupons_all WHERE id = '"+id+
		"'"); n != "(1,1)" {
		t.Errorf("coupons_all has %s: %+v", n, r)
	}
	s.run(t)
	s.check(t, 1)
	if n := one(t, s.store, "SELECT count() FROM coupons_all WHERE id = '"+id+"'"); n != "1" {
		t.Errorf("after the next list coupons_all has %s", n)
	}
}
