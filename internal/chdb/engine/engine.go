//go:build !noengine && (linux || darwin)

package chdb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2"
	"golang.org/x/sys/unix"
)

// process is what the C library allows once per process.
var process struct {
	mu      sync.Mutex
	lib     *library
	libPath string
	open    *instance
}

// Engine is a handle on the embedded ClickHouse. Handles on the same directory
// share one engine, which ends with the last of them.
type Engine struct {
	in     *instance
	closed atomic.Bool
}

// instance is the one engine of the process.
type instance struct {
	lib     *library
	dir     string
	log     *slog.Logger
	args    []string
	refs    int // guarded by process.mu
	writers *pool
	readers *pool
	// examiners look at queries before they run; see examine.
	examiners *pool
	lexer     atomic.Pointer[[]string] // see tokenKinds
	persisted persisted
	allowed   recent[verdictKey, struct{}] // what the guard has let through; see examine
	control   *controller
	version   string
	nonce     string
	lock      *os.File
	lastID    atomic.Uint64
	ctx       context.Context //nolint:containedctx // ends with the instance, not with a call
	cancel    context.CancelCauseFunc
}

// Open opens a data directory, which is created if absent. A directory that
// this process has open already is shared; any other gives an
// [*OtherDirError]. A directory in use by another process gives [ErrLocked].
// Without a library at hand the first Open downloads it, which ctx can interrupt.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, errors.New("open the embedded engine: Options.Dir is empty")
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the embedded engine: %w", err)
	}

	process.mu.Lock()
	defer process.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if in := process.open; in != nil {
		if in.dir != dir {
			return nil, &OtherDirError{Open: in.dir, Wanted: dir}
		}
		in.refs++
		return &Engine{in: in}, nil
	}
	// The lock is probed before the library is looked for: this costs nothing.
	if err := probeLock(dir); err != nil {
		return nil, err
	}
	lib, err := obtainLibrary(ctx, o)
	if err != nil {
		return nil, err
	}
	in, err := start(lib, dir, o)
	if err != nil {
		return nil, err
	}
	in.refs = 1
	process.open = in
	return &Engine{in: in}, nil
}

// makeDir creates dir and returns its one true name, so that two spellings of
// a directory are recognized as the same.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// obtainLibrary returns the process's library; process.mu is held.
func obtainLibrary(ctx context.Context, o Options) (*library, error) {
	if process.lib != nil {
		// A shared library cannot be exchanged in a running process; whoever
		// asks for another one by name must not silently get this one.
		if o.Library != "" {
			path, err := trueName(o.Library)
			if err != nil || path != process.libPath {
				return nil, &LibraryError{Op: "use " + o.Library, Hint: "use one library per process",
					Err: fmt.Errorf("this process has loaded %s already", process.libPath)}
			}
		}
		return process.lib, nil
	}
	path, err := newAcquirer(o).path(ctx)
	if err != nil {
		return nil, err
	}
	lib, err := loadLibrary(path)
	if err != nil {
		return nil, &LibraryError{Op: "load " + path, Hint: "it needs glibc and must be libchdb " + Version, Err: err}
	}
	process.lib, process.libPath = lib, path
	return lib, nil
}

// start connects for the first time, which is what opens the directory.
func start(lib *library, dir string, o Options) (*instance, error) {
	write := writeConfig
	if o.unguarded {
		write = writeOpenConfig
	}
	config, err := write(dir)
	if err == nil {
		err = writeLimits(dir, o.Limits)
	}
	if err != nil {
		return nil, fmt.Errorf("write the engine's configuration: %w", err)
	}
	// The engine takes its time zone from the C environment alone, and a data
	// directory should mean the same everywhere. Go's own zone does not change.
	if lib.setenv("TZ", "UTC", 1) != 0 {
		return nil, errors.New("set the engine's time zone")
	}
	// The engine's handlers would take over SIGSEGV, which Go needs for its
	// nil checks. Must come before connect.
	lib.setSignalHandlers(0)

	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	in := &instance{
		lib:   lib,
		dir:   dir,
		log:   o.Logger,
		args:  []string{"clickhouse", "--path=" + dir, "--config-file=" + config},
		nonce: hex.EncodeToString(nonce[:]),
	}
	in.allowed.size = rememberedVerdicts
	in.ctx, in.cancel = context.WithCancelCause(context.Background())
	if in.lock, err = claim(dir); err != nil {
		return nil, err
	}
	first, err := in.connectFirst()
	if err != nil {
		_ = in.lock.Close()
		return nil, err
	}
	if err := first.dropSystemTables(o.unguarded); err != nil {
		first.close()
		_ = in.lock.Close()
		return nil, fmt.Errorf("open %s: take tables of the engine away: %w", dir, err)
	}
	if in.version, err = first.value("SELECT version()"); err != nil {
		first.close()
		_ = in.lock.Close()
		return nil, fmt.Errorf("open %s: ask the engine for its version: %w", dir, err)
	}
	in.control = &controller{conn: first}
	in.writers = newPool(o.MaxConns, in.connect)
	in.readers = newPool(o.MaxConns, in.connectReader)
	in.examiners = newPool(4, in.connectExaminer)
	return in, nil
}

