package syncer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// said is a service that answers as a test says, and a job that reads a stream of it.
type said struct {
	*Syncer
	w      *warehouse.Warehouse
	bodies map[string]string
	job    Job
}

func newSaid(t *testing.T, stream string) *said {
	t.Helper()
	s, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	x := &said{w: open(t), bodies: map[string]string{}}
	x.job = NewJob("acme", s, newClient(t, "acme", respond(t, x.bodies), "key"))
	if x.Syncer, err = New(Options{Warehouse: x.w, Grace: patience}); err != nil {
		t.Fatal(err)
	}
	return x
}

// answers sets the body of the list.
func (x *said) answers(body string) { x.bodies[x.job.Stream.Path] = body }

// run runs the job, and wants the outcome.
func (x *said) run(t *testing.T, outcome string) warehouse.RunRecord {
	t.Helper()
	r, err := x.Run(t.Context(), x.job)
	if r.Outcome != outcome || (err != nil) != (outcome != warehouse.OutcomeSuccess) {
		t.Fatalf("%s, %v, want %s", r.Outcome, err, outcome)
	}
	return r
}

func (x *said) wants(t *testing.T, query, want string) {
	t.Helper()
	if got := one(t, x.w, query); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

// items are records numbered from..to, with the value in a field of the stream.
func items(s *catalog.Stream, from, to int, value string) string {
	var all []string
	for i := from; i <= to; i++ {
		switch {
		case s.DerivedKey:
			all = append(all, fmt.Sprintf(`{"url":"https://x.test/%d","name":%q}`, i, value))
		case s.Payouts:
			all = append(all, fmt.Sprintf(`{"id":%d,"totalGmv":%s}`, i, value))
		default:
			all = append(all, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","%s":%q,"updatedAt":"2026-01-01T00:00:%02dZ"}`,
				i, map[bool]string{true: "country", false: "description"}[s.Kind == catalog.Incremental], value, i%60))
		}
	}
	return strings.Join(all, ",")
}

// An answer that says that it is not whole loads what it has, and deletes nothing; the next whole one does.
func TestListThatSaysItIsNotWhole(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	all := []string{"coupons", "transactions", "products", "promotions", "cashback_offers"}
	for _, stream := range all[:enginetest.Sample(3, len(all))] {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			x := newSaid(t, stream)
			x.job.Full, x.job.DeleteAfterLists = true, 1
			envelope := func(from, to int, more string) string {
				return `{"data":[` + items(x.job.Stream, from, to, "a") + `]` + more + `}`
			}
			x.answers(envelope(1, 20, `,"total":20`))
			x.run(t, warehouse.OutcomeSuccess)
			state := "SELECT groupArray((name, value)) FROM sync_state WHERE name = 'watermark'"
			before := one(t, x.w, state)
			for _, sign := range []string{`,"errors":[{"message":"shard 2"}]`, `,"error":"shard 2"`, `,"incomplete_results":true`,
				`,"warnings":["shard 2"]`, `,"total":20`, `,"meta":{"total_count":"20"}`, `,"hasMore":true`}[:enginetest.Sample(3, 7)] {
				x.answers(envelope(2, 18, sign))
				r := x.run(t, warehouse.OutcomeIncomplete)
				if quoted := strings.Trim(sign[1:], "{}"); r.Changes.Deleted > 0 || !warned(r, "not whole") || strings.Contains(sign, "shard") &&
					(!warned(r, "shard 2") || !strings.Contains(r.Error, "shard 2")) {
					t.Errorf("%s: %+v %q", quoted, r.Changes, r.Warnings)
				}
			}
			x.wants(t, "SELECT count() FROM "+stream, "20")
			x.wants(t, state, before)
			x.answers(envelope(2, 22, `,"total":22,"errors":[]`)) // one is gone by the count, three by the list
			x.run(t, warehouse.OutcomeIncomplete)
			x.wants(t, "SELECT count() FROM "+stream, "22")
			x.answers(envelope(2, 22, `,"total":21,"count":21,"total_pages":1,"errors":null,"partial":false`))
			if r := x.run(t, warehouse.OutcomeSuccess); stream != "transactions" && r.Changes.Deleted != 1 {
				t.Errorf("a whole list: %+v %q", r.Changes, r.Warnings)
			}
			checkTidy(t, x.w, "acme", stream)
		})
	}
}

