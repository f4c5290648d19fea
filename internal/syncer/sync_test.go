package syncer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

func TestExpiredCouponStaysInHistory(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	options := smallWorld()
	options.Rates.DealTurnover = 0.02
	x, w := serve(t, options), open(t)
	syncAll(t, w, x.jobs(t, "acme", "coupons"))
	x.Advance(4 * 24 * time.Hour)
	record := syncAll(t, w, x.jobs(t, "acme", "coupons"))["acme/coupons"]
	if record.Changes.Deleted == 0 || record.Changes.Inserted == 0 {
		t.Fatalf("the world did not turn over: %+v", record.Changes)
	}
	gone := "SELECT id FROM coupons_history WHERE valid_to IS NOT NULL AND id NOT IN (SELECT id FROM coupons)"
	if n := one(t, w, "SELECT count() FROM ("+gone+")"); n != fmt.Sprint(record.Changes.Deleted) {
		t.Errorf("%s expired coupons are in the history, %d were deleted", n, record.Changes.Deleted)
	}
	if n := one(t, w, "SELECT count() FROM coupons_history WHERE id IN ("+gone+") AND valid_to <= valid_from"); n != "0" {
		t.Errorf("%s of them have no sensible validity", n)
	}
	// For the time of the first load, the history shows exactly what the view showed then.
	if n := one(t, w, "SELECT count() FROM coupons_history WHERE valid_from <= (SELECT min(valid_from) FROM coupons_history) AND "+
		"(valid_to IS NULL OR valid_to > (SELECT min(valid_from) FROM coupons_history))"); n == "0" ||
		n != fmt.Sprint(record.Changes.Live) {
		t.Errorf("as of the first load there were %s coupons, the view had %d", n, record.Changes.Live)
	}
}

