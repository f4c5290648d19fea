package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

const opsPassword = "pässword:with colon"

// desk takes the place of a daemon, and records what it is asked to do.
type desk struct {
	mu    sync.Mutex
	asked []warehouse.Action
	err   error
}

func (d *desk) act(_ context.Context, a warehouse.Action) (Acted, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return Acted{}, d.err
	}
	d.asked = append(d.asked, a)
	a.ID = uuid.New()
	return Acted{Action: a, Done: true, Text: "Done as <b>asked</b>."}, nil
}

// drain returns what was asked since the last call.
func (d *desk) drain() []warehouse.Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.asked
	d.asked = nil
	return all
}

// serveDesk serves the bench with a user, and with a desk as daemon.
func (b *bench) serveDesk(t *testing.T, change func(*Options)) (*site, *desk) {
	t.Helper()
	d := &desk{}
	x := b.serve(t, func(o *Options) {
		o.User, o.Password, o.Act = "ops", opsPassword, d.act
		if change != nil {
			change(o)
		}
	})
	x.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return x, d
}

// post sends a body as the user, unless change says otherwise.
func (x *site) post(t *testing.T, path, body string, change ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	return x.get(t, path, append([]func(*http.Request){func(r *http.Request) {
		r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth("ops", opsPassword)
	}}, change...)...)
}

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
}

const pauseCoupons = `{"action":"pause","account":"acme","stream":"coupons","reason":"half empty"}`

