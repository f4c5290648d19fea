package syncer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// detour sends what a client asks to another place, with another key, as a proxy or a changed name would.
type detour struct {
	to  *world
	key string
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(d.to.url)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = to.Host, ""
	r.Header.Set("Authorization", "Bearer "+d.key)
	return http.DefaultTransport.RoundTrip(r)
}

// partial makes each list say that it is not whole.
type partial struct{}

func (partial) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(`{"partial":true,`), &skip{answer.Body, 1}), answer.Body}
		answer.ContentLength = -1
		answer.Header.Del("Content-Length")
	}
	return answer, err
}

// skip leaves out the first n bytes.
type skip struct {
	io.Reader
	n int64
}

func (s *skip) Read(p []byte) (int, error) {
	if s.n > 0 {
		if _, err := io.CopyN(io.Discard, s.Reader, s.n); err != nil {
			return 0, err
		}
		s.n = 0
	}
	return s.Reader.Read(p)
}

// keyOf returns the key of an organization.
func (x *world) keyOf(account string) string {
	key, _ := x.Keys(account)
	return key
}

// foreign are the ways in which somebody else answers for an account of x.
func foreign(t *testing.T, x *world, account string, other *world) map[string]*dealapi.Client {
	t.Helper()
	return map[string]*dealapi.Client{
		"base_url": newClient(t, account, other.url, other.keyOf(account)),
		"api_key":  newClientOver(t, account, x.url, "another-organization", detour{other, other.keyOf(account)}),
		"proxy":    newClientOver(t, account, x.url, x.keyOf(account), detour{other, other.keyOf(account)}),
	}
}

// transactionAt is a transaction that the generated worlds do not have.
func transactionAt(n int, at time.Time) []byte {
	return fmt.Appendf(nil, `{"id":"c0ffee00-0000-4000-8000-%012d","status":"PENDING","currencyCode":"EUR","soldAt":%q,"updatedAt":%q}`,
		n, at.Format(time.RFC3339), at.Format("2006-01-02T15:04:05.000Z"))
}

func put(t *testing.T, x *world, stream string, record []byte) {
	t.Helper()
	if err := x.Put(stream, "acme", record); err != nil {
		t.Fatal(err)
	}
}

// runAs makes a run with another client.
func runAs(t *testing.T, w *warehouse.Warehouse, job Job, c *dealapi.Client) (warehouse.RunRecord, error) {
	t.Helper()
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	job.Client = c
	return s.Run(t.Context(), job)
}

// stateOf returns everything that a run may move: the rows, their number of versions, and the state of a stream.
func stateOf(t *testing.T, w *warehouse.Warehouse, stream string) string {
	t.Helper()
	return one(t, w, "SELECT (SELECT groupBitXor(cityHash64(*)) FROM "+stream+"), (SELECT count() FROM "+stream+"_latest), "+
		"(SELECT arraySort(groupArray((name, value))) FROM sync_state WHERE stream = '"+stream+"' AND name != 'lease')")
}

// wantStranger wants an error of the guard that another service trips, or of that of deletions, and nothing moved.
func wantStranger(t *testing.T, w *warehouse.Warehouse, stream, before string, r warehouse.RunRecord, err error) {
	t.Helper()
	guard, is := errors.AsType[*GuardError](err)
	if !is || guard.Loaded || r.Outcome != warehouse.OutcomeGuarded {
		t.Errorf("outcome %s: %v", r.Outcome, err)
	}
	if is && guard.Guard == GuardService && !strings.Contains(err.Error(), "--new-service") && !strings.Contains(err.Error(), "run it again") {
		t.Errorf("the message does not say what to do: %v", err)
	}
	if after := stateOf(t, w, stream); after != before {
		t.Errorf("moved from %s to %s", before, after)
	}
	if left := one(t, w, "SELECT count() FROM system.tables WHERE database = currentDatabase() AND match(name, '_(delta|changes)_[0-9a-f]{32}')"); left != "0" {
		t.Errorf("%s tables are left", left)
	}
}

