//go:build !noengine && linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/sandbox/sandboxtest"
)

// Whoever asks a daemon without end to read its configuration again does not end it while it enters the sandbox and
// becomes itself anew, does not keep it from starting, has it read again no more often than once a second, and does not
// keep it from ending. For wide samples: TestFlood has the requests.
func TestFloodOfHangups(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	sandboxtest.Need(t, sandbox.Missing())
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
	said := func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cmd := childCommand(t, slices.Concat(b.env, []string{"DEALHOUSE_DAEMON_LISTEN=" + freeAddress(t)}), "run", "--config",
		b.config)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Whether it has ended is told by waiting for it alone: while a process becomes itself anew from another thread than
	// its first, /proc calls it a zombie.
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	// flood returns a time before which it was not said.
	flood := func(until string) (before time.Time) {
		t.Helper()
		for {
			looked := time.Now()
			if strings.Contains(said(), until) {
				return before
			}
			before = looked
			select {
			case err := <-ended:
				t.Fatalf("it has ended before %q: %v\n%s", until, err, said())
			case <-tick.C:
				if err := cmd.Process.Signal(syscall.SIGHUP); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
		}
	}
	for line := "waiting for another process"; !strings.Contains(said(), line); <-tick.C {
		if len(ended) > 0 {
			t.Fatalf("it has ended: %v\n%s", <-ended, said())
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	const again = "the configuration was read again"
	begin := flood("the daemon has begun") // it reads nothing again before
	flood(again)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-tick.C:
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d: %v\n%s", code, err, said())
	}
	if n, most := strings.Count(said(), again), 1+int(time.Since(begin)/time.Second); n > most {
		t.Errorf("it was read again %d times in %s", n, time.Since(begin))
	}
	clean(t, said())
}