func TestActionsAPI(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	x, d := b.serveDesk(t, nil)
	answer, body := x.post(t, actionsAPI, pauseCoupons, header("Idempotency-Key", "k-1"))
	var acted actedJSON
	if err := json.Unmarshal([]byte(body), &acted); err != nil || answer.StatusCode != http.StatusOK || !acted.Done ||
		acted.Message == "" || acted.Action.ID == nil || acted.Action.Actor != "ops" {
		t.Fatalf("%s: %s", answer.Status, body)
	}
	want := warehouse.Action{Actor: "ops", Via: warehouse.ViaAPI, Action: "pause", Account: "acme", Stream: "coupons",
		Reason: "half empty", Key: "k-1"}
	if got := d.drain(); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
	run := uuid.NewString()
	for _, good := range []string{
		`{"action":"reload"}`, `{"action":"run","account":"acme"}`,
		`{"action":"run_full","account":"acme","stream":"products"}`, `{"action":"cancel","account":"acme"}`,
		`{"action":"consent","account":"acme","stream":"coupons","run_id":"` + run + `"}`,
	} {
		if answer, body := x.post(t, actionsAPI, good,
			header("Content-Type", "application/json; charset=utf-8")); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", good, answer.Status, body)
		}
	}
	if got := d.drain(); len(got) != 5 || got[4].RunID.String() != run {
		t.Errorf("%+v", got)
	}
	for bad, says := range map[string]string{
		``: "cannot be read", `{`: "cannot be read", `[]`: "cannot be read", `{"action":"pause"} {}`: "after the JSON document",
		`{"action":"pause","account":"acme","all":true}`:                                       "unknown field",
		`{"action":"drop","account":"acme"}`:                                                   "want run, run_full",
		`{"action":"consent_used","account":"acme","stream":"coupons","run_id":"` + run + `"}`: "want run, run_full",
		`{"action":"pause"}`: "account", `{"action":"reload","account":"acme"}`: "leave account",
		`{"action":"consent","account":"acme","run_id":"` + run + `"}`:                    "one stream",
		`{"action":"consent","account":"acme","stream":"coupons"}`:                        "run_id",
		`{"action":"pause","account":"acme","run_id":"` + run + `"}`:                      "nothing else",
		`{"action":"consent","account":"acme","stream":"coupons","run_id":"7"}`:           "id of a run",
		`{"action":"pause","account":"acme","reason":"a\u0000b"}`:                         "one line",
		`{"action":"pause","account":"acme","reason":"` + strings.Repeat("ä", 501) + `"}`: "500",
		`{"action":"pause","account":"` + strings.Repeat("a", maxRequest) + `"}`:          "too large",
	} {
		if answer, body := x.post(t, actionsAPI, bad); answer.StatusCode != http.StatusBadRequest ||
			!strings.Contains(body, says) || !strings.Contains(body, `"error"`) {
			t.Errorf("%.80s: %s: %s", bad, answer.Status, body)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"no key": header("Idempotency-Key", ""), "two keys": header("Idempotency-Key", "a", "b"),
		"a long key":         header("Idempotency-Key", strings.Repeat("k", maxKey+1)),
		"a key with a space": header("Idempotency-Key", "a b"),
		"parameters":         func(r *http.Request) { r.URL.RawQuery = "stream=coupons" },
	} {
		if answer, body := x.post(t, actionsAPI, pauseCoupons, change); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s: %s", name, answer.Status, body)
		}
	}
	for want, err := range map[int]error{
		http.StatusConflict:            &RefusalError{Reason: "it is paused"},
		http.StatusNotFound:            &RefusalError{Unknown: true, Reason: "no such stream"},
		http.StatusUnprocessableEntity: &warehouse.KeyReusedError{Action: "run"},
		http.StatusServiceUnavailable:  errors.New("the disk is full"),
	} {
		d.err = err
		if answer, body := x.post(t, actionsAPI, pauseCoupons); answer.StatusCode != want ||
			!strings.Contains(body, err.Error()) {
			t.Errorf("%v: %s: %s", err, answer.Status, body)
		}
	}
	full := &clickhouse.Exception{Code: 243, Message: "Cannot reserve 1.00 MiB"}
	gaveUp := &warehouse.FaultError{Err: full, Attempts: 3, Advice: b.w.Advice(full)}
	for _, err := range []error{full, gaveUp} {
		d.err = fmt.Errorf("recording it: %w", err)
		if _, body := x.post(t, actionsAPI, pauseCoupons); !strings.Contains(body, "Cannot reserve") ||
			strings.Count(body, b.w.Advice(full)) != 1 || !strings.Contains(body, "is full: free space on it") {
			t.Errorf("a full disk: %s", body)
		}
	}
	d.err = nil
	if got := d.drain(); len(got) > 0 {
		t.Errorf("what was refused was asked of the daemon: %+v", got)
	}
	if _, err := b.w.RecordAction(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	b.fresh()
	if _, body = x.get(t, actionsAPI+"?limit=1", as("ops", opsPassword)); !strings.Contains(body, `"reason": "half empty"`) || strings.Contains(body, "k-1") {
		t.Error(body)
	}
	if answer, _ := x.get(t, actionsAPI+"?limit=0", as("ops", opsPassword)); answer.StatusCode != http.StatusBadRequest {
		t.Error(answer.Status)
	}
}

var hiddenField = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)

// formOf reads the hidden fields of a form on a page that has a button for an action.
func formOf(t *testing.T, page, action string) url.Values {
	t.Helper()
	for _, form := range regexp.MustCompile(`(?s)<form .*?</form>`).FindAllString(page, -1) {
		if !strings.Contains(form, `name="action" value="`+action+`"`) {
			continue
		}
		fields := url.Values{}
		for _, m := range hiddenField.FindAllStringSubmatch(form, -1) {
			fields.Set(m[1], m[2])
		}
		fields.Set("action", action)
		return fields
	}
	t.Fatalf("no form has %s:\n%s", action, page)
	return nil
}

const formType = "application/x-www-form-urlencoded"