// Counts that are no contradiction: of a page, of fewer than there are, of what was not asked for.
func TestCountsThatFit(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x := newSaid(t, "transactions")
	page := func(n int, more string) string {
		return `{"data":[` + items(x.job.Stream, 1, n, "a") + `]` + more + `}`
	}
	for _, more := range []string{`,"count":20`, `,"total":7`, `,"total":-1`, `,"total":20.5`, `,"totalPages":900`, `,"total":null`} {
		x.job.Full = true
		x.answers(page(20, more))
		x.run(t, warehouse.OutcomeSuccess)
	}
	x.job.Full = false
	x.answers(`{"data":[` + items(x.job.Stream, 19, 20, "a") + `],"total":4000}`) // of all that there is, also of what was not asked for
	if r := x.run(t, warehouse.OutcomeSuccess); warned(r, "not whole") {
		t.Errorf("%q", r.Warnings)
	}
	newest := items(x.job.Stream, 20, 20, "a") + ","
	x.answers(`{"data":[` + newest + items(x.job.Stream, 40, 41, "a") + `],"total":5}`) // of what changed
	if r := x.run(t, warehouse.OutcomeIncomplete); !warned(r, "it counts 5 records and lists 3") || r.Watermark.Second() != 20 {
		t.Errorf("%s %q", r.Watermark, r.Warnings)
	}
	x.wants(t, "SELECT count() FROM transactions", "22")
	x.answers(`{"data":[` + newest + items(x.job.Stream, 40, 43, "a") + `],"total":5}`)
	if r := x.run(t, warehouse.OutcomeSuccess); r.Watermark.Second() != 43 || r.RequestedAfter.Second() > 20 {
		t.Errorf("%s after %s", r.Watermark, r.RequestedAfter)
	}
}

// A notice that part of the API will go away comes for months: nothing is deleted, but nothing fails.
func TestNoticeOfTheService(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "coupons")
	x.answers(`{"data":[` + items(x.job.Stream, 1, 10, "a") + `],"requestId":"r1","took":3}`)
	if r := x.run(t, warehouse.OutcomeSuccess); !warned(r, "(list) requestId, (list) took") {
		t.Errorf("%q", r.Warnings)
	}
	x.answers(`{"data":[` + items(x.job.Stream, 2, 11, "b") + `],"requestId":"r2","warnings":["v1 is deprecated"]}`)
	r := x.run(t, warehouse.OutcomeSuccess)
	if r.Changes.Deleted != 0 || r.Changes.Kept != 1 || r.Changes.Inserted != 1 || r.Changes.Updated != 9 ||
		!warned(r, `"warnings": ["v1 is deprecated"]`) || warned(r, "requestId") {
		t.Errorf("%+v %q", r.Changes, r.Warnings)
	}
	if checks, err := x.w.CheckQuality(t.Context(), r); err != nil || len(checks) == 0 || !checks[0].OK {
		t.Errorf("%+v %v", checks, err)
	}
	x.wants(t, "SELECT count() FROM coupons", "11")
	x.wants(t, "SELECT groupArray(field) FROM (SELECT field FROM unknown_fields ORDER BY field)", "['(list) requestId','(list) took']")
}

