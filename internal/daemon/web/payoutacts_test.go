package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/payouts"
	"dealhouse/internal/warehouse"
)

// asOps gets a path as the user.
func (x *site) asOps(t *testing.T, path string) (int, string) {
	t.Helper()
	answer, body := x.get(t, path, as("ops", opsPassword))
	return answer.StatusCode, body
}

// testPayoutPages loads the pages of payouts and months, and of some that do not exist.
func testPayoutPages(t *testing.T, b *bench, x *site, r payouts.Reconciliation) {
	t.Helper()
	for path, wants := range map[string][]string{
		"/payouts/acme/9001": {"Expect EUR 1,500.00 back: 1 transaction was declined after it was paid", "<h2 id=\"differ\">",
			"00000000-0000-4000-8000-000000090010", ">CONFIRMED</dd>", ">DECLINED</dd>", "first loaded",
			`value="expected_clawback EUR"`, `value="acknowledge"`, ">total_cashback</th>", `href="/statements/acme/2026-03"`,
			`<h2 id="three-way">`, "bank-9001", "EUR 2,998.50, after EUR 1.50 of fees", `data-label="Fees">1.50</td>`,
			"/payouts/acme/9001/download?format=csv&amp;list=three-way"},
		"/payouts/acme/9000": {"Nothing to do.", ">matched</span>"},
		"/payouts/acme/9002": {"not loaded", ">missing</span>"},
		"/payouts/acme/9003": {"error in payout", "EUR 0.01"},
		"/payouts/acme/9004": {"mixed currency", escaped},
		"/payouts/acme/9006": {"the payout was altered: ", "total_cashback from 6.5 to 7.5"},
		"/statements/acme/2026-03": {"The month is not complete", "Opening balance", "Closing balance", "paid out",
			"/statements/acme/2026-03/figure?currency=EUR&amp;of=opening", "0 to 30 days",
			"/statements/acme/2026-03/figure?age=0&amp;currency=EUR&amp;of=closing",
			"Next payouts", "Off in the past", "too little history", "list=backtest", `<h2 id="three-way">`,
			`<a href="/payouts/acme/9001">9001</a>`, "bank-lost", "it is not known which payout it settles"},
		"/statements/acme/2026-02": {"The month is complete and not closed.",
			`value="close_month"`},
		"/statements/acme/2026-03/figure?currency=EUR&of=closing":       {"Closing balance", "all of them as"},
		"/statements/acme/2026-03/figure?currency=EUR&of=paid+out":      {"Paid out", "9000"},
		"/statements/acme/2026-03/figure?age=0&currency=EUR&of=closing": {"unpaid, 0 to 30 days"},
	} {
		if !enginetest.Wide() && !slices.Contains([]string{"/payouts/acme/9001", "/payouts/acme/9004",
			"/statements/acme/2026-03", "/statements/acme/2026-03/figure?currency=EUR&of=closing"}, path) {
			continue // they take the warehouse half a second together
		}
		status, page := x.asOps(t, path)
		if status != http.StatusOK || strings.Contains(page, "<script>") {
			t.Errorf("%s: %d", path, status)
		}
		for _, want := range wants {
			if !strings.Contains(strings.ToLower(page), strings.ToLower(want)) {
				t.Errorf("%s: %q is not there: %s", path, want,
					strings.Join(strings.Fields(markup.ReplaceAllString(page, " ")), " "))
			}
		}
	}
	if _, page := x.asOps(t, "/payouts/acme/9000"); !strings.Contains(page, ">matched</span>") ||
		strings.Contains(page, `value="acknowledge"`) || strings.Contains(page, `data-state="late"`) {
		t.Error("what needs nothing can be acknowledged")
	}
	for _, path := range enginetest.Spread([]string{
		"/payouts/globex/9001", "/payouts/nobody/9001", "/payouts/acme/9001%2F2", "/payouts/acme/09001",
		"/payouts/acme/+9001", "/payouts/acme/abc", "/payouts/acme/", "/payouts/acme/9001/more",
		"/payouts/acme/99999999999999999999", "/payouts/globex/9001/download?format=json",
		"/statements/acme/2026-13", "/statements/acme/2026-3", "/statements/acme/0000-01", "/statements/acme/9999-12",
		"/statements/nobody/2026-03", "/statements/acme/2026-03%2F1", "/statements/acme/2026-13/download?format=csv",
		"/statements/acme/2026-03/figure", "/statements/acme/2026-03/figure?of=nothing",
		"/statements/acme/2026-03/figure?of=closing&age=99", "/statements/acme/2026-03/figure?of=sold&age=1",
		"/statements/acme/2026-03/figure?of=closing&age=x",
	}, 11) {
		if status, body := x.asOps(t, path); status != http.StatusNotFound {
			t.Errorf("%s: %d: %.200s", path, status, body)
		}
	}
	for _, path := range []string{"/payouts/acme/9001", "/payouts/download?format=csv", "/statements/acme/2026-03",
		"/statements/acme/2026-03/download?format=csv", "/payouts/acme/9001/download?format=csv"} {
		if answer, _ := x.get(t, path); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without credentials: %s", path, answer.Status)
		}
	}
	plain := b.serve(t, nil)
	for _, path := range []string{"/payouts/acme/9001", "/statements/acme/2026-02"}[:enginetest.Sample(1, 2)] {
		if page := plain.page(t, path); strings.Contains(page, "<form") || strings.Contains(page, "token") {
			t.Errorf("%s has a form though nobody is configured", path)
		}
	}
	if p := r.Payouts[indexOf(t, r, 9001)]; p.Month() != "2026-03" {
		t.Errorf("%s", p.Month())
	}
}