// TestAnotherServiceAnswers has others answer for an account: another system, one without any rows, and an older copy;
// by another base_url, another key, and a proxy. No run moves anything, all say so, and after the return nothing is
// lost.
func TestAnotherServiceAnswers(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	all := slices.DeleteFunc(some("transactions", "products", "payouts"), func(s string) bool {
		return s == "promotions" || s == "cashback_offers" // there are none, or too few to tell much by
	})
	for _, kind := range []string{"another system", "an empty one", "an older copy"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o, streams := tinyWorld(31, "acme"), all
			x, w := serve(t, o), open(t)
			switch kind {
			case "another system":
				o.Seed++
			case "an empty one":
				o.Seed++
				o.Transactions = -1
				streams = []string{"transactions"} // that a list is empty is for the guard of deletions
			case "an older copy":
				streams = []string{"transactions"} // a copy of a list is a list that was shorter
			}
			other := serve(t, o)
			for n := range 3 {
				x.turn(t, "acme", n)
			}
			if kind == "another system" {
				other.Advance(80 * time.Hour)
			}
			jobs := x.jobs(t, "acme", streams...)
			syncAll(t, w, jobs)
			x.Advance(20 * time.Minute)
			x.TouchTransactions("acme", 0.3)
			if behind := x.Now().Sub(other.Now()); behind > 0 { // TestClocks has those whose Date is early
				other.Advance(behind)
			}
			if kind != "an empty one" {
				put(t, other, apisim.StreamTransactions, transactionAt(1, x.Now()))
			}
			for _, job := range jobs {
				stream := job.Stream.Name
				before := stateOf(t, w, stream)
				for how, client := range foreign(t, x, "acme", other) {
					for _, full := range []bool{false, true} {
						if full && kind == "an older copy" {
							continue // most of its rows are known: a full read takes it for a service that lost some
						}
						job.Full = full
						r, err := runAs(t, w, job, client)
						wantStranger(t, w, stream, before, r, err)
						if t.Failed() {
							t.Fatalf("%s, by %s, full %t", stream, how, full)
						}
						guard, _ := errors.AsType[*GuardError](err)
						if moved := how != "proxy"; moved && (guard.Guard != GuardService || !strings.Contains(err.Error(), how)) {
							t.Errorf("%s, by %s: %v", stream, how, err)
						}
						job.DryRun = true
						if _, err = runAs(t, w, job, client); !errors.As(err, &guard) {
							t.Errorf("a dry run of %s: %v", stream, err)
						}
						job.DryRun, job.Full = false, false
					}
				}
			}
			for name, r := range syncAll(t, w, jobs) {
				if len(r.Warnings) > 0 {
					t.Errorf("%s, after the return: %q", name, r.Warnings)
				}
			}
			for _, job := range jobs {
				checkTruth(t, w, x, "acme", job.Stream.Name)
			}
		})
	}
}

// TestServiceMoves changes what names the service, and not the service: a new key, another host, the same address
// written otherwise. Runs go on without a word, walks begin anew, and the service that they end with is stored.
func TestServiceMoves(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, tinyWorld(18, "acme")), open(t)
	jobs := x.jobs(t, "acme", "transactions", "payouts", "products")
	syncAll(t, w, jobs)
	server := httptest.NewServer(x.Sim)
	t.Cleanup(server.Close)
	key := x.keyOf("acme")
	for n, client := range []*dealapi.Client{
		newClientOver(t, "acme", x.url, "rotated", detour{x, key}),
		newClientOver(t, "acme", x.url+"/", "rotated", detour{x, key}),
		newClient(t, "acme", server.URL, key),
		newClient(t, "acme", strings.Replace(server.URL, "http", "HTTP", 1)+"/", key),
		newClient(t, "acme", x.url, key),
	} {
		x.turn(t, "acme", n)
		for i := range jobs {
			jobs[i].Client = client
		}
		for name, r := range syncAll(t, w, jobs) {
			if len(r.Warnings) > 0 {
				t.Errorf("%d, %s: %q", n, name, r.Warnings)
			}
		}
		for _, job := range jobs {
			checkTruth(t, w, x, "acme", job.Stream.Name)
			if got := one(t, w, "SELECT value FROM sync_state WHERE name = 'origin' AND stream = '"+job.Stream.Name+"'"); got != client.Identity() {
				t.Errorf("%d: stored %s, want %s", n, got, client.Identity())
			}
		}
	}
	if got := one(t, w, "SELECT count() FROM sync_state WHERE position(value, '"+key+"') > 0 OR position(value, 'rotated') > 0"); got != "0" {
		t.Errorf("%s states have a key", got)
	}
}

