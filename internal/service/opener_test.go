package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// What does not create a warehouse says that there is none, and makes no folder (nothing is created by looking).
func TestAbsent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	cfg := &config.Config{Warehouse: config.Warehouse{DSN: config.NewSecret("embedded:" + dir), Database: "dealhouse"}}
	o := NewOpener(OpenOptions{})
	for name, open := range map[string]Opening{"to read": o.Existing, "to load": o.ExistingToLoad} {
		w, err := o.WhenFree(t.Context(), cfg, open)
		if none, is := errors.AsType[AbsentError](err); w != nil || !is || none.Dir != dir ||
			!errors.Is(err, warehouse.ErrSchemaOld) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w, err := o.Join(t.Context(), cfg); w != nil || err != nil {
		t.Errorf("nobody is there: %v, %v", w, err)
	}
	if err := MustBeFree(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

// A command that waits for another process tries again until its patience ends, or until it is stopped.
func TestWaiting(t *testing.T) {
	t.Parallel()
	tries := 0
	locked := func(context.Context, *config.Config) (*warehouse.Warehouse, error) {
		tries++
		return nil, takenError{pid: 7, daemon: true}
	}
	_, err := NewOpener(OpenOptions{Patience: -1}).WhenFree(t.Context(), nil, locked)
	if !errors.Is(err, chdb.ErrLocked) || tries != 1 || !strings.Contains(err.Error(), "a daemon (process 7)") {
		t.Errorf("%d tries: %v", tries, err)
	}
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "dealhouse.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }() // nothing was written
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{Warehouse: config.Warehouse{DSN: config.NewSecret("embedded:" + dir)}}
	var log bytes.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	_, err = NewOpener(OpenOptions{Patience: 1 << 40, Logger: slog.New(slog.NewTextHandler(&log, nil))}).WhenFree(ctx, cfg,
		func(context.Context, *config.Config) (*warehouse.Warehouse, error) {
			if tries++; tries == 3 {
				cancel(stopped)
			}
			return nil, takenError{}
		})
	if !errors.Is(err, stopped) || tries != 3 {
		t.Errorf("%d tries: %v", tries, err)
	}
	if want := fmt.Sprintf("pid=%d\n", os.Getpid()); chdb.Built && !strings.HasSuffix(log.String(), want) {
		t.Errorf("it does not say for whom it waits, %s: %s", want, log.String())
	}
}

// A server that is not there is said to be, with what to check and without the password (no secret in a finding).
func TestUnreachable(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Warehouse: config.Warehouse{
		DSN: config.NewSecret("clickhouse://loader:very-secret@127.0.0.1:1/dealhouse"), Database: "dealhouse"}}
	_, err := NewOpener(OpenOptions{}).Existing(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "check warehouse.dsn") || strings.Contains(err.Error(), "very-secret") {
		t.Errorf("%v", err)
	}
}
