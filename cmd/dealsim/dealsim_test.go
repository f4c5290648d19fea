package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dealhouse/internal/apisim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) string { return "" }

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"extra"}, {"--page-size", "0"}, {"--page-size", "10001"}, {"--order", "up"}, {"--now", "later"},
		{"--transactions", "-1"}, {"--speed", "-1"}, {"--keys", "acme"}, {"--keys", "nobody=secret"}, {"--orgs", "a,a"},
		{"--advance-to", "later"}, {"--advance-to", "2020-01-01T00:00:00Z"}, {"--timestamps", "x"}, {"--next-page", "x"},
		{"--latency", "fast"}, {"--rate-limit", "-1"}, {"--retailers", "0"},
		{"--cursor", "x"}, {"--unknown-cursor", "500"}, {"--move", "-1"}, {"--move-aim", "2"}, {"--move-update", "-1"},
		{"--move-step", "1us"}, {"--move-max", "-1"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, noEnv, &stdout, &stderr); code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, &stderr)
		}
		if !strings.HasPrefix(stderr.String(), "dealsim: ") || strings.Contains(stderr.String(), "secret") {
			t.Errorf("%v: %s", args, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, noEnv, &stdout, &stderr); code != exitOK ||
		!strings.Contains(stdout.String(), "/sim/advance") {
		t.Errorf("--help: %d %s", code, &stdout)
	}
	if code := run(t.Context(), []string{"--listen", "256.0.0.1:x"}, noEnv, &stdout, &stderr); code != exitFault {
		t.Errorf("an address that cannot be: exit code %d", code)
	}
}

// launch runs the command and returns its base URL, what it printed until
// then, and a function that stops it and returns the exit code.
func launch(t *testing.T, getenv func(string) string, args ...string) (base, greeting string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	exit := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), getenv, io.Discard, w)
		_ = w.Close()
		exit <- code
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		greeting += lines.Text() + "\n"
		if b, ok := strings.CutPrefix(lines.Text(), "export DEALS_BASE_URL="); ok {
			base = b
		}
		if strings.HasPrefix(lines.Text(), "curl ") {
			break
		}
	}
	drained := make(chan struct{})
	go func() { defer close(drained); _, _ = io.Copy(io.Discard, r) }()
	return base, greeting, func() int {
		cancel()
		<-drained
		return <-exit
	}
}

func get(t *testing.T, target, key string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestServesUntilToldToStop(t *testing.T) {
	env := func(name string) string {
		if name == "DEALSIM_KEYS" {
			return "acme=from-env; globex=g$1,p"
		}
		return ""
	}
	base, greeting, stop := launch(t, env, "--transactions", "100", "--products", "50", "--page-size", "7",
		"--keys", "acme=from-flag", "--live-params", "--param-page", "p", "--speed", "60")
	for _, line := range []string{"export ACME_API_KEY=from-flag\n", "export GLOBEX_API_KEY='g$1'\n",
		"export GLOBEX_PAYOUTS_KEY=p\n"} {
		if !strings.Contains(greeting, line) {
			t.Errorf("%q is not in the greeting:\n%s", line, greeting)
		}
	}
	code, body := get(t, base+"/v1/deals/transactions?updatedAtGreaterThan=2000-01-01", "from-flag")
	if code != http.StatusOK || strings.Count(body, `"soldAt"`) != 7 {
		t.Errorf("transactions: %d %.200s", code, body)
	}
	if code, body := get(t, base+"/v1/deals/transactions?updatedAtGreaterThan=x",
		"from-flag"); code != http.StatusBadRequest {
		t.Errorf("bad filter: %d %s", code, body)
	}
	if code, _ := get(t, base+"/v2/products?p=x", "from-flag"); code != http.StatusBadRequest {
		t.Errorf("bad page: %d", code)
	}
	if code, body := get(t, base+"/sim/status", ""); code != http.StatusOK || !strings.Contains(body, `"acme": 100`) {
		t.Errorf("status: %d %s", code, body)
	}
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestMovesWhileItIsRead(t *testing.T) {
	base, _, stop := launch(t, noEnv, "--keys", "acme=key", "--page-size", "5", "--order", "drifting", "--cursor",
		"keyset",
		"--unknown-cursor", "empty", "--cursor-must-match", "--feed-offsets", "--move", "4", "--move-seed",
		"18446744073709551615",
		"--move-aim", "0.5", "--move-update", "1", "--move-delete", "1", "--move-return-old", "--move-step", "2ms",
		"--move-max", "9")
	defer stop()
	for range 10 {
		if code, body := get(t, base+"/v1/deals/coupons", "key"); code != http.StatusOK ||
			!strings.Contains(body, `"cursor"`) {
			t.Fatalf("%d %s", code, body)
		}
	}
	if code, body := get(t, base+"/v1/deals/coupons?cursor=00000000-0000-4000-8000-000000000000",
		"key"); code != http.StatusOK || body != `{"data":[]}` {
		t.Errorf("unknown cursor: %d %s", code, body)
	}
	_, body := get(t, base+"/sim/status", "")
	var status struct{ Moves apisim.Moves }
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatal(err)
	}
	if m := status.Moves; m.Updated+m.Deleted != 9 || m.Updated == 0 || m.Deleted == 0 || m.Aimed == 0 || m.Inserted != 0 {
		t.Errorf("moves are %+v", m)
	}
	_, body = get(t, base+"/sim/settings", "")
	for _, want := range []string{
		`"cursor": "keyset"`, `"unknownCursor": "empty"`, `"cursorMustMatch": true`, `"feedOffsets": true`,
		`"order": "drifting"`,
		`"perPage": 4`, `"seed": 18446744073709551615`, `"aim": 0.5`, `"update": 1`, `"delete": 1`, `"insert": 0`,
		`"returnOld": true`, `"step": "2ms"`, `"maxEvents": 9`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in the settings:\n%s", want, body)
		}
	}
}

