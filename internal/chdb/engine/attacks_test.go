package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/door"
	"dealhouse/internal/enginetest"
)

// The corpus of attacks is in testdata/attacks. Each runs against the doors, with everything in reach that the guard
// must protect: a file, an environment, a pipe that nobody writes to, and a port that counts connections.

var updateAttacks = flag.Bool("update-attacks", false,
	"write testdata/attacks/generated.txt anew from the engine's catalogues")

// attack is one line of the corpus.
type attack struct {
	name  string     // file and line
	v     url.Values // parameters of the URL
	steps []string   // statements, one after another
}

// canary is what attacks try to reach.
type canary struct {
	dir, file, fifo, addr string
	word                  string // the content of the file
	accepted              atomic.Int32
}

func newCanary(t testing.TB) *canary {
	t.Helper()
	c := &canary{dir: t.TempDir(), word: "CANARY7f3a91c4"}
	c.file, c.fifo = filepath.Join(c.dir, "secret"), filepath.Join(c.dir, "fifo")
	must(t, os.WriteFile(c.file, []byte(c.word+"\n"), 0o644))
	must(t, unix.Mkfifo(c.fifo, 0o644))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c.addr = ln.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.accepted.Add(1)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	return c
}

// fill replaces the placeholders in a text of the corpus by the canary's places.
func (c *canary) fill(s string) string {
	back := []byte(c.fifo)
	slices.Reverse(back)
	return strings.NewReplacer("{FILE}", c.file, "{DIR}", c.dir, "{FIFO}", c.fifo, "{OFIF}", string(back), "{ADDR}",
		c.addr, "{LF}", "\n").Replace(s)
}

// leaks returns what an answer shows of the host, or "".
func (c *canary) leaks(body string) string {
	for _, w := range []string{c.word, c.word[6:], hex.EncodeToString([]byte(c.word)),
		strings.ToUpper(hex.EncodeToString([]byte(c.word))),
		base64.StdEncoding.EncodeToString([]byte(c.word))[:16], "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} {
		if strings.Contains(body, w) {
			return w
		}
	}
	return ""
}

// readAttacks reads the corpus.
func readAttacks(t testing.TB, files ...string) []attack {
	t.Helper()
	var all []attack
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", "attacks", file+".txt"))
		must(t, err)
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.TrimSuffix(line, "\n")
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			a := attack{name: fmt.Sprintf("%s:%d", file, n), v: url.Values{}}
			if rest, ok := strings.CutPrefix(line, "?"); ok {
				var query string
				query, line, _ = strings.Cut(rest, " ")
				for part := range strings.SplitSeq(query, "&") {
					key, value, _ := strings.Cut(part, "=")
					value, err := url.PathUnescape(value)
					must(t, err)
					a.v.Set(key, value)
				}
			}
			a.steps = strings.Split(line, " ;;; ")
			all = append(all, a)
		}
	}
	return all
}

// attackFiles are the corpus, except for the generated file: that is large, and by default only a part of it runs.
var attackFiles = []string{"issue", "read", "write", "drivers"}

// share returns every nth attack, or all if the environment asks for that.
func share(all []attack, n int) []attack {
	if os.Getenv("CHDB_ALL_ATTACKS") != "" {
		return all
	}
	var some []attack
	for i, a := range all {
		if i%n == 0 {
			some = append(some, a)
		}
	}
	return some
}

// way is one way to the engine.
type way struct {
	name string
	send func(ctx context.Context, sql string, v url.Values) (status int, body string, err error)
}

// waysIn returns the two modes of the HTTP door, each with a plain body and with all of the request in the parts of
// one, and the way that `dealhouse query` uses.
func waysIn(t testing.TB) []way {
	t.Helper()
	overHTTP := func(o contract.HandlerOptions) func(context.Context, string, url.Values) (int, string, error) {
		srv := openDoor(t, o)
		return func(ctx context.Context, sql string, v url.Values) (int, string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/?"+v.Encode(), strings.NewReader(sql))
			if err != nil {
				return 0, "", err
			}
			return answerOf(plain.Do(req))
		}
	}
	inParts := func(o contract.HandlerOptions) func(context.Context, string, url.Values) (int, string, error) {
		srv := openDoor(t, o)
		return func(ctx context.Context, sql string, v url.Values) (int, string, error) {
			parts := []string{"query", strings.TrimSpace(v.Get("query") + " " + sql)}
			for name := range v {
				if name != "query" {
					parts = append(parts, name, v.Get(name))
				}
			}
			body, contentType := form(parts...)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/query", strings.NewReader(body))
			if err != nil {
				return 0, "", err
			}
			req.Header.Set("Content-Type", contentType)
			return answerOf(plain.Do(req))
		}
	}
	query := &door.Transport{Engine: shared.Engine, ReadOnly: true}
	return []way{
		{"read-only in parts", inParts(contract.HandlerOptions{})},
		{"writes in parts", inParts(contract.HandlerOptions{AllowWrites: true})},
		{"read-only", overHTTP(contract.HandlerOptions{})},
		{"writes", overHTTP(contract.HandlerOptions{AllowWrites: true})},
		{"query", func(ctx context.Context, sql string, v url.Values) (int, string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://embedded/?"+v.Encode(),
				io.NopCloser(strings.NewReader(sql)))
			if err != nil {
				return 0, "", err
			}
			return answerOf(query.RoundTrip(req))
		}},
	}
}