// connectFirst opens the directory. A few attempts, since another process that
// probes the lock holds it for an instant.
func (in *instance) connectFirst() (*conn, error) {
	for attempt := 1; ; attempt++ {
		c, err := in.connect()
		if err == nil {
			return c, nil
		}
		if lerr := probeLock(in.dir); lerr != nil {
			return nil, lerr
		}
		if attempt == 3 {
			return nil, fmt.Errorf("open %s with the embedded engine: %w: the reason is on the standard error stream", in.dir, err)
		}
	}
}

// dropSystemTables takes away the system tables that are not on the list, for as long as the engine is open: no grant
// covers them, and some do something when they are read. One sends a signal to every thread, Go's included, another
// starts a process with all of this one's environment.
func (c *conn) dropSystemTables(unguarded bool) error {
	if unguarded {
		return nil
	}
	text, err := c.value("SELECT name FROM system.tables WHERE database = 'system'")
	if err != nil {
		return err
	}
	var drop []string
	for name := range strings.Lines(text + "\n") {
		name = strings.TrimSpace(name)
		if _, ok := allowed().systemTables[name]; !ok && name != "" {
			drop = append(drop, "system."+quoteIdentifier(name))
		}
	}
	if len(drop) == 0 {
		return nil
	}
	return c.exec("DROP TABLE IF EXISTS " + strings.Join(drop, ", "))
}

// connect makes a connection with all the rights there are.
func (in *instance) connect() (*conn, error) {
	h := in.lib.open(in.args)
	if h == nil {
		return nil, errors.New("the engine refused a connection")
	}
	return &conn{lib: in.lib, handle: h, c: *(*ptr)(h), db: defaultDatabase}, nil
}

// connectReader makes a connection that can only read, for good (chdb-7).
func (in *instance) connectReader() (*conn, error) {
	c, err := in.connect()
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"SET ROLE reader", sqlLock} {
		if err := c.exec(sql); err != nil {
			c.close()
			return nil, fmt.Errorf("confine a read-only connection: %w", err)
		}
	}
	c.reader = true
	return c, nil
}

// connectExaminer makes a connection with a reader's rights for looking at statements, whose settings it must accept.
func (in *instance) connectExaminer() (*conn, error) {
	c, err := in.connect()
	if err != nil {
		return nil, err
	}
	// One row needs no second thread, whose start costs as much as the rest.
	for _, sql := range []string{"SET ROLE reader", "SET max_threads = 1"} {
		if err := c.exec(sql); err != nil {
			c.close()
			return nil, fmt.Errorf("confine a connection that examines: %w", err)
		}
	}
	return c, nil
}

// probeLock tells whether another process has the directory. The engine locks
// the file "status" in it and reports a conflict on stderr only, so that the
// lock itself has to be asked.
func probeLock(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "status"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return inUse(dir)
	}
	return nil
}

// Close gives the handle back. The last handle's Close ends every request that
// is under way and closes the directory. It may be called more than once.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	e.in.refs--
	if e.in.refs > 0 {
		return nil
	}
	e.in.stop()
	process.open = nil
	return nil
}

// stop kills what runs, waits until the connections are back, and closes them;
// the control connection last, since it does the killing.
func (in *instance) stop() {
	in.cancel(ErrClosed)
	in.writers.close()
	in.readers.close()
	in.examiners.close()
	in.control.close()
	_ = in.lock.Close() // nothing was written
}

// claim locks the directory against other processes that use this package, before the engine does: the engine would
// tell of a conflict on stderr, in its own words. The lock ends with the file, and so with the process.
func claim(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "dealhouse.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, inUse(dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

func inUse(dir string) error {
	return fmt.Errorf("open %s: %w: stop the other dealhouse, or query it through its serve-warehouse port", dir, ErrLocked)
}

// Dir is the data directory, absolute.
func (e *Engine) Dir() string { return e.in.dir }

// ServerVersion is what the engine says of itself, such as "26.7.2.1".
func (e *Engine) ServerVersion() string { return e.in.version }

// ClickHouseOptions are options for [clickhouse.Open] that lead to this engine.
// The database must exist by the time of the first query.
func (e *Engine) ClickHouseOptions(database string) *clickhouse.Options {
	return e.options(database, e)
}

// ReadOnlyOptions are like ClickHouseOptions, but whatever is asked through
// them has only the rights of the read-only door.
func (e *Engine) ReadOnlyOptions(database string) *clickhouse.Options {
	return e.options(database, &transport{engine: e, readOnly: true})
}

func (e *Engine) options(database string, rt http.RoundTripper) *clickhouse.Options {
	n := e.in.writers.size()
	return &clickhouse.Options{
		Protocol: clickhouse.HTTP,
		// No address is ever dialled; clickhouse-go wants one that looks right.
		Addr:          []string{"embedded:80"},
		Auth:          clickhouse.Auth{Database: database},
		TransportFunc: func(*http.Transport) (http.RoundTripper, error) { return rt, nil },
		// The same number as the pool's, so that requests queue in one place.
		MaxOpenConns: n,
		MaxIdleConns: n,
	}
}