// A simulator that is started again goes on with the same world, as a service would: nothing seems to have vanished.
func TestAdvanceTo(t *testing.T) {
	served := func(args ...string) map[string]bool {
		base, _, stop := launch(t, noEnv, append(args, "--transactions", "300", "--products", "50", "--page-size", "1000",
			"--keys", "acme=key")...)
		defer stop()
		_, body := get(t, base+"/v1/deals/transactions", "key")
		var page struct {
			Data []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, record := range page.Data {
			ids[record.ID] = true
		}
		return ids
	}
	const begin = "2026-03-15T09:00:00Z"
	before := served("--now", begin, "--advance-to", "2026-06-01T00:00:00Z")
	after := served("--now", begin, "--advance-to", "2026-06-20T00:00:00Z")
	if len(before) <= 300 || len(after) <= len(before) {
		t.Errorf("%d transactions, then %d: the clock did not move", len(before), len(after))
	}
	for id := range before {
		if !after[id] {
			t.Errorf("transaction %s is gone after a restart", id)
		}
	}
}

// orders sends a control request straight to the handler, from an address.
func orders(h http.Handler, method, target, body, from string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr, r.Host = from, "127.0.0.1:8080"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestControl(t *testing.T) {
	sim, err := apisim.New(apisim.Options{Transactions: 100, Products: 20})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(sim)
	do := func(want int, method, target, body string) string {
		t.Helper()
		code, out := orders(h, method, target, body, "127.0.0.1:1")
		if code != want {
			t.Errorf("%s %s: %d, want %d: %s", method, target, code, want, out)
		}
		return out
	}
	if code, _ := orders(h, "GET", "/sim/status", "", "192.0.2.1:1"); code != http.StatusForbidden {
		t.Errorf("from elsewhere: %d", code)
	}
	start := sim.Now()
	do(200, "POST", "/sim/advance?by=72h", "")
	do(200, "POST", "/sim/advance?days=0.5", "")
	if got := sim.Now().Sub(start); got != 84*time.Hour {
		t.Errorf("the clock moved %v", got)
	}
	for _, q := range []string{"", "?by=-1h", "?by=x", "?days=x", "?by=1h&days=1"} {
		do(400, "POST", "/sim/advance"+q, "")
	}
	do(405, "GET", "/sim/advance?by=1h", "")
	if out := do(200, "POST", "/sim/touch?org=acme&share=1", ""); !strings.Contains(out,
		fmt.Sprintf(`"changed": %d`, sim.Count("transactions", "acme"))) {
		t.Errorf("touch: %s", out)
	}
	do(400, "POST", "/sim/touch?org=acme&share=2", "")
	do(400, "POST", "/sim/touch?share=1", "")
	for coupon := range sim.Truth(apisim.StreamCoupons, "") {
		var record struct{ ID string }
		if err := json.Unmarshal(coupon, &record); err != nil {
			t.Fatal(err)
		}
		do(200, "POST", "/sim/touch/coupons?id="+record.ID, "")
		now := sim.Now().Format("2006-01-02T15:04:05.000Z")
		if out := do(200, "GET", "/sim/truth/coupons", ""); !strings.Contains(out, `"updatedAt":"`+now) {
			t.Errorf("no coupon was updated at %s", now)
		}
		break
	}
	do(404, "POST", "/sim/touch/coupons?id=nobody", "")
	do(404, "POST", "/sim/touch/transactions?id=x", "") // of which organization?

	do(200, "PUT", "/sim/records/coupons", "{\n\"id\":\"odd\",\n\"code\":\"1\"}")
	before := sim.Count(apisim.StreamCoupons, "")
	do(200, "PUT", "/sim/records/coupons", "{\"id\":\"one\"}\n{\"id\":\"two\"}\n")
	if n := sim.Count(apisim.StreamCoupons, "") - before; n != 2 {
		t.Errorf("two records in a body were %d", n)
	}
	do(400, "PUT", "/sim/records/coupons", "")
	do(400, "PUT", "/sim/records/coupons", "{")
	do(404, "PUT", "/sim/records/nonsense", "{}")
	for _, stream := range apisim.Streams() {
		lines := strings.Split(strings.TrimSuffix(do(200, "GET", "/sim/truth/"+stream+"?org=acme", ""), "\n"), "\n")
		if len(lines) != sim.Count(stream, "acme") {
			t.Errorf("%s: %d lines of truth, want %d", stream, len(lines), sim.Count(stream, "acme"))
		}
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %q is not JSON", stream, line)
			}
		}
	}
	do(404, "GET", "/sim/truth/nonsense", "")
	do(404, "GET", "/sim/truth/payouts?org=nobody", "")
	do(200, "DELETE", "/sim/records/coupons?id=odd", "")
	do(404, "DELETE", "/sim/records/coupons?id=odd", "")
	do(404, "GET", "/sim/nothing", "")
}