func answerOf(resp *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(b), err
}

// run sends an attack. It returns whether all steps succeeded, and what leaked or went wrong.
func (a *attack) run(ctx context.Context, w way, c *canary) (through bool, report string) {
	through = true
	v := url.Values{"database": {"t" + attackDatabase}, "max_execution_time": {"5"}, "max_result_rows": {"1000"}}
	for key, values := range a.v {
		v[key] = []string{c.fill(values[0])}
	}
	for _, sql := range a.steps {
		sql = c.fill(sql)
		ctx, cancel := context.WithTimeout(ctx, patience)
		status, body, err := w.send(ctx, sql, v)
		hung := ctx.Err() != nil
		cancel()
		if leak := c.leaks(body); leak != "" {
			return true, fmt.Sprintf("%s leaks %s: %s", sql, leak, body)
		}
		if hung {
			return true, sql + " hangs"
		}
		through = through && status == http.StatusOK && err == nil
	}
	return through, ""
}

const attackDatabase = "attacks"

// children returns the names of the processes that this one has started.
func children() []string {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var names []string
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		if fields := strings.Fields(string(b[end+1:])); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			names = append(names, string(b[open+1:end]))
		}
	}
	return names
}

// TestAttacks runs the corpus against the guard alone, without a sandbox. In narrow samples, each attack uses only one
// of the ways in. The test is not parallel to others, because those may start processes.
func TestAttacks(t *testing.T) {
	enginetest.Long(t)
	c := newCanary(t)
	admin := connect(t)
	execute(t, admin, "CREATE DATABASE IF NOT EXISTS t"+attackDatabase)
	execute(t, admin, "CREATE TABLE t"+attackDatabase+".guard_w (a UInt64) ENGINE = MergeTree ORDER BY a")
	execute(t, admin, "INSERT INTO t"+attackDatabase+".guard_w VALUES (1)")
	defer execute(t, admin, "DROP DATABASE t"+attackDatabase+" SYNC")
	ways := waysIn(t)

	stop, watched := make(chan struct{}), make(chan []string)
	go func() {
		var seen []string
		for {
			seen = append(seen, children()...)
			select {
			case <-stop:
				watched <- seen
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	type job struct {
		a attack
		w way
		// mustRefuse says that not all steps may succeed. Generated attacks may: some only call allowed functions.
		mustRefuse bool
	}
	var jobs []job
	for i, a := range readAttacks(t, attackFiles...) {
		for j, w := range ways {
			if j == i%len(ways) || enginetest.Wide() {
				jobs = append(jobs, job{a, w, true})
			}
		}
	}
	for i, a := range share(readAttacks(t, "generated"), enginetest.Sample(30, 10)) {
		jobs = append(jobs, job{a, ways[i%len(ways)], false})
	}
	feed := make(chan job)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for j := range feed {
				through, report := j.a.run(context.Background(), j.w, c)
				switch {
				case report != "":
					t.Errorf("%s, %s: %s", j.a.name, j.w.name, report)
				case through && j.mustRefuse:
					t.Errorf("%s, %s went through: %q %v", j.a.name, j.w.name, j.a.steps, j.a.v)
				}
			}
		})
	}
	for _, j := range jobs {
		feed <- j
	}
	close(feed)
	wg.Wait()
	close(stop)
	if seen := <-watched; len(seen) > 0 {
		t.Errorf("processes were started: %q", slices.Compact(seen))
	}
	if n := c.accepted.Load(); n != 0 {
		t.Errorf("the engine connected %d times", n)
	}
	entries, err := os.ReadDir(c.dir)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("files were written: %v", entries)
	}
	t.Logf("%d attacks", len(jobs))
}
