//go:build !noengine

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// mailbox is a receiver that remembers what it took, by path.
type mailbox struct {
	*httptest.Server
	mu   sync.Mutex
	down bool
	got  []string
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	r := &mailbox{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.down {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		r.got = append(r.got, req.URL.Path+" "+string(body))
	}))
	t.Cleanup(r.Close)
	return r
}

// drain returns what it received since the last call, in lines.
func (r *mailbox) drain() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := strings.Join(r.got, "\n")
	r.got = nil
	return got
}

func (r *mailbox) fail(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// printed runs a command, which must end with the code and print the words.
func (b *bench) printed(t *testing.T, code int, words []string, args ...string) {
	t.Helper()
	got := b.call(t, args...) // which also looks for secrets
	got.want(t, code)
	for _, word := range words {
		if !strings.Contains(got.out, word) {
			t.Errorf("%q does not print %q:\n%s", args, word, got.out)
		}
	}
}

// A sync tells receivers what begins and ends, once, and dead man's switches of each run; a receiver that is down
// changes neither its output nor its exit code, and is told by the next sync.
func TestSyncTells(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b, hook := newBench(t), newMailbox(t)
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	b.config = b.write(t, string(text)+fmt.Sprintf(`
[[receiver]]
name = "ops"
form = "slack"
url = "env:OPS_URL"
[[receiver]]
name = "switch"
form = "ping"
url = "%s/switch"
accounts = "acme"
`, hook.URL))
	b.env = append(b.env, "OPS_URL="+hook.URL+"/"+httpSecret)
	b.call(t, "notify").want(t, 2, "name one of the commands test and list")
	b.call(t, "notify", "test", "nobody").want(t, 2, `there is no receiver "nobody"`, "ops, switch")
	b.printed(t, 0, []string{"ops", "slack", "switch", "it accepted a message"}, "notify", "test")
	if got := hook.drain(); !strings.Contains(got, "A test of dealhouse") || !strings.Contains(got, "/switch a test") {
		t.Errorf("a test told %s", got)
	}
	hook.fail(true)
	b.printed(t, 1, []string{"FAILED", "it answers 500"}, "notify", "test", "ops")
	hook.fail(false)
	defer engineTurn(t)()
	b.migrated(t)
	defer hold(t, b.dir)()
	sync := func(code int) {
		t.Helper()
		b.call(t, "sync", "coupons", "--account", "acme").want(t, code)
	}
	sync(0)
	if got := hook.drain(); got != "/switch/start \n/switch " {
		t.Errorf("a sync that went well told %q", got)
	}
	b.sim.SetFault(func(*http.Request) apisim.Fault {
		return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusForbidden}
	})
	hook.fail(true)
	sync(3)
	b.printed(t, 0, []string{"Failing: coupons of acme", "waiting", "it answers 500"}, "notify", "list")
	b.printed(t, 3, []string{"receiver: ops", "FAILED"}, "check", "--receivers")
	hook.fail(false)
	sync(3)
	got := hook.drain()
	if strings.Count(got, "/switch/start") != 1 || !strings.Contains(got, "/switch/fail coupons of acme: ") ||
		strings.Count(got, `"Failing`) > 1 { // it is due by now, or not yet
		t.Errorf("a sync that failed again told %q", got)
	}
	b.sim.SetFault(nil)
	b.call(t, "sync", "coupons", "--account", "acme", "--dry-run").want(t, 0)
	if got := hook.drain(); got != "" {
		t.Errorf("a dry run told %q", got)
	}
	// What else loads tells what a sync that had no receivers left untold.
	silent := call(t, b.env, "sync", "coupons", "--account", "acme", "--config", b.write(t, string(text)))
	silent.want(t, 0)
	b.call(t, "rejects", "retry", "--dry-run").want(t, 0)
	if got := hook.drain(); got != "" {
		t.Errorf("a dry run of retry told %q", got)
	}
	b.call(t, "rejects", "retry").want(t, 0)
	b.call(t, "notify", "list").shows(t, "Recovered: coupons of acme")
	b.sim.SetFault(func(*http.Request) apisim.Fault {
		return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusForbidden}
	})
	call(t, b.env, "sync", "payouts", "--account", "acme", "--config", b.write(t, string(text))).want(t, 3)
	b.sim.SetFault(nil)
	b.call(t, "backfill", "transactions", "--account", "acme", "--from", "2026-01-01", "--to", "2026-01-02").want(t, 0)
	b.call(t, "notify", "list").shows(t, "Failing: payouts of acme")
	b.printed(t, 0, []string{"failing", "3"}, "query",
		"SELECT event, toString(1 + count()) FROM notifications GROUP BY event")
}
