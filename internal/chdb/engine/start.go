package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
)

// start locks the directory, and connects for the first time.
func start(lib *library.API, dir string, o contract.Options, r rules) (*instance, error) {
	if err := safe(dir, o.Logger); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	// Before anything is written: it might be for the engine that another process starts just now.
	var lock *os.File // nil if another process has it for this one
	if !o.Claimed {
		var err error
		if lock, err = claim(dir); err != nil {
			return nil, err
		}
	}
	in, err := startLocked(lib, dir, o, r)
	if err != nil {
		_ = lock.Close() // nothing was written
		return nil, err
	}
	in.lock = lock
	if o.Stuck != nil {
		go in.watch(o.Stuck)
	}
	return in, nil
}

// startLocked connects for the first time, which is what opens the directory.
func startLocked(lib *library.API, dir string, o contract.Options, r rules) (*instance, error) {
	config, err := r.config(dir, o)
	if err == nil {
		err = writeLimits(dir, o.Limits, o.LimitReaders)
	}
	if err != nil {
		return nil, fmt.Errorf("write the engine's configuration: %w", unwritable(filepath.Join(dir, "engine"), err))
	}
	// The engine takes its time zone only from the C environment, and a data directory should mean the same everywhere.
	// Go's own time zone does not change.
	if lib.Setenv("TZ", "UTC", 1) != 0 {
		return nil, errors.New("set the engine's time zone")
	}
	// The engine's handlers would take over SIGSEGV, which Go needs for its
	// nil checks. Must come before connect.
	lib.SetSignalHandlers(0)

	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	in := &instance{
		lib:   lib,
		dir:   dir,
		log:   o.Logger,
		args:  []string{"clickhouse", "--path=" + dir, "--config-file=" + config},
		nonce: hex.EncodeToString(nonce[:]), conns: o.MaxConns, limits: o.Limits, limitReaders: o.LimitReaders && o.Limits != contract.Limits{},
		stopped: make(chan struct{}),
	}
	in.ctx, in.cancel = context.WithCancelCause(context.Background())
	first, err := in.connectFirst()
	if err != nil {
		return nil, err
	}
	if err := r.tables(first); err != nil {
		first.Close()
		return nil, fmt.Errorf("open %s: remove tables of the engine: %w", dir, err)
	}
	if in.version, err = first.Value("SELECT version()"); err != nil {
		first.Close()
		return nil, fmt.Errorf("open %s: ask the engine for its version: %w", dir, err)
	}
	in.control = conn.NewController(first)
	size := o.MaxConns + SpareFor(o.MaxConns) + LostFor(o.MaxConns)
	in.writers = conn.NewPool(size, in.connect)
	in.readers = conn.NewPool(size, in.connectReader)
	in.guard = guard.New(in.connectExaminer, in.log)
	return in, nil
}

// connectFirst opens the directory. It tries a few times, because another process that probes the lock holds it for an
// instant.
func (in *instance) connectFirst() (*conn.Conn, error) {
	for attempt := 1; ; attempt++ {
		c, err := in.connect()
		if err == nil {
			return c, nil
		}
		if lerr := probeLock(in.dir); lerr != nil {
			return nil, lerr
		}
		if attempt == 3 {
			return nil, fmt.Errorf("open %s with the embedded engine: %w: the reason is on the standard error stream", in.dir,
				err)
		}
	}
}

// dropSystemTables drops the system tables that are not on the list, for as long as the engine is open. No grant covers
// them, and reading some of them has effects: one sends a signal to every thread, including Go's, and another starts a
// process that gets the whole environment of this one.
func dropSystemTables(c *conn.Conn) error {
	text, err := c.Value("SELECT name FROM system.tables WHERE database = 'system'")
	if err != nil {
		return err
	}
	var drop []string
	for name := range strings.Lines(text + "\n") {
		name = strings.TrimSpace(name)
		if _, ok := allow.All().SystemTables[name]; !ok && name != "" {
			drop = append(drop, "system."+conn.QuoteIdentifier(name))
		}
	}
	if len(drop) == 0 {
		return nil
	}
	return c.Exec("DROP TABLE IF EXISTS " + strings.Join(drop, ", "))
}

// connect makes a connection with all rights.
func (in *instance) connect() (*conn.Conn, error) {
	h := in.lib.Connect(in.args)
	if h == nil {
		return nil, errors.New("the engine refused a connection")
	}
	return conn.New(in.lib, h), nil
}

// connectReader makes a connection that can only ever read (chdb-7).
func (in *instance) connectReader() (*conn.Conn, error) {
	c, err := in.connect()
	if err != nil {
		return nil, err
	}
	var limits []string
	if in.limitReaders {
		limits = limitReader(in.limits)
	}
	if err := c.Confine(limits...); err != nil {
		c.Close()
		return nil, fmt.Errorf("confine a read-only connection: %w", err)
	}
	return c, nil
}

// connectExaminer makes a connection for looking at statements. It has a reader's rights, but must accept the settings
// of the statements.
func (in *instance) connectExaminer() (*conn.Conn, error) {
	c, err := in.connect()
	if err != nil {
		return nil, err
	}
	// One row needs no second thread: starting one costs as much as all the rest.
	for _, sql := range []string{conn.SetReader, "SET max_threads = 1"} {
		if err := c.Exec(sql); err != nil {
			c.Close()
			return nil, fmt.Errorf("confine a connection that examines: %w", err)
		}
	}
	return c, nil
}
