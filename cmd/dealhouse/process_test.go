//go:build !noengine

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// update writes what tests compare with.
var update = flag.Bool("update", false, "write the golden files, and schema/DICTIONARY.md")

// ambient is the environment that processes of the tests begin with: without variables of ours that whoever runs the
// tests may have set, except for the one that says where the engine is.
func ambient() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "DEALHOUSE_") && !strings.HasPrefix(entry, "DEALHOUSE_CHDB_LIBRARY=")
	})
}

// process is the program in a process of its own.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	seen   strings.Builder // of stdout
	stderr written

	peeking sync.WaitGroup
}

func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startWith(t, env, nil, args...)
}

// startWith starts it with open files.
func startWith(t *testing.T, env []string, files []*os.File, args ...string) *process {
	t.Helper()
	return startIn(t, "", env, files, args...)
}

// childCommand is the program as a process to be started.
func childCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(ambient(), childVariable+"=1"), env...)
	return cmd
}

// startIn starts it in a folder.
func startIn(t *testing.T, dir string, env []string, files []*os.File, args ...string) *process {
	t.Helper()
	p := &process{Cmd: childCommand(t, env, args...)}
	p.Dir, p.Stderr, p.ExtraFiles = dir, &p.stderr, files
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// comesWithin is how long the tests wait for what another process does, on the slowest machine. What takes longer is
// taken to hang.
const comesWithin = 15 * time.Minute

// find reads stdout until a line matches, and returns the match.
func (p *process) find(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	defer time.AfterFunc(comesWithin, func() { _ = p.Process.Kill() }).Stop() // one that serves would never end
	for {
		line, err := p.stdout.ReadString('\n')
		p.seen.WriteString(line)
		if m := re.FindStringSubmatch(line); m != nil {
			return m
		}
		if err != nil {
			_ = p.Wait()
			t.Fatalf("stdout ended without %q:\n%s\n%s", pattern, p.seen.String(), p.stderr.String())
		}
	}
}

// reaches waits until the process has made something happen. It must not print anything before.
func (p *process) reaches(t *testing.T, what <-chan struct{}) {
	t.Helper()
	early := make(chan struct{})
	p.peeking.Go(func() {
		_, _ = p.stdout.Peek(1)
		close(early)
	})
	select {
	case <-what:
	case <-early:
		t.Fatalf("it ended, or printed, too early: %+v", p.finish(t))
	}
}

// finish waits for the process.
func (p *process) finish(t *testing.T) outcome {
	t.Helper()
	p.peeking.Wait()
	rest, err := io.ReadAll(p.stdout)
	if err != nil {
		t.Error(err)
	}
	p.seen.Write(rest)
	err = p.Wait()
	if exit, bad := errors.AsType[*exec.ExitError](err); err != nil && !bad || bad && !exit.Exited() {
		t.Errorf("%v\n%s", err, p.stderr.String())
	}
	clean(t, p.seen.String()+p.stderr.String())
	return outcome{p.ProcessState.ExitCode(), p.seen.String(), p.stderr.String()}
}

// signal sends a signal.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

// ask sends a statement to a warehouse over HTTP.
func ask(t *testing.T, url, password, sql string) (status int, body string) {
	t.Helper()
	r := reader{url: url}
	if password != "" {
		r.user, r.password = "bi", password
	}
	if status, body = r.ask(t, sql); status == 0 {
		t.Fatal(body)
	}
	return status, body
}

// Two syncs in two processes, into one warehouse that a third one serves, end with the right data, each row once. For
// wide samples: TestTwoSyncsOfOneFolder has two syncs in two processes.
func TestTwoSyncsAtOnce(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newSmallBench(t)
	b.migrated(t)
	warehouse := start(t, b.env, "serve-warehouse", "--allow-writes", "--listen", "127.0.0.1:0", "--config", b.config)
	url := warehouse.find(t, `on (http://\S+) \(reads and writes\)`)[1]
	env := slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=" + url + "/dealhouse"})
	streams := narrow("coupons", "transactions")
	args := append([]string{"sync", "--config", b.config}, streams...)
	first := start(t, env, args...)
	second := start(t, env, args...)
	first.finish(t).want(t, 0)
	second.finish(t).want(t, 0)
	for _, account := range b.sim.Orgs() {
		for _, s := range catalog.All() {
			if len(streams) == 0 || slices.Contains(streams, s.Name) {
				compare(t, b, env, account, s)
			}
		}
	}
	got := call(t, env, "query", "SELECT count() FROM transactions_history WHERE valid_to IS NOT NULL", "-o", "csv",
		"--config", b.config)
	if !strings.HasSuffix(got.out, "\n0\n") {
		t.Errorf("rows were written twice: %s", got.out)
	}
	warehouse.signal(t, syscall.SIGTERM)
	warehouse.finish(t).want(t, 143)
}

// compare compares a view with what is true upstream, by key and one telling field.
func compare(t *testing.T, b *bench, env []string, account string, s *catalog.Stream) {
	t.Helper()
	key, field := "id", "updatedAt"
	columns := "toString(id) AS k, formatDateTime(updated_at, '%Y-%m-%dT%H:%i:%S.%fZ') AS f"
	switch s.Name {
	case "payouts":
		field, columns = "totalTransactions", "toString(id) AS k, toString(total_transactions) AS f"
	case "products":
		key, field, columns = "url", "name", "url AS k, name AS f"
	}
	var want, have []string
	for record := range b.sim.Truth(s.Name, account) {
		var fields map[string]any
		d := json.NewDecoder(bytes.NewReader(record))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		want = append(want, text(fields[key])+" "+text(fields[field]))
	}
	got := call(t, env, "query", "SELECT "+columns+" FROM "+s.Name+" WHERE account = '"+account+"'", "-o", "json",
		"--config", b.config)
	got.want(t, 0)
	for _, r := range parse[struct{ K, F string }](t, got.out) {
		// %f has microseconds.
		have = append(have, r.K+" "+strings.Replace(r.F, "000Z", "Z", 1))
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s of %s:\n%s", s.Name, account, diff)
	}
}

// text is a JSON value as a view has it: what is absent is empty.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// What is served is read-only, and only for those who know the password; the program ends when it is told to, and at
// once when it is told twice.
func TestServeWarehouse(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	env := slices.Concat(b.env, []string{"BI_PASSWORD=" + httpSecret})
	server := start(t, env, "serve-warehouse", "--listen", "127.0.0.1:0", "--user", "bi", "--password", "env:BI_PASSWORD",
		"--config", b.config)
	address := server.find(t, `on (http://\S+) \(read-only\)`)[1]
	server.find(t, `curl -u bi 'http://`)
	url := address + "/?database=dealhouse"
	if status, body := ask(t, url, httpSecret, "SELECT count() FROM coupons"); status != http.StatusOK || body != "0" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(t, url, "wrong", "SELECT 1"); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(t, url, httpSecret, "DROP TABLE coupons_latest"); status == http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	dsn := func(password string) []string {
		return slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=" +
			strings.Replace(address, "http://", "http://bi:"+password+"@", 1) + "/dealhouse"})
	}
	call(t, dsn(httpSecret), "query", "SELECT 1", "--config", b.config).want(t, 0)
	call(t, dsn(wrongKey), "query", "SELECT 1", "--config", b.config).want(t, 3, "refused the credentials",
		"http://bi:***@")
	call(t, dsn(httpSecret), "sync", "payouts", "--config", b.config).want(t, 2, "--allow-writes")
	release := engineTurn(t)
	b.call(t, "query", "SELECT 1").want(t, 1,
		fmt.Sprintf("in use by another process (process %d)", server.Process.Pid))
	release()

	hanging, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(hanging, http.MethodPost, url,
		strings.NewReader("SELECT sleepEachRow(0.00001), repeat('x', 20) FROM numbers(1000000000)"))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("bi", httpSecret)
	resp, err := http.DefaultClient.Do(req) // returns with the first block: the query runs, for hours
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Errorf("%s: %s", resp.Status, text)
	}
	server.twice(t, syscall.SIGINT)
	ended := server.finish(t)
	ended.want(t, 130)
	if strings.Contains(ended.err, "stopped by a signal") {
		t.Errorf("told twice, it ended as it does when it is told once:\n%s", ended.err)
	}
}