func TestActionsPage(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.mustSync(t, "acme", "coupons")
	now, err := b.w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	guarded := warehouse.RunRecord{Account: "acme", Stream: "coupons", RunID: uuid.New(), Mode: warehouse.ModeSnapshot,
		StartedAt: now, FinishedAt: now, Outcome: warehouse.OutcomeGuarded, WouldDelete: 4321, Error: "stopped by a guard"}
	if err := b.w.SaveRun(t.Context(), guarded); err != nil {
		t.Fatal(err)
	}
	x, d := b.serveDesk(t, nil)
	page := func(path string) string {
		t.Helper()
		answer, body := x.get(t, path, as("ops", opsPassword))
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Security-Policy") != policyOfForms {
			t.Fatalf("%s: %s: %s", path, answer.Status, body)
		}
		return body
	}
	stream := page("/streams/acme/coupons")
	if !strings.Contains(stream, "Would delete") || !strings.Contains(stream, "<b>4,321 rows</b>") {
		t.Errorf("the page does not say what would have been deleted:\n%s", stream)
	}
	for _, c := range []struct{ page, action, back string }{
		{"/streams/acme/coupons", "run", "/streams/acme/coupons?said="},
		{"/streams/acme/coupons", "pause", "/streams/acme/coupons?said="},
		{"/streams/acme/coupons", "consent", "/streams/acme/coupons?said="},
		{"/streams/acme/transactions", "run_full", "/streams/acme/transactions?said="}, {"/", "run", "/?account=acme&said="},
		{actionsPage, "reload", "/actions?said="},
	} {
		fields := formOf(t, page(c.page), c.action)
		fields.Set("reason", "because")
		answer, body := x.post(t, actionsPage, fields.Encode(), header("Content-Type", formType))
		to := answer.Header.Get("Location")
		if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, c.back) {
			t.Fatalf("%s on %s: %s to %s: %s", c.action, c.page, answer.Status, to, body)
		}
		if got := d.drain(); len(got) != 1 || got[0].Action != c.action || got[0].Via != warehouse.ViaPage ||
			got[0].Actor != "ops" || got[0].Reason != "because" ||
			(c.action == "consent") != (got[0].RunID == guarded.RunID) || (got[0].Account == "") != (c.action == "reload") {
			t.Errorf("%s on %s: %+v", c.action, c.page, got)
		}
		if next := page(to); !strings.Contains(next, "Done as &lt;b&gt;asked&lt;/b&gt;.") {
			t.Errorf("the page after %s does not say what came of it", c.action)
		}
	}
	d.err = &RefusalError{Reason: "it is paused"}
	answer, _ := x.post(t, actionsPage, formOf(t, page("/streams/acme/coupons"), "run").Encode(),
		header("Content-Type", formType))
	if next := page(answer.Header.Get("Location")); !strings.Contains(next, "Not done: it is paused.") {
		t.Error("a refusal is not shown")
	}

	b.change("acme", "coupons", func(s *Stream) {
		s.Paused = &warehouse.Action{Actor: "robin", At: now, Account: "acme", Stream: "coupons", Reason: "<i>half</i> empty"}
	})
	stream = page("/streams/acme/coupons")
	if !strings.Contains(stream, "by robin") || !strings.Contains(stream, "&lt;i&gt;half&lt;/i&gt; empty") ||
		strings.Contains(stream, `value="pause"`) || strings.Contains(stream, `value="run"`) {
		t.Errorf("a paused stream:\n%s", stream)
	}
	formOf(t, stream, "resume")
	if body := page("/"); !strings.Contains(body, "1 stream is paused.") ||
		!strings.Contains(body, `data-state="paused"`) {
		t.Errorf("the status does not say that it is paused:\n%s", body)
	}
	plain := b.serve(t, nil)
	for _, path := range []string{"/", "/streams/acme/coupons", actionsPage} {
		if body := plain.page(t, path); strings.Contains(body, "<form") || strings.Contains(body, "token") {
			t.Errorf("%s has a form though nobody is configured", path)
		}
	}
}