// In a small list one row is a large share: a few may go, the rest waits for consent, and all else is loaded.
func TestDeletionsOfSmallLists(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "coupons")
	now, outcome := 0, ""
	// lists reads the coupons from..to with the text, and returns the run.
	lists := func(from, to int, text string) warehouse.RunRecord {
		t.Helper()
		x.answers(`{"data":[` + items(x.job.Stream, from, to, text) + `]}`)
		r, err := x.Run(t.Context(), x.job)
		guard, held := errors.AsType[*GuardError](err)
		if (err != nil) != held || held && (guard.Deletes != r.WouldDelete || r.Outcome != warehouse.OutcomeGuarded) {
			t.Fatalf("%v: %+v", err, r)
		}
		outcome = r.Outcome
		return r
	}
	for _, step := range []struct {
		from, to               int
		text                   string
		deleted, waiting, rows int
	}{
		{1, 4, "a", 0, 0, 4},
		{2, 5, "b", 1, 0, 4},    // 1 of 4 has expired, and one is new
		{4, 6, "b", 2, 0, 3},    // 2 of 4
		{6, 7, "c", 0, 2, 4},    // 2 of 3 are too many: 4 and 5 wait, 7 is there, and 6 is new
		{5, 7, "c", 1, 0, 3},    // one has come back, and one is gone
		{5, 5, "c", 0, 2, 3},    // too many again
		{5, 6, "c", 1, 0, 2},    //
		{6, 6, "c", 1, 0, 1},    // 1 of 2
		{7, 7, "c", 1, 0, 1},    // the only one was replaced by another
		{8, 7, "", 1, 0, 0},     // the only one
		{10, 29, "d", 0, 0, 20}, //
		{15, 30, "d", 5, 0, 16}, // 5 of 20
		{23, 33, "e", 0, 8, 19}, // 8 of 16
		{40, 59, "f", 0, 19, 19},
	} {
		r := lists(step.from, step.to, step.text)
		rows := one(t, x.w, "SELECT count() FROM coupons")
		if int(r.Changes.Deleted) != step.deleted || int(r.WouldDelete) != step.waiting || rows != fmt.Sprint(step.rows) {
			t.Fatalf("step %d, %d to %d: %s, %+v, would delete %d, %s rows, want %+v: %q", now, step.from, step.to, outcome, r.Changes,
				r.WouldDelete, rows, step, r.Warnings)
		}
		last := now == 13 // none of many rows is left: it may be another service, and nothing is loaded
		if held := step.waiting > 0 && !last; held != (r.Changes.Kept == uint64(step.waiting) && held) || last && r.Changes.Any() ||
			!last && step.to >= step.from && one(t, x.w, fmt.Sprintf("SELECT count() FROM coupons WHERE description = '%s'", step.text)) == "0" {
			t.Fatalf("step %d: %+v", now, r.Changes)
		}
		if held := outcome == warehouse.OutcomeGuarded; held != (step.waiting > 0) {
			t.Fatalf("step %d: %s", now, outcome)
		}
		checks, err := x.w.CheckQuality(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if !c.OK {
				t.Errorf("step %d: %+v", now, c)
			}
		}
		now++
	}
}

// What the guard holds back is deleted once an operator agrees, by the count that was shown.
func TestConsentToWhatWaits(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "payouts")
	x.answers(`[` + items(x.job.Stream, 1, 20, "1") + `]`)
	x.run(t, warehouse.OutcomeSuccess)
	x.answers(`[` + items(x.job.Stream, 11, 21, "2.5") + `]`)
	r := x.run(t, warehouse.OutcomeGuarded)
	if r.Changes.Updated != 10 || r.Changes.Inserted != 1 || r.WouldDelete != 10 || !strings.Contains(r.Error, "everything else is loaded") {
		t.Fatalf("%+v %d %s", r.Changes, r.WouldDelete, r.Error)
	}
	id := warehouse.StreamID{Account: "acme", Stream: "payouts"}
	standings, err := x.w.Standings(t.Context())
	if err != nil || len(standings) != 1 || standings[0].Waiting != 10 || !standings[0].LookedAt.Equal(r.StartedAt.Truncate(1e6)) ||
		standings[0].Faults.Count != 1 {
		t.Errorf("%+v %v", standings, err)
	}
	g, err := x.w.GuardedRun(t.Context(), id)
	if err != nil || g == nil || g.Deletes != 10 || g.RunID != r.RunID {
		t.Fatalf("%+v %v", g, err)
	}
	consent := warehouse.Action{Actor: "ops", Via: warehouse.ViaPage, Action: warehouse.ActionConsent, Account: "acme",
		Stream: "payouts", RunID: g.RunID, Deletes: g.Deletes}
	if _, err := x.w.RecordAction(t.Context(), consent); err != nil {
		t.Fatal(err)
	}
	x.wants(t, "SELECT (count(), sum(total_gmv)) FROM payouts", "(21,37.5)")
	if r := x.run(t, warehouse.OutcomeSuccess); r.Changes.Deleted != 10 {
		t.Errorf("%+v", r.Changes)
	}
	x.wants(t, "SELECT (count(), sum(total_gmv)) FROM payouts", "(11,27.5)")
	checkTidy(t, x.w, "acme", "payouts")
	checkHistory(t, x.w, "acme", "payouts")
}