// twice sends a signal again and again: signals of one kind that come together are one.
func (p *process) twice(t *testing.T, s syscall.Signal) {
	t.Helper()
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for tick := time.NewTicker(20 * time.Millisecond); p.Process.Signal(s) == nil; <-tick.C {
		}
	}()
}

// A sync that is interrupted says so, keeps what readers see, and leaves the rest to the next one.
func TestInterruptedSync(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	reached := make(chan struct{}, 100)
	b.sim.SetBefore(func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			reached <- struct{}{}
			<-r.Context().Done()
		}
	})
	p := start(t, b.env, "sync", "coupons", "payouts", "--account", "acme", "--config", b.config)
	p.reaches(t, reached)
	p.signal(t, syscall.SIGINT)
	got := p.finish(t)
	got.want(t, 130, "stopped before the end")
	got.shows(t, "stopped")
	b.sim.SetBefore(nil)
	engineTurn(t)
	rows, _ := b.sync(t, 0, "coupons", "--account", "acme")
	if r := rows["acme coupons"]; r.Inserted != b.sim.Count("coupons", "") {
		t.Errorf("%+v", r)
	}
}

// A sync that was killed is shown as killed at once, and not only when its stream is loaded again.
func TestKilledSync(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	reached := make(chan struct{}, 100)
	b.sim.SetBefore(func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			reached <- struct{}{}
			<-r.Context().Done()
		}
	})
	p := start(t, b.env, "sync", "transactions", "--full", "--account", "acme", "--config", b.config)
	p.reaches(t, reached)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	b.sim.SetBefore(nil)
	defer engineTurn(t)()
	defer hold(t, b.dir)()
	for _, command := range [][]string{{"runs", "--limit", "1"}, {"runs", "--limit", "1", "-o", "json"}, {"status"}} {
		got := b.call(t, command...)
		got.shows(t, "killed", "the process ended before the run did")
		if strings.Contains(got.out, "running") {
			t.Errorf("%v shows what is dead as running:\n%s", command, got.out)
		}
	}
	b.call(t, "sync", "transactions", "--account", "acme").want(t, 0)
	b.call(t, "runs", "--limit", "2").shows(t, "killed", "success")
}

// Two syncs at once into one embedded warehouse: the second waits for the first, and both end well. For wide samples:
// TestCommandsBesideSync has a sync that waits for another.
func TestTwoSyncsOfOneFolder(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newSmallBench(t)
	args := append([]string{"sync", "--config", b.config}, narrow("transactions")...)
	one := start(t, b.env, args...)
	two := start(t, b.env, args...)
	for _, p := range []*process{one, two} {
		got := p.finish(t)
		got.want(t, 0)
		if strings.Contains(got.err, "Exception") {
			t.Errorf("the engine's own words were printed:\n%s", got.err)
		}
	}
	engineTurn(t)
	got := b.call(t, "query", "SELECT count() FROM transactions WHERE account = 'acme'", "-o", "csv")
	got.shows(t, fmt.Sprint(b.sim.Count("transactions", "acme")))
}