// respond serves fixed bodies by path.
func respond(t *testing.T, bodies map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, bodies[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestMoneyArrivesExactly(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	amounts := []struct{ sent, want string }{
		{"0.1", "0.1"}, {"112.45", "112.45"}, {"99999999999999.9999", "99999999999999.9999"}, {"1e2", "100"},
		{"5e-3", "0.005"},
		{"23.139999999999997", "23.14"}, {"12.34567", "12.3457"}, {"75.57", "75.57"}, {"-0.0001", "-0.0001"},
		{"123456789012345", "NULL"},
	}
	var records []string
	for i, a := range amounts {
		records = append(records, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","orderValue":%s,"updatedAt":"2026-01-01T00:00:00Z","status":"PENDING"}`, i, a.sent))
	}
	w := open(t)
	c := newClient(t, "acme", respond(t, map[string]string{"/v1/deals/transactions": `{"data":[` +
		strings.Join(records, ",") + `]}`}), "key")
	s, err := catalog.Find("transactions")
	if err != nil {
		t.Fatal(err)
	}
	record := syncAll(t, w, []Job{NewJob("acme", s, c)})["acme/transactions"]
	for i, a := range amounts {
		got := one(t, w, fmt.Sprintf("SELECT ifNull(toString(order_value), 'NULL') || ' ' || status FROM transactions WHERE id = '00000000-0000-4000-8000-%012d'", i))
		if got != a.want+" PENDING" {
			t.Errorf("%s arrived as %s, want %s", a.sent, got, a.want)
		}
	}
	want := "[('out_of_range','123456789012345'),('rounded','12.34567')]"
	if got := one(t, w, "SELECT arraySort(groupArray((reason, raw))) FROM rejected_records WHERE field = 'orderValue' AND key != ''"); got != want {
		t.Errorf("rejects %s, want %s", got, want)
	}
	if record.Totals.Rejected != 2 || record.Totals.Noise != 1 {
		t.Errorf("%+v", record.Totals)
	}
}

func TestIncrementalReadsOnlyWhatChanged(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	rows := enginetest.Sample(5_000, 20_000)
	options := apisim.Options{Seed: 3, Retailers: 50, Promotions: -1, Coupons: -1, CashbackOffers: 10, Products: -1,
		Transactions: rows}
	options.Settings.PageSize = 100
	x, w := serve(t, options), open(t)
	syncAll(t, w, x.jobs(t, "acme", "transactions"))
	x.Advance(time.Hour)
	overlap := one(t, w, "SELECT countIf(updated_at > m - INTERVAL 10 MINUTE) FROM transactions AS a, (SELECT max(updated_at) AS m FROM transactions) AS b")
	arrived := x.Count(apisim.StreamTransactions, "acme") - rows
	changed := x.TouchTransactions("acme", 0.01)
	x.ResetLog()
	r := syncAll(t, w, x.jobs(t, "acme", "transactions"))["acme/transactions"]
	if served := x.Rows("/v1/deals/transactions"); uint64(served) != r.Totals.Read {
		t.Errorf("the service sent %d rows, sync_runs says %d", served, r.Totals.Read)
	}
	t.Logf("%d changed, %d arrived, %s in the overlap: %d read", changed, arrived, overlap, r.Totals.Read)
	if r.Totals.Read < uint64(changed) || r.Totals.Read > uint64(changed+changed/2+100) {
		t.Errorf("%d rows were read for %d changed ones", r.Totals.Read, changed)
	}
	if got := one(t, w, "SELECT concat(mode, ' ', toString(rows_read), ' ', toString(requested_after IS NOT NULL)) FROM sync_runs ORDER BY started_at DESC LIMIT 1"); got != fmt.Sprintf("incremental %d 1", r.Totals.Read) {
		t.Errorf("sync_runs: %s", got)
	}
	if got := one(t, w, "SELECT count() FROM transactions"); got != fmt.Sprint(x.Count(apisim.StreamTransactions,
		"acme")) {
		t.Errorf("%s rows", got)
	}
}

func TestFilterThatIsNotHonoured(t *testing.T) {
	enginetest.Long(t)
	for name, settings := range map[string]apisim.Settings{
		"ignored":         {IgnoreDateFilters: true},
		"named otherwise": {Params: apisim.LiveParams()},
		"not there":       {IgnoreDateFilters: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "named otherwise" {
				enginetest.OnlyWide(t)
			}
			t.Parallel()
			options := smallWorld()
			options.Settings = settings
			x, w := serve(t, options), open(t)
			streams := some("transactions")
			syncAll(t, w, x.jobs(t, "acme", streams...))
			x.Advance(24 * time.Hour)
			jobs := x.jobs(t, "acme", streams...)
			if name == "not there" { // and known to be so
				for i := range jobs {
					jobs[i].Params.UpdatedAfter, jobs[i].Params.UpdatedBefore = "", ""
				}
			}
			r := syncAll(t, w, jobs)["acme/transactions"]
			checkTruth(t, w, x, "acme", streams...)
			if name == "not there" {
				if len(r.Warnings) > 0 {
					t.Errorf("warnings: %q", r.Warnings)
				}
				return
			}
			if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "updated_after") {
				t.Errorf("warnings: %q", r.Warnings)
			}
			if got := one(t, w, "SELECT length(warnings) FROM sync_runs WHERE stream = 'transactions' ORDER BY started_at DESC LIMIT 1"); got != "1" {
				t.Errorf("sync_runs has %s warnings", got)
			}
		})
	}
}

// For wide samples: TestTakenOver has two workers on one stream.
func TestTwoSyncsAtOnce(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	var group sync.WaitGroup
	streams := some("coupons", "transactions", "products")
	for range 2 {
		jobs := x.jobs(t, "acme", streams...)
		group.Go(func() { syncAll(t, w, jobs) })
	}
	group.Wait()
	checkTruth(t, w, x, "acme", streams...)
	if n := one(t, w, "SELECT count() FROM coupons_history"); n != one(t, w, "SELECT count() FROM coupons") {
		t.Errorf("%s versions of unchanged coupons", n)
	}
}

func TestMassDeleteIsStopped(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	body := `[{"id":1,"totalGmv":1},{"id":2,"totalGmv":2},{"id":3,"totalGmv":3}]`
	bodies := map[string]string{"/v1/deals/payouts": body}
	c := newClient(t, "acme", respond(t, bodies), "key")
	s, err := catalog.Find("payouts")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", s, c)
	syncAll(t, w, []Job{job})
	syncer, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	for _, shrunk := range []string{`[]`, `[{"id":1,"totalGmv":1}]`} {
		bodies["/v1/deals/payouts"] = shrunk
		record, err := syncer.Run(t.Context(), job)
		var guard *GuardError
		if !errors.As(err, &guard) || record.Outcome != warehouse.OutcomeGuarded {
			t.Fatalf("%s: %v, outcome %s", shrunk, err, record.Outcome)
		}
		said := strings.Join(record.Warnings, "\n")
		if want := fmt.Sprintf("%d rows that would be gone stay", 3-strings.Count(shrunk, "id")); record.Changes.Any() ||
			!strings.Contains(said, "nothing was deleted") || !strings.Contains(said, want) {
			t.Errorf("%s: it changed %+v and says %q", shrunk, record.Changes, said)
		}
		if n := one(t, w, "SELECT sum(deleted) FROM sync_runs"); n != "0" {
			t.Errorf("sync_runs has %s rows that were deleted", n)
		}
		if n := one(t, w, "SELECT count() FROM payouts"); n != "3" {
			t.Errorf("%s rows are left", n)
		}
	}
	job.AllowMassDelete = true
	if r := syncAll(t, w, []Job{job})["acme/payouts"]; r.Changes.Deleted != 2 {
		t.Errorf("%+v", r.Changes)
	}
	bodies["/v1/deals/payouts"] = body
	if r := syncAll(t, w, []Job{job})["acme/payouts"]; r.Changes.Inserted != 2 ||
		one(t, w, "SELECT count() FROM payouts") != "3" {
		t.Errorf("rows that came back: %+v", r.Changes)
	}
}

// An operator's consent lets one run delete what the guard counted, and no more than that. For wide samples:
// TestOperateWithoutDaemon of the commands agrees to a deletion.
func TestConsentIsForOneRun(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	list := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"id":%d,"totalGmv":1}`, i+1))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	bodies := map[string]string{"/v1/deals/payouts": list(20)}
	s, err := catalog.Find("payouts")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", s, newClient(t, "acme", respond(t, bodies), "key"))
	syncAll(t, w, []Job{job})
	syncer, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	// run reads a list of n rows, and returns how many rows were deleted, or would have been.
	run := func(n int, dry bool) (deleted, would uint64, said string) {
		t.Helper()
		bodies["/v1/deals/payouts"] = list(n)
		job.DryRun = dry
		record, err := syncer.Run(t.Context(), job)
		if guard, ok := errors.AsType[*GuardError](err); (err != nil) != ok || ok && guard.Deletes != record.WouldDelete {
			t.Fatalf("%v: %+v", err, record)
		}
		return record.Changes.Deleted, record.WouldDelete, fmt.Sprint(err, record.Warnings)
	}
	consent := func() {
		t.Helper()
		g, err := w.GuardedRun(t.Context(), warehouse.StreamID{Account: "acme", Stream: "payouts"})
		if err != nil || g == nil {
			t.Fatal(g, err)
		}
		a := warehouse.Action{Actor: "ops", Via: warehouse.ViaPage, Action: warehouse.ActionConsent, Account: "acme",
			Stream: "payouts", RunID: g.RunID, Deletes: g.Deletes}
		if _, err := w.RecordAction(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name           string
		listed         int
		dry, consented bool
		deleted, would uint64
		says           string
	}{
		{"without consent", 10, false, false, 0, 10, "max_delete_ratio"},
		{"a dry run", 10, true, true, 10, 0, "ops has agreed to the deletion of up to 10 rows"},
		{"more than was agreed to", 9, false, false, 0, 11, "ops has agreed to 10"},
		{"after that, even what was agreed to", 10, false, false, 0, 10, "max_delete_ratio"},
		{"what was agreed to", 10, false, true, 10, 0, "ops has agreed to the deletion of up to 10 rows"},
		{"once more", 3, false, false, 0, 7, "max_delete_ratio"},
		{"all of them, with consent to fewer", 0, false, true, 0, 10, "ops has agreed to 7"},
		{"all of them, with consent", 0, false, true, 10, 0, "ops has agreed to the deletion"},
	} {
		if step.consented {
			consent()
		}
		deleted, would, said := run(step.listed, step.dry)
		if deleted != step.deleted || would != step.would || !strings.Contains(said, step.says) {
			t.Fatalf("%s: %d rows deleted, %d would have been: %s", step.name, deleted, would, said)
		}
	}
	if got := one(t, w, "SELECT groupArray((outcome, deleted, would_delete)) FROM (SELECT * FROM sync_runs ORDER BY started_at)"); got != "[('success',0,0),('guarded',0,10),('guarded',0,11),('guarded',0,10),('success',10,0),('guarded',0,7),('guarded',0,10),('success',10,0)]" {
		t.Error(got)
	}
}

func TestDryRunLeavesNothing(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	jobs := x.jobs(t, "acme")
	for i := range jobs {
		jobs[i].DryRun = true
	}
	for name, r := range syncAll(t, w, jobs) {
		if r.Changes.Inserted == 0 || r.Outcome != warehouse.OutcomeDryRun {
			t.Errorf("%s: %+v %s", name, r.Changes, r.Outcome)
		}
	}
	if got := one(t, w, "SELECT groupArray((table, total_rows)) FROM system.tables WHERE database = currentDatabase() AND total_rows > 0 AND table NOT IN ('schema_migrations_log', 'schema_turns_log', 'sync_state_log')"); got != "[]" {
		t.Errorf("a dry run left rows: %s", got)
	}
	if got := one(t, w, "SELECT groupArray(name) FROM sync_state"); got != "[]" {
		t.Errorf("a dry run left state: %s", got)
	}
}

// TestWalkGoesOn breaks a product walk in the middle and lets the next run continue it.
func TestWalkGoesOn(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	options := smallWorld()
	options.Settings.PageSize = 10
	x, w := serve(t, options), open(t)
	x.failAfter("/v2/products", 6)
	job := x.jobs(t, "acme", "products")[0]
	job.BatchRows = 20
	syncer, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	var api *dealapi.Error
	if _, err := syncer.Run(t.Context(), job); !errors.As(err, &api) || api.Kind != dealapi.KindServer {
		t.Fatalf("%v", err)
	}
	if n := one(t, w, "SELECT count() FROM products"); n != "0" {
		t.Fatalf("readers see %s products of half a walk", n)
	}
	x.SetFault(nil)
	x.ResetLog()
	r := syncAll(t, w, []Job{job})["acme/products"]
	checkPrices(t, w, x, "acme")
	if n := one(t, w, "SELECT count() FROM products"); n != "110" || r.Totals.Read != 110 || r.Changes.Inserted != 110 {
		t.Errorf("%s products, %+v", n, r)
	}
	if n := x.Requests("/v2/products"); n > 9 {
		t.Errorf("%d of 11 pages were read again", n)
	}
	if n := one(t, w, "SELECT count() FROM sync_runs"); n != "1" {
		t.Errorf("one walk made %s runs", n)
	}
}

// TestWalkStartsOver continues a walk whose token the service no longer takes. For wide samples: TestWalkGoesOn has a
// walk that was interrupted.
func TestWalkStartsOver(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	options := smallWorld()
	options.Settings.PageSize = 10
	x, w := serve(t, options), open(t)
	var refuse atomic.Bool
	x.SetFault(func(*http.Request) apisim.Fault {
		if x.Requests("/v2/products") == 6 {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusForbidden}
		}
		return apisim.Fault{}
	})
	job := x.jobs(t, "acme", "products")[0]
	job.BatchRows = 20
	syncer, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syncer.Run(t.Context(), job); err == nil {
		t.Fatal("a refused key did not end the run")
	}
	refuse.Store(true)
	x.ResetLog()
	x.SetFault(func(r *http.Request) apisim.Fault {
		if refuse.Load() && r.URL.Query().Get("page") != "" {
			refuse.Store(false)
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusBadRequest}
		}
		return apisim.Fault{}
	})
	r := syncAll(t, w, []Job{job})["acme/products"]
	if r.Totals.Read != 110 || r.Changes.Inserted != 110 || r.Duplicates != 0 {
		t.Errorf("%+v", r)
	}
	checkPrices(t, w, x, "acme")
}

func TestUnknownNamesAreBounded(t *testing.T) {
	a, b := newSeen(), newSeen()
	for i := range 3 * mostUnknown {
		[]*seen{a, b}[i%2].unnamed(map[string]int{fmt.Sprint("x", i): 1, "again": 1})
	}
	a.add(b)
	sum := 0
	for _, n := range a.unknown {
		sum += n
	}
	if len(a.unknown) != mostUnknown+1 || sum != 6*mostUnknown || a.unknown["again"] != 3*mostUnknown {
		t.Errorf("%d names, seen %d times, one of them %d", len(a.unknown), sum, a.unknown["again"])
	}
}

// TestFullReadWhileRowsMove reads all transactions, newest first, while some of them change and so move to a page that
// was already read: none of them counts as gone. For wide samples: TestMovingLists moves rows while they are read.
func TestFullReadWhileRowsMove(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	options := tinyWorld(23, "acme")
	options.Settings.Order = apisim.ByUpdatedDesc
	x, w := serve(t, options), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	syncAll(t, w, []Job{job})
	var requests atomic.Int64
	x.SetBefore(func(*http.Request) {
		if requests.Add(1) == 3 {
			x.Advance(time.Minute)
			x.TouchTransactions("acme", 0.5)
		}
	})
	job.Full, job.AllowMassDelete = true, true
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Changes.Deleted != 0 || r.Changes.Updated == 0 {
		t.Errorf("%+v", r.Changes)
	}
	checkTruth(t, w, x, "acme", "transactions")
}

func TestWatermark(t *testing.T) {
	at := func(clock string) time.Time {
		v, err := time.Parse(time.TimeOnly, clock)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 0, 0)
	}
	for _, c := range []struct {
		name, old, newest, server, want string
		took                            time.Duration
		gap                             string
	}{
		{name: "advances to the newest row", old: "10:00:00", newest: "11:00:00", server: "12:00:00", want: "11:00:00"},
		{name: "never past the start of the run", old: "10:00:00", newest: "13:00:00", server: "12:00:00", want: "12:00:00"},
		{name: "never back to the newest row", old: "10:00:00", newest: "09:00:00", server: "12:00:00", want: "10:00:00"},
		{name: "never back to a server's wrong clock", old: "10:00:00", newest: "11:00:00", server: "09:00:00",
			want: "10:00:00"},
		{name: "stays where nothing was read", old: "10:00:00", server: "12:00:00", want: "10:00:00"},
		{name: "stays where rows may have been missed", old: "10:00:00", newest: "11:00:00", server: "12:00:00",
			want: "10:00:00", gap: "moved"},
		{name: "less what a long run may have missed", old: "10:00:00", newest: "11:00:00", server: "12:00:00",
			want: "10:40:00", took: 30 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := seen{serverStart: at(c.server), took: c.took, gap: c.gap}
			if c.newest != "" {
				s.newest = at(c.newest).UnixMilli()
			}
			if got := s.watermark(at(c.old), catalog.DefaultOverlap); !got.Equal(at(c.want)) {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	s, err := catalog.Find("transactions")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", s, nil)
	job.Params.UpdatedAfter = "updatedAtGreaterThan"
	q := job.query(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600)), "c")
	if d := cmp.Diff(url.Values{"updatedAtGreaterThan": {"2026-01-02T02:04:05.006Z"}}, q.Params); d != "" ||
		q.PageParam != "cursor" || q.Start != "c" {
		t.Errorf("%s %+v", d, q)
	}
}

// TestShareOfTheRate runs beside another process that loads the account: each takes half of the requests.
func TestShareOfTheRate(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, tinyWorld(1, "acme")), open(t)
	key, _ := x.Keys("acme")
	limiter := dealapi.NewLimiter(1000)
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: x.url, Key: key, Limiter: limiter})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	jobs := jobsOf(t, client, "acme", "coupons")
	for _, c := range []struct {
		expires string // of the other's lease
		want    float64
	}{{"9", 500}, {"0", 1000}} {
		if err := w.Conn().Exec(t.Context(), `INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT 'acme', 'payouts', 'lease', '{"owner":"elsewhere/1/a","expires":`+c.expires+`000000000000000}', toUnixTimestamp64Micro(now64(6))`); err != nil {
			t.Fatal(err)
		}
		syncAll(t, w, jobs)
		if limiter.Rate() != c.want {
			t.Errorf("it may ask %v times a second, want %v", limiter.Rate(), c.want)
		}
	}
}
