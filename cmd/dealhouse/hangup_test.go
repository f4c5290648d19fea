//go:build !noengine && linux

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/sandbox"
	"dealhouse/internal/sandbox/sandboxtest"
)

// Whoever asks a daemon to read its configuration again while it enters the sandbox, and becomes itself anew, does not
// end it.
func TestHangupWhileEnteringSandbox(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t, sandbox.Policy{}.Missing())
	b := newBench(t)
	b.migrated(t)
	lock, err := os.OpenFile(filepath.Join(b.dir, "status"), os.O_RDWR|os.O_CREATE, 0o600) // what the engine locks
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	says := func(what string) func() bool {
		return func() bool {
			text, err := os.ReadFile(log.Name())
			return err == nil && strings.Contains(string(text), what)
		}
	}
	d := &running{process: &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], "run", "--config", b.config), stdout: bufio.NewReader(strings.NewReader(""))}}
	d.Env = slices.Concat(ambient(), []string{childVariable + "=1", "DEALHOUSE_DAEMON_LISTEN=" + freeAddress(t)}, b.env)
	d.Stderr = log
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	d.until(t, "it waits for the warehouse", says("waiting for another process"))
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	started := says("the daemon has begun")
	tick := time.NewTicker(2 * time.Millisecond) // more often than it takes, and not so often that nothing else is done
	defer tick.Stop()
	for ; !started(); <-tick.C {
		d.signal(t, syscall.SIGHUP)
		if strings.Contains(procFile(t, d.process, "status"), "State:\tZ") {
			text, err := os.ReadFile(log.Name())
			t.Fatalf("it has ended: %v %v\n%s", d.Wait(), err, text)
		}
	}
	d.signal(t, syscall.SIGTERM)
	d.end(t).want(t, 143)
}
