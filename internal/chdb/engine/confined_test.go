package engine_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/sandbox/sandboxtest"
)

// question is a statement for an engine without any guard. The engine replies with an outcome. Both
// are sent as lines of JSON.
type question struct {
	SQL    string     `json:"sql"`
	Body   string     `json:"body,omitempty"`   // the data of an INSERT
	Values url.Values `json:"values,omitempty"` // of the URL: settings, parameters, default_format
	// Within is how long the statement may take; 0 means as long as the slowest machine needs.
	Within time.Duration `json:"within,omitempty"`
}

type outcome struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// unguarded is an engine in a separate process, with all rights and no guard. It runs whatever it is sent.
type unguarded struct {
	cmd *exec.Cmd
	dir string
	in  *json.Encoder
	out *json.Decoder
}

// startUnguarded starts an engine in which nothing is forbidden, inside the sandbox, or outside for comparison. The
// engine ends with the test.
func startUnguarded(t *testing.T, inside bool, env ...string) *unguarded {
	t.Helper()
	role := "unguarded"
	if inside {
		sandboxtest.Need(t, sandbox.Missing())
		role = "confined"
	}
	u := &unguarded{dir: t.TempDir()}
	u.cmd = child(t, role, append(env, childDir+"="+u.dir)...)
	u.cmd.Stderr = os.Stderr
	stdin, err := u.cmd.StdinPipe()
	must(t, err)
	stdout, err := u.cmd.StdoutPipe()
	must(t, err)
	must(t, u.cmd.Start())
	u.in, u.out = json.NewEncoder(stdin), json.NewDecoder(stdout)
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := u.cmd.Wait(); err != nil {
			t.Errorf("the engine ended with %v", err)
		}
	})
	return u
}

// ask runs one statement.
func (u *unguarded) ask(t testing.TB, q question) outcome {
	t.Helper()
	var o outcome
	if err := errors.Join(u.in.Encode(q), u.out.Decode(&o)); err != nil {
		t.Fatalf("%s: %v", q.SQL, err)
	}
	return o
}

// childConfined enters the sandbox and continues there as childUnguarded.
func childConfined() error {
	place, err := engine.Find(context.Background(),
		contract.Options{Dir: os.Getenv(childDir), Library: os.Getenv(childLib)})
	if err != nil {
		return err
	}
	p := sandbox.Policy{
		Read: append(sandbox.SystemFiles(), place.Library), Write: []string{place.Dir},
		Env: append(sandbox.Keep(os.Environ(), childDir, childLib), childRole+"=unguarded", childInside+"=1"),
	}
	return p.Become(os.Args[:1])
}

// childUnguarded runs statements from stdin, with all rights, and prints their outcomes.
func childUnguarded() error {
	if os.Getenv(childInside) != "" {
		if err := sandbox.Verify(); err != nil {
			return err
		}
	}
	e, err := engine.OpenUnguarded(context.Background(),
		contract.Options{Dir: os.Getenv(childDir), Library: os.Getenv(childLib)})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	out := json.NewEncoder(os.Stdout)
	for in := json.NewDecoder(bufio.NewReader(os.Stdin)); ; {
		var q question
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode((&house{e}).unguardedAnswer(q)); err != nil {
			return err
		}
	}
}