// TestNewService consents to another service: all of it is read, nothing of the former one stays, and ordinary runs go
// on with it. A list that moved is not enough.
func TestNewService(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, other, w := serve(t, tinyWorld(41, "acme")), serve(t, tinyWorld(42, "acme")), open(t)
	jobs := x.jobs(t, "acme", "transactions", "products", "payouts", "coupons")
	syncAll(t, w, jobs)
	for i := range jobs {
		jobs[i].Client, jobs[i].NewService = newClient(t, "acme", other.url, other.keyOf("acme")), true
		jobs[i].DeleteAfterLists = 3
	}
	before := stateOf(t, w, "transactions")
	r, err := runAs(t, w, jobs[0], newClientOver(t, "acme", other.url, other.keyOf("acme"), partial{}))
	wantStranger(t, w, "transactions", before, r, err)
	syncAll(t, w, jobs)
	for round := range 2 {
		for _, job := range jobs {
			checkTruth(t, w, other, "acme", job.Stream.Name)
		}
		other.turn(t, "acme", round)
		for i := range jobs {
			jobs[i].NewService, jobs[i].DeleteAfterLists = false, 1
		}
		syncAll(t, w, jobs)
	}
	r, err = runAs(t, w, x.jobs(t, "acme", "transactions")[0], x.client(t, "acme"))
	if guard, is := errors.AsType[*GuardError](err); !is || guard.Guard != GuardService {
		t.Errorf("the former service: %s, %v", r.Outcome, err)
	}
}

// TestWalkOfAnotherService interrupts a walk over the products, and lets another service answer the rest.
func TestWalkOfAnotherService(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("first load %t", first), func(t *testing.T) {
			t.Parallel()
			o := smallWorld()
			o.Settings.PageSize = 10
			x, w := serve(t, o), open(t)
			o.Seed++
			other := serve(t, o)
			job := x.jobs(t, "acme", "products")[0]
			job.BatchRows = 20
			if !first {
				syncAll(t, w, []Job{job})
				x.Advance(30 * 24 * time.Hour)
			}
			if r, err := stopped(t, w, job, PhaseReading); err == nil || r.Outcome != warehouse.OutcomeStopped || leftovers(t, w) == "0" {
				t.Fatalf("%+v, %v", r, err)
			}
			r, err := runAs(t, w, job, newClient(t, "acme", other.url, other.keyOf("acme")))
			if first { // nothing is known: it is the first load of that service
				if err != nil {
					t.Fatal(err)
				}
				checkTruth(t, w, other, "acme", "products")
				return
			}
			if guard, is := errors.AsType[*GuardError](err); !is || guard.Guard != GuardService || r.Totals.Pages < 11 { // it began anew
				t.Errorf("%+v, %v", r, err)
			}
			if _, err := stopped(t, w, job, PhaseReading); err == nil {
				t.Fatal("the walk was not stopped")
			}
			// A proxy changes neither base_url nor the key: the walk continues, and is recognised by what it lacks.
			r, err = runAs(t, w, job, newClientOver(t, "acme", x.url, x.keyOf("acme"), detour{other, other.keyOf("acme")}))
			if guard, is := errors.AsType[*GuardError](err); !is || guard.Guard != GuardService || r.Totals.Pages < 11 {
				t.Errorf("by a proxy: %+v, %v", r, err)
			}
			syncAll(t, w, []Job{job})
			checkTruth(t, w, x, "acme", "products")
			if n := leftovers(t, w); n != "0" {
				t.Errorf("%s staged rows are left", n)
			}
		})
	}
}

// TestBackfillOfAnotherService lets another service answer a backfill, and the rest of a first load.
func TestBackfillOfAnotherService(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	o := tinyWorld(51, "acme")
	o.Transactions, o.Settings.PageSize = 400, 20
	x, w := serve(t, o), open(t)
	o.Seed++
	other := serve(t, o)
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	job := x.jobs(t, "acme", "transactions")[0]
	job.InitialFrom = x.Now().AddDate(0, 0, -200)
	var requests atomic.Int64
	x.SetFault(func(*http.Request) apisim.Fault {
		if requests.Add(1) > 15 {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusBadRequest}
		}
		return apisim.Fault{}
	})
	if r, err := s.Run(t.Context(), job); err == nil || one(t, w, "SELECT count() > 0 FROM transactions") != "1" {
		t.Fatalf("%+v, %v", r, err)
	}
	x.SetFault(nil)
	rows := one(t, w, "SELECT (count(), groupBitXor(cityHash64(*))) FROM transactions")
	for how, client := range foreign(t, x, "acme", other) {
		if how != "proxy" && !enginetest.Wide() {
			continue
		}
		r, err := runAs(t, w, job, client)
		if guard, is := errors.AsType[*GuardError](err); !is || guard.Guard != GuardService || r.Outcome != warehouse.OutcomeGuarded {
			t.Errorf("the rest of a first load, by %s: %+v, %v", how, r, err)
		}
		asked := job
		asked.Client = client
		b, err := s.Backfill(t.Context(), asked, Range{From: x.Now().AddDate(-1, 0, 0), To: job.InitialFrom})
		if guard, is := errors.AsType[*GuardError](err); !is || guard.Guard != GuardService || b.Outcome != warehouse.OutcomeGuarded {
			t.Errorf("a backfill, by %s: %+v, %v", how, b, err)
		}
	}
	if now := one(t, w, "SELECT (count(), groupBitXor(cityHash64(*))) FROM transactions"); now != rows {
		t.Errorf("rows %s, before %s", now, rows)
	}
	syncAll(t, w, []Job{job})
	backfillAll(t, w, job, Range{From: x.Now().AddDate(-3, 0, 0), To: job.InitialFrom})
	checkTruth(t, w, x, "acme", "transactions")
}