// A walk that breaks off behind a page that is not whole does not continue behind it: the rest alone would look whole.
// One that breaks off elsewhere continues, and compares the service's count with all that it has read.
func TestWalkIsNotWhole(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "products")
	var requests []string
	says := func(string) (status int, more string) { return http.StatusOK, "" }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := cmp.Or(r.URL.Query().Get("page"), "1")
		n, err := strconv.Atoi(page)
		if err != nil {
			t.Error(err)
		}
		requests = append(requests, page)
		status, more := says(page)
		if n < 5 {
			more += fmt.Sprintf(`,"nextPage":"%d"`, n+1)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"data":[%s]%s}`, items(x.job.Stream, 10*n, 10*n+9, "a"), more)
	}))
	t.Cleanup(server.Close)
	x.job.Client, x.job.BatchRows, x.job.DeleteAfterLists = newClient(t, "acme", server.URL, "key"), 1, 1
	x.run(t, warehouse.OutcomeSuccess)
	x.wants(t, "SELECT count() FROM products", "50")
	for _, step := range []struct {
		name             string
		faulty, broken   string // the page that says so, and the one that fails in the first of two runs
		says, from       string // the page that the second run begins with
		outcome, warning string
	}{
		{"behind it", "2", "4", `,"errors":["x"]`, "2", warehouse.OutcomeIncomplete, `"errors": ["x"]`},
		{"before it", "4", "3", `,"partial":true`, "3", warehouse.OutcomeIncomplete, `"partial": true`},
		{"a count that fits", "5", "4", `,"total":50`, "4", warehouse.OutcomeSuccess, ""},
		{"a count that does not", "5", "4", `,"total":51`, "4", warehouse.OutcomeIncomplete, "it counts 51 records and lists 50"},
	} {
		broken := step.broken
		says = func(page string) (int, string) {
			switch page {
			case broken:
				return http.StatusServiceUnavailable, ""
			case step.faulty:
				return http.StatusOK, step.says
			}
			return http.StatusOK, ""
		}
		x.run(t, warehouse.OutcomeFailed)
		broken, requests = "", nil
		r := x.run(t, step.outcome)
		if requests[0] != step.from || step.warning != "" && !warned(r, step.warning) {
			t.Errorf("%s: asked for the pages %q: %q", step.name, requests, r.Warnings)
		}
	}
	checkTidy(t, x.w, "acme", "products")
}

// A bare array has no envelope: its headers may say that there is more.
func TestPayoutsThatAreNotWhole(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "payouts")
	header, list := http.Header{}, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		fmt.Fprint(w, list)
	}))
	t.Cleanup(server.Close)
	x.job.Client = newClient(t, "acme", server.URL, "key")
	list = "[" + items(x.job.Stream, 1, 10, "1") + "]"
	x.run(t, warehouse.OutcomeSuccess)
	list = "[" + items(x.job.Stream, 2, 11, "1") + "]"
	for _, h := range []http.Header{{"X-Total-Count": {"11"}}, {"Link": {`<https://x/1>; rel="first", <https://x/2>; rel="next"`}}} {
		header = h
		if r := x.run(t, warehouse.OutcomeIncomplete); !warned(r, "it counts 11 records and lists 10") && !warned(r, `rel="next"`) {
			t.Errorf("%q", r.Warnings)
		}
	}
	x.wants(t, "SELECT count() FROM payouts", "11")
	header = http.Header{"X-Total-Count": {"10"}, "Link": {`<https://x/1>; rel="prev"; title="next to it"`}}
	if r := x.run(t, warehouse.OutcomeSuccess); r.Changes.Deleted != 1 {
		t.Errorf("%+v", r.Changes)
	}
}
