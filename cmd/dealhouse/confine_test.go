//go:build !noengine && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/launch"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/sandbox/sandboxtest"
)

// The daemon's engine is in the sandbox, without the daemon's environment. Nobody who supervises the daemon sees a
// difference: its id, name, arguments and environment are those that it was started with, and it hears its signals. Its
// folder is made at the first start. For wide samples: TestSyncInSandbox has the sandbox of what loads.
func TestDaemonInSandbox(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	sandboxtest.Need(t, sandbox.Missing())
	b := newSmallBench(t)
	d := b.daemon(t, b.config)
	engine := d.engine(t)
	if status := procFile(t, engine, "status"); !strings.Contains(status, "NoNewPrivs:\t1") ||
		!strings.Contains(status, "Seccomp_filters:\t2") {
		t.Errorf("its engine is in no sandbox:\n%s", status)
	}
	if environ := procFile(t, engine, "environ"); strings.Contains(environ, acmeKey) {
		t.Errorf("the environment of the engine is %q", environ)
	}
	if name := strings.TrimSpace(procFile(t, d.Process.Pid, "comm")); !strings.HasPrefix(filepath.Base(os.Args[0]), name) {
		t.Errorf("its name is %s", name)
	}
	if got, want := strings.TrimRight(procFile(t, d.Process.Pid, "cmdline"), "\x00"), strings.Join(d.Args,
		"\x00"); got != want {
		t.Errorf("its arguments are %q, want %q", got, want)
	}
	own := []string{launch.Variable, "DEALHOUSE_CHDB_LIBRARY", "TMPDIR", "GOMEMLIMIT"}
	known := func(environ []string) []string {
		return slices.DeleteFunc(environ, func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return slices.Contains(own, name)
		})
	}
	got := known(strings.Split(strings.TrimRight(procFile(t, d.Process.Pid, "environ"), "\x00"), "\x00"))
	if want := known(slices.Clone(d.Env)); !slices.Equal(got, want) {
		t.Errorf("its environment is\n%q, want\n%q", got, want)
	}
	d.signal(t, syscall.SIGHUP)
	d.until(t, "the configuration is read again", func() bool {
		return d.sum(t, "dealhouse_config_last_reload_timestamp_seconds") > 0 && d.ProcessState == nil
	})
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143, "runs in a kernel sandbox", "the daemon has ended")
}

// What a sync writes and reads is where people put it: a configuration and a key that come through pipes, which can be
// read once, a folder that is a link, with one in it that leads elsewhere, paths relative to where it was started,
// metrics in a folder of their own, no home.
func TestSyncInSandbox(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	sandboxtest.Need(t, sandbox.Missing())
	b := newSmallBench(t)
	place := t.TempDir()
	for _, folder := range []string{"disk/data", "other/store", "other/deeper", "textfile"} {
		if err := os.MkdirAll(filepath.Join(place, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"data": "disk/data", "disk/data/store": "../../other/store"}
	for n := range 16 * 16 * 16 { // the engine keeps its tables there
		links[fmt.Sprintf("other/store/%03x", n)] = "../deeper"
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(place, link)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(text), "env:ACME_KEY", "file:/dev/fd/3", 1)
	config = regexp.MustCompile(`embedded:[^"]*`).ReplaceAllString(config, "embedded:data")
	fifo := filepath.Join(place, "config.fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	key, keyWriter, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(keyWriter, acmeKey)
	_ = keyWriter.Close()
	defer func() { _ = key.Close() }()
	env := slices.Concat(b.env, []string{"HOME=", "XDG_CACHE_HOME=" + cacheHome(t)})
	p := startIn(t, place, env, []*os.File{key}, "sync", "coupons", "payouts", "--metrics-textfile",
		"textfile/metrics.prom", "--log-level", "debug", "--config", "config.fifo")
	if err := os.WriteFile(fifo, []byte(config), 0); err != nil { // until it is read
		t.Fatal(err)
	}
	got := p.finish(t)
	got.want(t, 0)
	got.shows(t, "success")
	if strings.Contains(got.err, "kernel sandbox") || strings.Contains(got.err, "cannot block") {
		t.Errorf("it says of the sandbox:\n%s", got.err)
	}
	if _, err := os.Stat(filepath.Join(place, "textfile/metrics.prom")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Join(place, "other/store")); err != nil || len(entries) == 0 {
		t.Errorf("the folder that a link leads to has %v %v", entries, err)
	}
}

// cacheHome is where the engine's library is kept for the user of the tests.
func cacheHome(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Where the kernel has no sandbox, the daemon says so once, and works all the same; so
// does what ends by itself, and whoever wants none hears nothing. For wide samples: TestSyncInSandbox and its kind have
// the sandbox.
func TestLoadsWithoutSandbox(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newSmallBench(t)
	b.migrated(t)
	for _, test := range []struct {
		handicap string
		args     []string
		words    string
	}{
		{"landlock,seccomp", nil, "cannot block files and TCP connections and other sockets and child processes that"},
		{"landlock", nil, "cannot block files and TCP connections that"},
		{"seccomp", nil, "cannot block other sockets and child processes that"},
		{"landlock", []string{"--without-sandbox"}, ""},
	} {
		if (test.handicap == "landlock" && test.words != "" || test.handicap == "seccomp") && !enginetest.Wide() {
			continue // half of the first
		}
		p := start(t, slices.Concat(b.env, []string{handicapVariable + "=" + test.handicap}),
			append([]string{"rejects", "retry", "--config", b.config}, test.args...)...)
		got := p.finish(t)
		got.want(t, 0, test.words)
		if n := strings.Count(got.err, "kernel sandbox") + strings.Count(got.err, "cannot block"); n != min(1,
			len(test.words)) {
			t.Errorf("%s: it says so %d times:\n%s", test.handicap, n, got.err)
		}
	}
	start(t, slices.Concat(b.env, []string{handicapVariable + "=exec"}), "rejects", "retry", "--config", b.config).finish(t).want(t,
		1, "starting the process with the engine: ", "permission denied")
	b.env = append(b.env, handicapVariable+"=landlock,seccomp")
	d := b.daemon(t, b.config)
	d.signal(t, syscall.SIGTERM)
	got := d.finish(t)
	got.want(t, 143, "level=WARN", "cannot block")
	if n := strings.Count(got.err, "cannot block"); n != 1 {
		t.Errorf("it says so %d times:\n%s", n, got.err)
	}
}