// unguardedAnswer runs a statement with a writer's rights and without the guard.
func (h *house) unguardedAnswer(q question) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(q.Within, patience))
	defer cancel()
	v := url.Values{}
	for k := range q.Values {
		v[k] = q.Values[k]
	}
	v.Set("query", q.SQL)
	var body io.Reader
	if q.Body != "" {
		body = strings.NewReader(q.Body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://embedded/?"+v.Encode(), body)
	if err != nil {
		return outcome{Body: err.Error()}
	}
	resp, err := h.RoundTrip(req)
	if err != nil {
		return outcome{Body: err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, err.Error()...)
	}
	return outcome{resp.StatusCode, string(text)}
}

// canaries are things that nobody may reach: a file, a variable, a listener.
type canaries struct {
	file, secret string
	url          string
	reached      atomic.Int32 // how many connections came
}

// canaryVariable is an environment variable of the process that enters the sandbox.
const canaryVariable = "CHDB_TEST_CANARY"

func newCanaries(t *testing.T) *canaries {
	t.Helper()
	c := &canaries{file: filepath.Join(t.TempDir(), "canary"), secret: "CANARY-" + hexName(t)}
	must(t, os.WriteFile(c.file, []byte(c.secret+"\n"), 0o644))
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = io.WriteString(w, c.secret+"\n")
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // not every connection speaks HTTP
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.reached.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

// once are settings with which statements that use the network give up after one attempt.
var once = url.Values{"http_max_tries": {"1"}, "connections_with_failover_max_tries": {"1"},
	"handshake_timeout_ms": {"500"}}

// attacks returns statements that reach a canary if nothing is forbidden.
func (c *canaries) attacks() []question {
	return []question{
		{SQL: "SELECT file('" + c.file + "')"},
		{SQL: "SELECT * FROM file('" + c.file + "', 'LineAsString')"},
		{SQL: "SELECT arrayMap({f:Identifier}, ['" + c.file + "'])", Values: url.Values{"param_f": {"file"}}},
		{SQL: "SELECT b FROM values('a String, b String ALIAS file(\\'" + c.file + "\\')', ('x'))"},
		{SQL: "SELECT file('/proc/self/environ')"},
		{SQL: "SELECT * FROM url('" + c.url + "/', 'LineAsString')", Values: once},
		{SQL: "SELECT * FROM executable('/bin/cat " + c.file + "', 'LineAsString', 'a String')"},
		{SQL: "SELECT file('/proc/" + fmt.Sprint(os.Getppid()) + "/environ')"},
		{SQL: "SELECT * FROM remote('" + strings.TrimPrefix(c.url, "http://") + "', system.one)", Values: once},
		{SQL: "INSERT INTO FUNCTION url('" + c.url + "/', 'LineAsString', 'a String') SELECT 'x'", Values: once},
	}
}

func TestSandboxHoldsAlone(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	c := newCanaries(t)
	inside := startUnguarded(t, true, canaryVariable+"="+c.secret)
	outside := startUnguarded(t, false, canaryVariable+"="+c.secret)
	for _, q := range c.attacks() {
		got := inside.ask(t, q)
		if strings.Contains(got.Body, c.secret) || got.Status == http.StatusOK {
			t.Errorf("%s: %d %.300s", q.SQL, got.Status, got.Body)
		}
	}
	if n := c.reached.Load(); n != 0 {
		t.Errorf("the listener was reached %d times", n)
	}
	// The attacks that failed inside, above, do work outside.
	leaks := 0
	for _, q := range c.attacks() {
		if got := outside.ask(t, q); strings.Contains(got.Body, c.secret) {
			leaks++
		}
	}
	if leaks < 6 {
		t.Errorf("only %d attacks work where there is no wall", leaks)
	}
	if c.reached.Load() == 0 {
		t.Error("the listener was not reached where there is no wall")
	}
	for _, q := range []question{
		{SQL: "CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a"},
		{SQL: "INSERT INTO t SELECT number, toString(number) FROM numbers(1000000)"},
		{SQL: "OPTIMIZE TABLE t FINAL"},
		{SQL: "INSERT INTO t FORMAT CSV", Body: "1,x\n"},
	} {
		if got := inside.ask(t, q); got.Status != http.StatusOK {
			t.Errorf("%s: %d %.300s", q.SQL, got.Status, got.Body)
		}
	}
	if got := inside.ask(t, question{SQL: "SELECT count(), timeZone(), toTimeZone(toDateTime(0), 'Europe/Berlin') FROM t FORMAT CSV"}); got.Body != "1000001,\"UTC\",\"1970-01-01 01:00:00\"\n" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