func TestControlOfSettingsAndFaults(t *testing.T) {
	sim, err := apisim.New(apisim.Options{Transactions: 100, Products: 20})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(sim)
	post := func(want int, target, body string) string {
		t.Helper()
		code, out := orders(h, "POST", target, body, "[::1]:1")
		if code != want {
			t.Errorf("%s %s: %d, want %d: %s", target, body, code, want, out)
		}
		return out
	}
	out := post(200, "/sim/settings", `{"pageSize":7,"latency":"2ms","order":"updated-desc","rateLimit":{"perSecond":5},"params":{"page":"p"}}`)
	set := sim.Settings()
	if set.PageSize != 7 || set.Latency != 2*time.Millisecond || set.Order != apisim.ByUpdatedDesc ||
		set.RateLimit.PerSecond != 5 || set.Params.Page != "p" || set.Params.UpdatedAfter != "updatedAfter" {
		t.Errorf("settings are %+v", set)
	}
	if !strings.Contains(out, `"latency": "2ms"`) {
		t.Errorf("shown as %s", out)
	}
	post(200, "/sim/settings", out) // what is shown can be sent back
	out = post(200, "/sim/settings", `{"movement":{"seed":18446744073709551615,"step":"7ms","perPage":0.5},"cursor":"offset","latency":"3ms"}`)
	set = sim.Settings()
	if want := (apisim.Movement{Seed: 18446744073709551615, Step: 7 * time.Millisecond,
		PerPage: 0.5}); set.Movement != want ||
		set.Cursor != apisim.CursorOffset || set.Latency != 3*time.Millisecond || set.PageSize != 7 {
		t.Errorf("settings are %+v", set)
	}
	post(200, "/sim/settings", out)
	if sim.Settings() != set {
		t.Errorf("shown settings, sent back, are %+v", sim.Settings())
	}
	for _, body := range []string{`{"movement":{"step":"fast"}}`, `{"movement":{"aim":7}}`, `{"movement":7}`,
		`{"cursor":"x"}`, "", "[]", `{"pageSize":0.5}`, `{"pageSize":20000}`, `{"pagesizes":1}`, `{"latency":"fast"}`,
		`{"order":"up"}`} {
		post(400, "/sim/settings", body)
	}
	if sim.Settings() != set {
		t.Errorf("a refused change left %+v", sim.Settings())
	}

	full, _ := sim.Keys("acme")
	ask := func(path string) int {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+full)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	post(200, "/sim/fault", `{"kind":"status","status":503,"times":2,"path":"/v1/deals/payouts","headers":{"Retry-After":"1"},"delay":"1ms"}`)
	for i, want := range []int{503, 503, 200} {
		if ask("/v1/deals/coupons") != 200 {
			t.Error("the fault hits other paths")
		}
		if got := ask("/v1/deals/payouts"); got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
		post(200, "/sim/settings", `{"rateLimit":{"perSecond":0}}`)
	}
	post(200, "/sim/fault", `{"kind":"status","status":503,"skip":1,"times":1,"path":"/v1/deals/payouts"}`)
	for i, want := range []int{200, 503, 200} {
		if got := ask("/v1/deals/payouts"); got != want {
			t.Errorf("the first is skipped, request %d: %d, want %d", i, got, want)
		}
		post(200, "/sim/settings", `{"rateLimit":{"perSecond":0}}`)
	}
	post(200, "/sim/fault", `{"kind":"redirect","url":"http://x.test"}`)
	if ask("/v1/deals/payouts") != 302 {
		t.Error("no redirect")
	}
	if code, _ := orders(h, "DELETE", "/sim/fault", "", "127.0.0.1:1"); code != 200 || ask("/v1/deals/payouts") != 200 {
		t.Error("the fault stays")
	}
	for _, body := range []string{"", `{"kind":"boom"}`, `{"kind":"status"}`, `{"kind":"redirect","status":200}`,
		`{"kind":"none","delay":"x"}`} {
		post(400, "/sim/fault", body)
	}
}
