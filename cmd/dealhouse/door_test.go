//go:build !noengine

package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dealhouse/internal/enginetest"
)

// reader asks the door of a daemon.
type reader struct{ url, user, password string }

// ask returns the answer, or status 0 and why there is none.
func (r reader) ask(t *testing.T, sql string, headers ...string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	if r.user != "" {
		req.SetBasicAuth(r.user, r.password)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// basic adds a login to each request.
type basic struct{ reader }

func (b basic) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth(b.user, b.password)
	return http.DefaultTransport.RoundTrip(r)
}

// askAsAgent asks the door over the protocol of language models: many at once, and some who may not.
func (r reader) askAsAgent(t *testing.T, path, rows string) {
	t.Helper()
	connect := func(r reader) (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		return client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.url + path, MaxRetries: -1,
			DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: basic{r}}}, nil)
	}
	for _, stranger := range []reader{{r.url, "", ""}, {r.url, r.user, "wrong"}} {
		if session, err := connect(stranger); err == nil {
			t.Errorf("%q with the password %q was let in: %v", stranger.user, stranger.password, session.Close())
		}
	}
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			session, err := connect(r)
			if err != nil {
				t.Error(err)
				return
			}
			a := agent{session}
			if text, refused := a.ask(t, "query", map[string]any{"sql": "SELECT count() AS n FROM coupons"}); !strings.Contains(text, `"n": `+rows) && !strings.Contains(text, `"n":`+rows) {
				t.Errorf("%s %s, and there are %s rows", text, refused, rows)
			}
			if _, refused := a.ask(t, "query", map[string]any{"sql": "SELECT passback_uid FROM transactions"}); !strings.Contains(refused, "may name a person") {
				t.Errorf("a private column: %q", refused)
			}
			a.leave(t)
		})
	}
	asking.Wait()
	for _, c := range []struct {
		body, header string
		status       int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Origin: https://evil.example", http.StatusForbidden},
		{strings.Repeat(" ", 2<<20) + `{}`, "X-A: b", http.StatusRequestEntityTooLarge},
		{`{`, "X-A: b", http.StatusBadRequest},
	} {
		at := reader{r.url + path, r.user, r.password}
		if status, body := at.ask(t, c.body, c.header, "Content-Type: application/json", "Accept: application/json, text/event-stream"); status != c.status {
			t.Errorf("%.60q with %s: %d %.200s", c.body, c.header, status, body)
		}
	}
}

// TestDoorOfTheDaemon reads through the door of a daemon while it loads, and while its engine is killed: an answer is
// right or an error.
func TestDoorOfTheDaemon(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	address := freeAddress(t)
	b.env = append(b.env, "DOOR_KEY=geheim", "DEALHOUSE_DOOR_LISTEN="+address, "DEALHOUSE_DOOR_USER=bi", "DEALHOUSE_DOOR_PASSWORD=env:DOOR_KEY")
	config := b.hurried(t, "", "coupons")
	d := b.daemon(t, config)
	b.config = config
	bi := reader{"http://" + address, "bi", "geheim"}
	d.until(t, "the coupons are loaded", func() bool {
		status, body := bi.ask(t, "SELECT count() > 0 FROM coupons WHERE account = 'acme'")
		return status == http.StatusOK && body == "1"
	})
	_, rows := bi.ask(t, "SELECT count() FROM coupons")
	for _, c := range []struct {
		reader
		sql, want string
	}{
		{reader{bi.url, "", ""}, "SELECT 1", "REQUIRED_PASSWORD"},
		{reader{bi.url, "bi", "wrong"}, "SELECT 1", "AUTHENTICATION_FAILED"},
		{bi, "INSERT INTO coupons_latest SELECT * FROM coupons_latest", "READONLY"},
		{bi, "TRUNCATE TABLE coupons_latest", "READONLY"},
		{bi, "SELECT * FROM file('/etc/passwd')", "ACCESS_DENIED"},
		{bi, "SELECT currentDatabase()", "dealhouse"},
		{bi, "SELECT 1 SETTINGS max_memory_usage = DEFAULT", "READONLY"},
		{bi, "SELECT groupArray(number) FROM numbers(100000000000)", "MEMORY_LIMIT_EXCEEDED"},
		{reader{bi.url + "/all", "bi", "geheim"}, "SELECT 1", "There is no handler"},
		{reader{bi.url + "/%2e%2e/all", "bi", "geheim"}, "SELECT 1", "There is no handler"},
		{reader{bi.url + "//host", "bi", "geheim"}, "SELECT 1", "There is no handler"},
	} {
		if _, got := c.ask(t, c.sql); !strings.Contains(got, c.want) {
			t.Errorf("%s of %+v: %.300s", c.sql, c.reader, got)
		}
	}
	if _, got := bi.ask(t, "SELECT 1", "X-Dealhouse-Client: 10.0.0.1", "Origin: https://evil.example"); !strings.Contains(got, "origins") {
		t.Errorf("a foreign page: %s", got)
	}
	// The daemon's own commands and a client of the door see the same.
	b.call(t, "query", "SELECT count() FROM coupons").shows(t, rows)
	call(t, []string{"DEALHOUSE_WAREHOUSE_DSN=http://bi:geheim@" + address + "/dealhouse"}, "query", "SELECT count() FROM coupons").shows(t, rows)
	call(t, append(b.env, "DEALHOUSE_DAEMON_LISTEN="+freeAddress(t)), "run", "--config", config).want(t, 2, "choose another address for listen in [door]")
	b.call(t, "serve-warehouse", "--listen", "127.0.0.1:0").want(t, 1, "listen in [door]")

	bi.askAsAgent(t, "/mcp", rows)

	// Readers ask on while the engine is killed.
	done := make(chan struct{})
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if status, body := bi.ask(t, "SELECT count() FROM coupons"); status == http.StatusOK && body != rows {
					t.Errorf("%s rows, and there are %s", body, rows)
					return
				}
			}
		})
	}
	if err := syscall.Kill(d.engine(t), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	d.until(t, "the engine is started anew", func() bool { return strings.Contains(d.stderr.String(), "is started anew") })
	d.until(t, "readers are answered again", func() bool {
		status, body := bi.ask(t, "SELECT count() FROM coupons")
		return status == http.StatusOK && body == rows
	})
	close(done)
	asking.Wait()
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143, "readers are served")
}