// testDownloads wants files to be the same as those that the commands write.
func testDownloads(t *testing.T, b *bench, x *site, r payouts.Reconciliation) {
	t.Helper()
	r = r.Of("acme")
	for _, list := range []string{payouts.ListPayouts(), payouts.ListExceptions, payouts.ListTotals, payouts.ListOrphans,
		payouts.ListOverdue}[:enginetest.Sample(1, 5)] {
		var want bytes.Buffer
		if err := r.WriteCSV(&want, list); err != nil {
			t.Fatal(err)
		}
		answer, got := x.get(t, "/payouts/download?account=acme&format=csv&list="+list, as("ops", opsPassword))
		if got != want.String() || answer.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
			answer.Header.Get("Content-Disposition") != `attachment; filename="payouts-acme.csv"` {
			t.Errorf("%s: %s, %v\n%s\nwant\n%s", list, answer.Status, answer.Header, got, want.String())
		}
	}
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	statement, err := payouts.NewStatement(t.Context(), b.w, "acme", march)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := statement.WriteCSV(&want); err != nil {
		t.Fatal(err)
	}
	if _, got := x.asOps(t, "/statements/acme/2026-03/download?format=csv"); got != want.String() {
		t.Errorf("%s\nwant\n%s", got, want.String())
	}
	for path, begins := range map[string]string{
		"/payouts/download?format=html": "<!DOCTYPE html>", "/payouts/download?format=json": "{\n",
		"/payouts/acme/9001/download?format=html": "<!DOCTYPE html>", "/payouts/acme/9001/download?format=json": "{\n",
		"/payouts/acme/9001/download?format=csv":                            "\ufeffaccount,payout_id,transaction_id",
		"/payouts/acme/9001/download?format=csv&list=totals":                "\ufeffaccount,payout_id,currency,total",
		"/statements/acme/2026-03/download?format=html":                     "<!DOCTYPE html>",
		"/statements/acme/2026-03/download?format=json":                     "{\n",
		"/statements/acme/2026-03/download?format=csv&list=ages":            "\ufeffaccount,month,currency,age",
		"/statements/acme/2026-03/download?format=csv&list=changes":         "\ufeffaccount,month,currency,entry",
		"/statements/acme/2026-03/download?format=csv&list=closing":         "\ufeffaccount,month,figure",
		"/statements/acme/2026-03/download?format=csv&of=sold&currency=EUR": "\ufeffaccount,month,figure",
		"/statements/acme/2026-03/download?format=csv&list=three-way":       "\ufeffaccount,payout_id,currency,earned,paid_out,received", "/payouts/acme/9001/download?format=csv&list=settlements": "\ufeffaccount,reference,revision",
		"/statements/acme/2026-03/download?format=csv&list=due":      "\ufeffaccount,month,currency,payout_month,transaction_id",
		"/statements/acme/2026-03/download?format=csv&list=forecast": "\ufeffaccount,month,currency,payout_month,transactions",
	} {
		if !enginetest.Wide() && !strings.HasPrefix(path, "/payouts/acme/9001/download?format=html") &&
			!strings.Contains(path, "of=sold") && !strings.Contains(path, "list=three-way") {
			continue
		}
		if status, body := x.asOps(t, path); status != http.StatusOK || !strings.HasPrefix(body, begins) {
			t.Errorf("%s: %d: %.100s", path, status, body)
		}
	}
	for _, query := range []string{"", "?format=xml", "?format=csv&list=nothing", "?format=json&list=payouts",
		"?format=csv&format=json", "?format=csv&list=transactions", "?format=csv&other=1", "?format=%zz"} {
		if status, _ := x.asOps(t, "/payouts/download"+query); status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, status)
		}
	}
	for _, query := range []string{"?format=json&of=sold", "?format=csv&of=sold&list=ages", "?format=csv&of=nothing",
		"?format=csv&age=1"} {
		if status, _ := x.asOps(t, "/statements/acme/2026-03/download"+query); status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, status)
		}
	}
	if status, _ := x.asOps(t, "/payouts/download?format=csv&account=nobody"); status != http.StatusNotFound {
		t.Error(status)
	}
}

