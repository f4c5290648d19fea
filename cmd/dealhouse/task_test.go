//go:build !noengine && linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/launch"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/sandbox/sandboxtest"
)

// The process that serves has none of the secrets of the one that was called, and cannot get at anything; so says the
// kernel. Its id is the one that was started, whoever supervises it. For wide samples: TestQueryInSandbox has the
// sandbox of what reads.
func TestServeInSandbox(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	sandboxtest.Need(t, sandbox.Missing())
	b := newBench(t)
	b.migrated(t)
	leak, err := os.Open(b.config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leak.Close() }()
	for _, test := range []struct {
		name   string
		args   []string
		walled bool
	}{
		{"serve", []string{"--user", "bi", "--password", httpSecret}, true},
		{"without", []string{"--user", "bi", "--password", httpSecret, "--without-sandbox"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := slices.Concat(b.env, []string{"CLOUD_KEY=" + acmeKey})
			p := startWith(t, env, []*os.File{leak},
				append([]string{"serve-warehouse", "--listen", "127.0.0.1:0", "--config", b.config}, test.args...)...)
			address := p.find(t, `on (http://\S+) `)[1]
			engine := p.engine(t)
			status := procFile(t, engine, "status")
			if got := strings.Contains(status, "NoNewPrivs:\t1") && strings.Contains(status, "Seccomp:\t2"); got != test.walled {
				t.Errorf("walls: %v\n%s", got, status)
			}
			for _, pid := range []int{p.Process.Pid, engine} {
				wantBare(t, pid, b.config)
			}
			if code, body := ask(t, address, httpSecret, "SELECT count() FROM system.one"); code != http.StatusOK ||
				body != "1" {
				t.Errorf("%d %s", code, body)
			}
			p.signal(t, syscall.SIGTERM)
			got := p.finish(t)
			if got.code != 143 {
				t.Errorf("exit code %d", got.code)
			}
			if told := strings.Contains(got.err, "NO SANDBOX"); told == test.walled {
				t.Errorf("what it said: %s", got.err)
			}
		})
	}
}

// wantBare wants a process to have no secret, and no file of the user.
func wantBare(t *testing.T, pid int, file string) {
	t.Helper()
	for entry := range strings.SplitSeq(strings.TrimRight(procFile(t, pid, "environ"), "\x00"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.Concat(keptVariables, []string{launch.Variable, "DEALHOUSE_CHDB_LIBRARY", "TMPDIR"})
		if !slices.Contains(known, name) {
			t.Errorf("it has the variable %s", name)
		}
		if strings.Contains(value, "secret") {
			t.Errorf("%s has a secret", name)
		}
	}
	if strings.Contains(procFile(t, pid, "cmdline"), httpSecret) {
		t.Error("the password is in the process list")
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); target == file ||
			strings.Contains(target, "memfd:note") {
			t.Errorf("it has %s open", target)
		}
	}
}

// keptVariables are those of the environment that the process keeps: what the terminal can do, and how Go uses the
// machine.
var keptVariables = []string{
	"LANG", "LC_ALL", "LC_CTYPE", "TERM", "NO_COLOR", "COLUMNS", "TZ", "GOMEMLIMIT", "GOGC", "GOMAXPROCS", "GOTRACEBACK",
}

// A variable that only the program itself sets does not lead around anything.
func TestLaunchedByHand(t *testing.T) {
	t.Parallel()
	p := start(t, []string{launch.Variable + "=inside"}, "serve-warehouse")
	p.finish(t).want(t, 1, launch.Variable, "unset it")
}

// A question reaches the engine in a process of its own as it was typed, however long, and so does its end.
func TestQueryInSandbox(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	p := start(t, b.env, "query", "SELECT 'ü', length('"+strings.Repeat("x", 100000)+"') AS n", "-o", "csv", "--config",
		b.config)
	p.find(t, "^ü,100000")
	p.finish(t).want(t, 0)
	p = start(t, b.env, "query", "SELECT account, rows FROM stream_counts WHERE rows > 5 -- none", "--config", b.config)
	empty := p.finish(t)
	empty.want(t, 0, "the statement gave no rows")
	if want := "account  rows\n-------  ----\n"; empty.out != want {
		t.Errorf("a table without rows is %q, want %q", empty.out, want)
	}
	p = start(t, b.env, "query", "SELECT 1 WHERE 0", "-o", "jsonl", "--config", b.config, "--log-level", "warn") // a slow start is said at info
	if got := p.finish(t); got.code != 0 || got.out+got.err != "" {
		t.Errorf("code %d, %s%s", got.code, got.out, got.err)
	}
	p = start(t, b.env, "query", "SELECT nothing", "--config", b.config)
	p.finish(t).want(t, 2, "nothing", "(code 47)")
	gone := filepath.Join(t.TempDir(), "gone")
	p = start(t, []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + gone}, "query", "SELECT 1")
	p.finish(t).want(t, 2, "there is no warehouse in "+gone)
}

// procFile is what the kernel says of a process.
func procFile(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
