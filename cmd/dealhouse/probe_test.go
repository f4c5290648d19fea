//go:build !noengine

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
)

// TestInit refuses what cannot be asked or written, and changes no file that exists.
func TestInit(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.config = filepath.Join(t.TempDir(), "new.toml")
	b.call(t, "init").want(t, 2, "say the address of the API")
	b.call(t, "init", b.url).want(t, 2, "say where the API key is")
	got := b.call(t, "init", b.url, "--key", acmeKey)
	got.want(t, 2, "say where the key is, not the key itself")
	if strings.Contains(got.err, acmeKey) {
		t.Errorf("the key is shown: %s", got.err)
	}
	b.call(t, "init", b.url, "--key", "env:NOWHERE").want(t, 2, "NOWHERE is not set")
	b.call(t, "init", "http://api.example.com", "--key", "env:ACME_KEY").want(t, 2, "base_url", "allow_insecure")
	b.call(t, "init", b.url, "--key", "env:ACME_KEY", "--account", "Not A Name").want(t, 2, "name")
	b.call(t, "init", b.url, "--key", "env:ACME_KEY", "--max-requests", "0").want(t, 2, "--max-requests: want at least 1")
	got = call(t, b.env, "init", b.url, "--key", "env:ACME_KEY", "--config", filepath.Join(t.TempDir(), "no", "folder.toml"))
	got.want(t, 2, "the configuration cannot be written")
	if strings.Contains(got.err, "asking the API") {
		t.Error("the API was asked in vain")
	}
	wrong := append([]string{"WRONG=not-the-key"}, b.env...)
	call(t, wrong, "init", b.url, "--key", "env:WRONG", "--config", b.config).want(t, 3, "no configuration was written")
	if _, err := os.Stat(b.config); err == nil {
		t.Fatal("a file was written")
	}
	b.call(t, "init", b.url, "--key", "env:ACME_KEY", "--account", "acme").want(t, 0, "written")
	b.call(t, "init", b.url, "--key", "env:ACME_KEY").want(t, 2, "exists and is not changed")
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`updated_after = "updatedAfter"`, "(sure: ", `dsn = "embedded:./dealhouse-data"`, `api_key = "env:ACME_KEY"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	b.call(t, "check", "--offline").want(t, 0)
}

// TestProbe prints what an API does, and what the configuration says instead.
func TestProbe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.sim.Update(func(s *apisim.Settings) { s.Params = apisim.LiveParams() }); err != nil {
		t.Fatal(err)
	}
	got := b.call(t, "probe", "--output", "json")
	got.want(t, 0, "account.params.updated_after", "configured=updatedAfter", "found=updatedAtGreaterThan")
	rows := parse[struct{ Account, Question, Answer, Confidence, Evidence string }](t, got.out)
	seen := map[string]string{}
	for _, r := range rows {
		seen[r.Account+": "+r.Question] = r.Answer + " (" + r.Confidence + ")"
	}
	for question, want := range map[string]string{
		"acme: which parameter filters by updatedAt, from a time on": "updatedAtGreaterThan (sure)",
		"globex: which parameter takes nextPage":                     "page (sure)",
	} {
		if seen[question] != want {
			t.Errorf("%s: %q instead of %q", question, seen[question], want)
		}
	}
	if got = b.call(t, "probe", "--keep"); strings.Contains(got.err, "asking the API") {
		t.Error("the API was asked in vain")
	}
	got.want(t, 2, "there is no warehouse")
	b.kept(t)
	b.call(t, "probe", "--account", "nobody").want(t, 2, `no account "nobody"`)
	b.call(t, "probe", "--account", "acme", "--max-requests", "5").want(t, 0, "there may be no more")
}

// kept keeps what was found, and then lets the API do something else.
func (b *bench) kept(t *testing.T) {
	t.Helper()
	if testing.Short() {
		return // it takes an engine
	}
	defer engineTurn(t)()
	b.migrated(t)
	defer hold(t, b.dir)()
	b.call(t, "probe", "--keep", "--account", "acme").want(t, 0)
	b.call(t, "probe", "--keep", "--account", "acme").want(t, 0)
	b.call(t, "query", "SELECT ok FROM quality_checks WHERE check = 'api_unchanged' ORDER BY checked_at", "-o", "csv").shows(t, "true\ntrue\n")
	if err := b.sim.Update(func(s *apisim.Settings) { s.Order, s.Timestamps = apisim.ByUpdatedDesc, apisim.TimeNoZone }); err != nil {
		t.Fatal(err)
	}
	b.call(t, "probe", "--keep", "--account", "acme").want(t, 1, "the newest first, and before by id", "transactions.updatedAt: a time without a zone")
	b.call(t, "query", "SELECT detail FROM quality_checks WHERE check = 'api_unchanged' AND NOT ok", "-o", "csv").shows(t, "by id")
	b.call(t, "probe", "--keep", "--account", "acme").want(t, 0)
}

// TestProbeHostile asks services that lie, loop and stall: it ends, with what it knows, and says why there is no more.
func TestProbeHostile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		code  int
		words []string
	}{
		"asks to slow down at once": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 1, []string{"asked to slow down (HTTP 429) after 1 requests", "no configuration was written"}},
		"a page for people": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html><body>Please log in</body></html>")
		}, 1, []string{"no configuration was written"}},
		"sends elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusFound)
		}, 1, []string{"no configuration was written"}},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, 3,
			[]string{"no configuration was written"}},
		"the same page for ever": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[{"id":"0190ece6-5517-4060-b8a7-dcfd0a996c56"}],"nextCursor":"x","cursor":"x","next":"x","nextPage":"x"}`)
		}, 0, []string{"written"}},
		"nothing but depth": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("[", 1<<20))
		}, 1, []string{"no configuration was written"}},
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[`)
			for {
				if _, err := fmt.Fprint(w, strings.Repeat(`{"id":"x"},`, 1<<16)); err != nil {
					return
				}
			}
		}, 1, []string{"no configuration was written"}},
		"a bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			defer func() { _ = zip.Close() }()
			blanks := bytes.Repeat([]byte(" "), 1<<20)
			for range 512 { // MiB, of which half a MiB is sent
				if _, err := zip.Write(blanks); err != nil {
					return
				}
			}
		}, 1, []string{"no configuration was written"}},
		"nothing there": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, 2,
			[]string{"no configuration was written"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			got := call(t, []string{"K=the-secret-key"}, "init", server.URL, "--key", "env:K", "--config",
				filepath.Join(t.TempDir(), "dealhouse.toml"))
			got.want(t, tt.code, tt.words...)
			if strings.Contains(got.out+got.err, "the-secret-key") {
				t.Error("the key is shown")
			}
		})
	}
}

// TestInitAsks completes on a terminal what no flag says.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	var c initCommand
	var asked strings.Builder
	c.write.Account = "acme"
	if err := c.complete(strings.NewReader("https://api.example.com\n\n\nclickhouse://h/d\n"), &asked); err != nil {
		t.Fatal(err)
	}
	if c.url != "https://api.example.com" || c.write.Key != "env:DEALS_API_KEY" || c.write.PayoutsKey != "" ||
		c.write.Account != "acme" || c.write.DSN != "clickhouse://h/d" {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(asked.String(), "Warehouse [embedded:./dealhouse-data]: ") {
		t.Errorf("it asked:\n%s", asked.String())
	}
	if err := new(initCommand).complete(strings.NewReader("https://api.example.com\n"), &asked); err == nil {
		t.Error("answers are missing, and nothing was said")
	}
}