// ask sends an action as a program does.
func (x *site) ask(t *testing.T, body string, change ...func(*http.Request)) (int, actedJSON, string) {
	t.Helper()
	answer, text := x.post(t, actionsAPI, body, change...)
	var acted actedJSON
	if err := json.Unmarshal([]byte(text), &acted); err != nil {
		t.Fatalf("%s: %s", answer.Status, text)
	}
	return answer.StatusCode, acted, text
}

// testAcknowledge acknowledges from the page and by the API, and tries everything that must be refused.
func testAcknowledge(t *testing.T, b *bench, x *site) {
	t.Helper()
	count := func() int {
		t.Helper()
		all, err := b.w.Acknowledgements(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	_, page := x.asOps(t, "/payouts/acme/9001")
	form := formOf(t, page, "acknowledge")
	form.Set("code", "expected")
	form.Set("reason", hostile)
	with := func(name, value string) string {
		changed := url.Values{}
		for k, v := range form {
			changed[k] = v
		}
		changed.Set(name, value)
		return changed.Encode()
	}
	asForm := header("Content-Type", formType)
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		want   int
	}{
		"no login":       {form.Encode(), func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"a wrong token":  {with("token", strings.Repeat("A", 43)), asForm, http.StatusForbidden},
		"no token":       {with("token", ""), asForm, http.StatusForbidden},
		"another origin": {form.Encode(), header("Origin", "https://evil.example"), http.StatusForbidden},
	} {
		if answer, body := x.post(t, actionsPage, c.body, asForm, c.change); answer.StatusCode != c.want {
			t.Errorf("%s: %s: %s", name, answer.Status, body)
		}
	}
	refused := map[string]struct{ body, says string }{
		"a huge note":                     {with("reason", strings.Repeat("ä", 501)), "at most 500 characters"},
		"a note of two lines":             {with("reason", "a\nb"), "one line"},
		"a note that turns the direction": {with("reason", "a\u202eb"), "one line"},
		"no such reason":                  {with("code", "because"), "the reason is one of"},
		"other without a note":            {strings.Replace(with("code", "other"), "reason=", "x=", 1), "needs a note"},
		"a tolerance below 0":             {with("tolerance", "-1"), "not below 0"},
		"a tolerance that is none":        {with("tolerance", "many"), "tolerance"},
		"another state":                   {with("seen", "0123"), "has changed since you looked at it"},
		"a payout of another account":     {with("account", "globex"), "there is no payout 9001"},
		"an id with a slash":              {with("payout_id", "9001/2"), "number of a payout"},
		"a month":                         {with("month", "2026-02"), "about a payout"},
		"a stream":                        {with("stream", "coupons"), "leave it out"},
	}
	for _, name := range enginetest.Spread(slices.Sorted(maps.Keys(refused)), 4) {
		c := refused[name]
		answer, body := x.post(t, actionsPage, c.body, asForm)
		to := answer.Header.Get("Location")
		if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/payouts/") {
			t.Errorf("%s: %s to %s: %s", name, answer.Status, to, body)
			continue
		}
		_, next := x.asOps(t, actionsPage+"?"+strings.SplitN(to, "?", 2)[1])
		if !strings.Contains(next, c.says) {
			t.Errorf("%s: %q is not said", name, c.says)
		}
	}
	if n := count(); n != 0 {
		t.Fatalf("%d acknowledgements were written by what was refused", n)
	}
	answer, _ := x.post(t, actionsPage, form.Encode(), asForm)
	_, next := x.asOps(t, answer.Header.Get("Location"))
	if n := count(); n != 1 || !strings.Contains(next,
		"Payout 9001 is acknowledged as expected: expected clawback of EUR 1,500.00.") ||
		!strings.Contains(next, "acknowledged by ops on ") ||
		!strings.Contains(next, "<b>ops</b> acknowledged expected clawback of EUR 1,500.00 as expected: "+escaped) ||
		strings.Contains(next, `value="acknowledge"`) {
		t.Errorf("%d acknowledgements: %s", n, next)
	}
	if answer, _ = x.post(t, actionsPage, form.Encode(), asForm); count() != 1 {
		t.Error("the same form was carried out twice")
	}
	if _, next = x.asOps(t, answer.Header.Get("Location")); !strings.Contains(next, "nothing open") {
		t.Error("a form that comes twice is not told so")
	}

	const ask = `{"action":"acknowledge","account":"acme","payout_id":9003,"code":"disputed","reason":"ticket 7","tolerance":2}`
	key := header("Idempotency-Key", "ack-1")
	status, acted, text := x.ask(t, ask, key)
	if status != http.StatusOK || !acted.Done || acted.Action.Actor != "ops" || acted.Action.Action != "acknowledge" ||
		acted.Action.Reason != "payout 9003 as disputed, tolerance 2: ticket 7" || count() != 2 {
		t.Errorf("%d: %s", status, text)
	}
	if status, acted, text = x.ask(t, ask, key); status != http.StatusOK || !acted.Done ||
		!strings.Contains(acted.Message, "came before") || count() != 2 {
		t.Errorf("%d: %s", status, text)
	}
	if status, _, text = x.ask(t, strings.Replace(ask, "9003", "9002", 1),
		key); status != http.StatusUnprocessableEntity || count() != 2 {
		t.Errorf("%d: %s", status, text)
	}
	answers := map[string]int{
		`{"action":"acknowledge","account":"acme","code":"disputed"}`:                              http.StatusBadRequest,
		`{"action":"acknowledge","account":"acme","payout_id":"x","code":"disputed"}`:              http.StatusBadRequest,
		`{"action":"acknowledge","payout_id":9002,"code":"disputed"}`:                              http.StatusBadRequest,
		`{"action":"acknowledge","account":"acme","payout_id":1,"code":"disputed"}`:                http.StatusNotFound,
		`{"action":"acknowledge","account":"acme","payout_id":9002,"code":"disputed","seen":"00"}`: http.StatusConflict,
		`{"action":"acknowledge","account":"acme","payout_id":9002,"code":"disputed","run_id":"` + strings.Repeat("1", 8) +
			`"}`: http.StatusBadRequest,
		`{"action":"pause","account":"acme","payout_id":9002}`: http.StatusBadRequest,
	}
	for _, body := range enginetest.Spread(slices.Sorted(maps.Keys(answers)), 3) {
		if status, _, text := x.ask(t, body); status != answers[body] || count() != 2 {
			t.Errorf("%s: %d: %s", body, status, text)
		}
	}
	all, err := b.w.Acknowledgements(t.Context(), "acme")
	if err != nil || all[0].By != "ops" || all[0].Reason != "disputed" || all[0].Note != "ticket 7" ||
		all[0].Tolerance.String() != "0.02" {
		t.Errorf("%+v, %v", all, err)
	}
	b.fresh()
	if _, page := x.asOps(t, actionsPage); !strings.Contains(page, "payout 9003 as disputed") ||
		!strings.Contains(page, ">acknowledge<") {
		t.Error("what was acknowledged is not among the actions")
	}
}

// testClose closes a month, once.
func testClose(t *testing.T, b *bench, x *site) {
	t.Helper()
	closes := func() []warehouse.Close {
		t.Helper()
		all, err := b.w.Closes(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	answers := map[string]int{
		`{"action":"close_month","account":"acme","month":"2026-13"}`:                  http.StatusBadRequest,
		`{"action":"close_month","account":"acme"}`:                                    http.StatusBadRequest,
		`{"action":"close_month","account":"acme","month":"2026-03"}`:                  http.StatusConflict,
		`{"action":"close_month","account":"nobody","month":"2026-02"}`:                http.StatusNotFound,
		`{"action":"close_month","account":"acme","month":"2026-02","seen":"00"}`:      http.StatusConflict,
		`{"action":"close_month","account":"acme","month":"2026-02","payout_id":9001}`: http.StatusBadRequest,
	}
	for _, body := range enginetest.Spread(slices.Sorted(maps.Keys(answers)), 3) {
		if status, _, text := x.ask(t, body); status != answers[body] || len(closes()) != 0 {
			t.Errorf("%s: %d: %s", body, status, text)
		}
	}
	_, page := x.asOps(t, "/statements/acme/2026-02")
	form := formOf(t, page, "close_month")
	form.Set("reason", "looked at by all")
	answer, _ := x.post(t, actionsPage, form.Encode(), header("Content-Type", formType))
	to := answer.Header.Get("Location")
	all := closes()
	if !strings.HasPrefix(to, "/statements/acme/2026-02?said=") || len(all) != 1 || all[0].By != "ops" ||
		all[0].Note != "looked at by all" || all[0].Hash != form.Get("seen") {
		t.Fatalf("to %s: %+v", to, all)
	}
	if _, page = x.asOps(t, to); !strings.Contains(page, "2026-02 of acme is closed, with the hash "+all[0].Hash) ||
		!strings.Contains(page, "Closed by ops") || strings.Contains(page, `value="close_month"`) {
		t.Error(page)
	}
	if status, acted, text := x.ask(t, `{"action":"close_month","account":"acme","month":"2026-02"}`); status != http.StatusOK || acted.Done || len(closes()) != 1 {
		t.Errorf("%d: %s", status, text)
	}
	if status, _, text := x.ask(t, `{"action":"close_month","account":"acme","month":"2026-01"}`); status != http.StatusConflict || len(closes()) != 1 {
		t.Errorf("%d: %s", status, text)
	}
}