// TestNewestRowVanishes removes the newest transaction at the service. A run that reads what changed cannot tell this
// from an older copy; a person can say so, and runs go on after it.
func TestNewestRowVanishes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, tinyWorld(61, "acme")), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	x.Advance(26 * time.Hour)
	put(t, x, apisim.StreamTransactions, transactionAt(1, x.Now()))
	syncAll(t, w, []Job{job})
	x.Advance(time.Hour)
	if err := x.Delete(apisim.StreamTransactions, "acme", "c0ffee00-0000-4000-8000-000000000001"); err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, w, "transactions")
	r, err := runAs(t, w, job, job.Client)
	wantStranger(t, w, "transactions", before, r, err)
	if err == nil || !strings.Contains(err.Error(), "`dealhouse sync transactions --account acme --full --allow-mass-delete`") {
		t.Errorf("%v", err)
	}
	job.Full, job.AllowMassDelete = true, true
	syncAll(t, w, []Job{job})
	job.Full, job.AllowMassDelete = false, false
	for n := range 2 { // at first no loaded row is as new as the watermark
		if r := syncAll(t, w, []Job{job})["acme/transactions"]; len(r.Warnings) > 0 {
			t.Errorf("%q", r.Warnings)
		}
		checkTruth(t, w, x, "acme", "transactions")
		put(t, x, apisim.StreamTransactions, transactionAt(2+n, x.Now()))
	}
}

// TestNewestRowIsRejected makes the one row that is read again unreadable: the service is the same.
func TestNewestRowIsRejected(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, tinyWorld(62, "acme")), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	x.Advance(26 * time.Hour)
	put(t, x, apisim.StreamTransactions, transactionAt(1, x.Now()))
	syncAll(t, w, []Job{job})
	put(t, x, apisim.StreamTransactions, []byte(strings.Replace(string(transactionAt(1, x.Now())), `"PENDING"`, `{"x":1}`, 1)))
	syncAll(t, w, []Job{job})
}

// TestReferencesOfAnotherService asks for deals at a wrong address, which knows none: they are asked for again as soon
// as the address is right. What the right address does not know is remembered, but not before a full read.
func TestReferencesOfAnotherService(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, tinyWorld(71, "acme")), open(t)
	const id = "c0ffee00-0000-4000-8000-00000000c0de"
	put(t, x, apisim.StreamTransactions, []byte(strings.Replace(string(transactionAt(1, x.Now())), `{`, `{"couponId":"`+id+`",`, 1)))
	jobs := x.jobs(t, "acme", "coupons", "transactions")
	syncAll(t, w, jobs)
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	asked := func(from Job, deals Job) (n int, warnings string) {
		t.Helper()
		x.ResetLog()
		from.ReferenceLimit = 100
		found, err := s.References(t.Context(), from, []Job{deals})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			warnings += strings.Join(r.Record.Warnings, " ")
		}
		for _, r := range x.Log() {
			if r.Path == "/v1/deals/coupons/"+id {
				n++
			}
		}
		return n, warnings
	}
	coupons, transactions := jobs[0], jobs[1]
	x.SetFault(func(r *http.Request) apisim.Fault {
		if strings.HasPrefix(r.URL.Path, "/v1/deals/coupons/") {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusNotFound}
		}
		return apisim.Fault{}
	})
	for range 2 {
		if n, warnings := asked(transactions, coupons); n != 1 || !strings.Contains(warnings, "base_url") {
			t.Errorf("at the wrong address: %d requests, %q", n, warnings)
		}
	}
	x.SetFault(nil)
	if n, warnings := asked(transactions, coupons); n != 1 || warnings != "" {
		t.Errorf("at the right one: %d requests, %q", n, warnings)
	}
	if n, _ := asked(transactions, coupons); n != 0 {
		t.Errorf("%d requests for what is not there", n)
	}
	transactions.Full = true
	if n, _ := asked(transactions, coupons); n != 1 {
		t.Errorf("a full read: %d requests", n)
	}
}