// Nobody but the user can act, and no request can that a page of another site makes the user's browser send.
func TestNoForeignAction(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	x, d := b.serveDesk(t, nil)
	_, page := x.get(t, "/streams/acme/coupons", as("ops", opsPassword))
	form := formOf(t, page, "run")
	other, _ := b.serveDesk(t, nil) // after a restart
	_, page = other.get(t, "/streams/acme/coupons", as("ops", opsPassword))
	stale := formOf(t, page, "run").Encode()
	without := url.Values{"action": {"run"}, "account": {"acme"}}
	elsewhere := func(values url.Values, name, value string) string {
		changed := url.Values{}
		for k, v := range values {
			changed[k] = v
		}
		changed.Set(name, value)
		return changed.Encode()
	}
	asForm := header("Content-Type", formType)
	origin := func(o string) func(*http.Request) { return header("Origin", o) }
	none := func(r *http.Request) { r.Header.Del("Authorization") }
	for name, c := range map[string]struct {
		path, body string
		change     []func(*http.Request)
		want       int
	}{
		"no credentials": {actionsAPI, pauseCoupons, []func(*http.Request){none},
			http.StatusUnauthorized},
		"a wrong password": {actionsAPI, pauseCoupons, []func(*http.Request){as("ops", "pässword")},
			http.StatusUnauthorized},
		"a token without credentials": {actionsPage, form.Encode(), []func(*http.Request){asForm, none},
			http.StatusUnauthorized},
		"another origin, as JSON": {actionsAPI, pauseCoupons,
			[]func(*http.Request){origin("https://evil.example")}, http.StatusForbidden},
		"an origin that is hidden": {actionsAPI, pauseCoupons, []func(*http.Request){origin("null")},
			http.StatusForbidden},
		"another port of this machine": {actionsAPI, pauseCoupons, []func(*http.Request){origin("http://127.0.0.1:1")},
			http.StatusForbidden},
		"a site beside ours": {actionsAPI, pauseCoupons,
			[]func(*http.Request){header("Sec-Fetch-Site", "same-site")}, http.StatusForbidden},
		"another site, with our token": {actionsPage, form.Encode(),
			[]func(*http.Request){asForm, header("Sec-Fetch-Site", "cross-site")}, http.StatusForbidden},
		"another origin, with our token": {actionsPage, form.Encode(),
			[]func(*http.Request){asForm, origin("https://evil.example")}, http.StatusForbidden},
		"a form without a token": {actionsPage, without.Encode(), []func(*http.Request){asForm},
			http.StatusForbidden},
		"a form with an empty token": {actionsPage, elsewhere(form, "token", ""), []func(*http.Request){asForm},
			http.StatusForbidden},
		"a form with another token": {actionsPage, elsewhere(form, "token", strings.Repeat("A", 43)),
			[]func(*http.Request){asForm}, http.StatusForbidden},
		"a form of another process": {actionsPage, stale, []func(*http.Request){asForm}, http.StatusForbidden},
		"a token in the address": {actionsPage + "?" + form.Encode(), "", []func(*http.Request){asForm},
			http.StatusForbidden},
		"a form for the API": {actionsAPI, form.Encode(), []func(*http.Request){asForm},
			http.StatusUnsupportedMediaType},
		"JSON as text, without a preflight": {actionsAPI, pauseCoupons,
			[]func(*http.Request){header("Content-Type", "text/plain")}, http.StatusUnsupportedMediaType},
		"JSON of no type": {actionsAPI, pauseCoupons, []func(*http.Request){header("Content-Type")},
			http.StatusUnsupportedMediaType},
		"JSON for the page": {actionsPage, pauseCoupons, nil, http.StatusUnsupportedMediaType},
		"a form in parts": {actionsPage, form.Encode(),
			[]func(*http.Request){header("Content-Type", "multipart/form-data; boundary=x")}, http.StatusUnsupportedMediaType},
		"a large form": {actionsPage, form.Encode() + "&reason=" + strings.Repeat("x", maxRequest),
			[]func(*http.Request){asForm}, http.StatusBadRequest},
		"a method in disguise": {actionsAPI, pauseCoupons,
			[]func(*http.Request){func(r *http.Request) { r.Method = http.MethodPut }}, http.StatusMethodNotAllowed},
		"GET with a body": {actionsAPI, pauseCoupons,
			[]func(*http.Request){func(r *http.Request) { r.Method = http.MethodGet }}, http.StatusOK},
		"GET with what a form has": {actionsPage + "?" + form.Encode(), "",
			[]func(*http.Request){func(r *http.Request) { r.Method = http.MethodGet }}, http.StatusOK},
		"GET that says it is POST": {actionsPage, form.Encode(),
			[]func(*http.Request){asForm, func(r *http.Request) { r.Method = http.MethodGet },
				header("X-HTTP-Method-Override", "POST")}, http.StatusOK},
		"POST to another page": {"/streams/acme/coupons", form.Encode(), []func(*http.Request){asForm},
			http.StatusMethodNotAllowed},
		"POST to an address that looks alike": {actionsAPI + "/", pauseCoupons, nil, http.StatusMethodNotAllowed},
		"a browser asks before (preflight)": {actionsAPI, "",
			[]func(*http.Request){func(r *http.Request) { r.Method = http.MethodOptions }, none, origin("https://evil.example")},
			http.StatusMethodNotAllowed},
	} {
		answer, body := x.post(t, c.path, c.body, c.change...)
		if got := d.drain(); answer.StatusCode != c.want || len(got) > 0 ||
			answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %s, %+v: %s", name, answer.Status, got, body)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"of our own page":        header("Sec-Fetch-Site", "same-origin"),
		"of our own origin":      origin(x.base),
		"of a program":           func(*http.Request) {},
		"typed into the address": header("Sec-Fetch-Site", "none"),
	} {
		if answer, body := x.post(t, actionsPage, form.Encode(), asForm, change); answer.StatusCode != http.StatusSeeOther ||
			len(d.drain()) != 1 {
			t.Errorf("a form %s: %s: %s", name, answer.Status, body)
		}
	}
	// Whatever page the form says to return to, it is one of ours.
	for _, back := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)",
		"../..", ""} {
		answer, _ := x.post(t, actionsPage, elsewhere(form, "back", back), asForm)
		if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/?said=") {
			t.Errorf("back to %q leads to %q", back, to)
		}
	}
	evil := url.Values{"token": form["token"], "back": {"stream"}, "action": {"run"}, "account": {"/evil.example"},
		"stream": {"..\r\nSet-Cookie: a=b"}}
	answer, _ := x.post(t, actionsPage, evil.Encode(), asForm)
	if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/streams/%2Fevil.example/") ||
		answer.Header.Get("Set-Cookie") != "" {
		t.Errorf("it leads to %q: %v", to, answer.Header)
	}
	d.drain()

	open := b.serve(t, func(o *Options) { o.Act = d.act })
	for _, path := range []string{actionsAPI, actionsPage} {
		if answer, body := open.post(t, path, pauseCoupons); answer.StatusCode != http.StatusForbidden ||
			!strings.Contains(body, "daemon.user") || len(d.drain()) > 0 {
			t.Errorf("%s without a user: %s: %s", path, answer.Status, body)
		}
	}
	idle := b.serve(t, func(o *Options) { o.User, o.Password = "ops", opsPassword }) // nothing to act with
	if answer, _ := idle.post(t, actionsAPI, pauseCoupons); answer.StatusCode != http.StatusForbidden {
		t.Error(answer.Status)
	}
	if text := x.log.String() + open.log.String(); strings.Contains(text, form.Get("token")) ||
		strings.Contains(text, opsPassword) {
		t.Errorf("the log has a secret: %s", text)
	}
}
