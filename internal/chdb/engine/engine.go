package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
)

// process is what the C library allows once per process.
var process struct {
	mu      sync.Mutex
	lib     *library.API
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
	lib     *library.API
	dir     string
	log     *slog.Logger
	args    []string
	refs    int // guarded by process.mu
	writers *conn.Pool
	readers *conn.Pool
	conns   int // of readers and of writers, besides the spare ones
	limits  contract.Limits
	guard   *guard.Guard
	control *conn.Controller
	version string
	nonce   string
	lock    *os.File
	lastID  atomic.Uint64
	ctx     context.Context //nolint:containedctx // ends with the instance, not with a call
	cancel  context.CancelCauseFunc
}

// Open opens a data directory, which is created if absent. A directory that
// this process has open already is shared; any other gives an
// [*contract.OtherDirError]. A directory in use by another process gives [contract.ErrLocked].
// Without a library at hand the first Open downloads it, which ctx can interrupt.
func Open(ctx context.Context, o contract.Options) (*Engine, error) { return open(ctx, o, confining) }

// rules are what the engine itself has to keep, for every client.
type rules struct {
	config func(dir string, o contract.Options) (path string,
		err error) // writes the configuration with the rights of roles
	tables func(*conn.Conn) error // takes system tables away
}

// confining are the rules of every engine, except in tests of the walls outside the engine.
var confining = rules{writeConfig, dropSystemTables}

func open(ctx context.Context, o contract.Options, r rules) (*Engine, error) {
	o = withDefaults(o)
	if o.Dir == "" {
		return nil, errors.New("open the embedded engine: Options.Dir is empty")
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the embedded engine: %w", err)
	}
	if err := whole(dir, o); err != nil {
		return nil, err
	}

	process.mu.Lock()
	defer process.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if in := process.open; in != nil {
		if in.dir != dir {
			return nil, &contract.OtherDirError{Open: in.dir, Wanted: dir}
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
	in, err := start(lib, dir, o, r)
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

// whole refuses a directory that is still being restored, except for the restore itself.
func whole(dir string, o contract.Options) error {
	if _, err := os.Lstat(filepath.Join(dir, contract.RestoringFile)); err == nil && !o.Restoring {
		return fmt.Errorf("open %s: %w", dir, contract.ErrRestoring)
	}
	return nil
}

// obtainLibrary returns the process's library; process.mu is held.
func obtainLibrary(ctx context.Context, o contract.Options) (*library.API, error) {
	if process.lib != nil {
		// A shared library cannot be exchanged in a running process. A caller that names another one must not silently
		// get this one.
		if o.Library != "" {
			path, err := library.TrueName(o.Library)
			if err != nil || path != process.libPath {
				return nil, &contract.LibraryError{Op: "use " + o.Library, Hint: "use one library per process",
					Err: fmt.Errorf("this process has loaded %s already", process.libPath)}
			}
		}
		return process.lib, nil
	}
	path, err := library.Find(ctx, o)
	if err != nil {
		return nil, err
	}
	lib, err := library.Open(path)
	if err != nil {
		return nil, &contract.LibraryError{Op: "load " + path, Hint: "it needs glibc and must be libchdb " + contract.Version,
			Err: err}
	}
	process.lib, process.libPath = lib, path
	return lib, nil
}

// start locks the directory, and connects for the first time.
func start(lib *library.API, dir string, o contract.Options, r rules) (*instance, error) {
	// Before anything is written: it might be for the engine that another process starts just now.
	lock, err := claim(dir)
	if err != nil {
		return nil, err
	}
	in, err := startLocked(lib, dir, o, r)
	if err != nil {
		_ = lock.Close() // nothing was written
		return nil, err
	}
	in.lock = lock
	return in, nil
}

// startLocked connects for the first time, which is what opens the directory.
func startLocked(lib *library.API, dir string, o contract.Options, r rules) (*instance, error) {
	config, err := r.config(dir, o)
	if err == nil {
		err = writeLimits(dir, o.Limits)
	}
	if err != nil {
		return nil, fmt.Errorf("write the engine's configuration: %w", err)
	}
	// The engine takes its time zone from the C environment alone, and a data
	// directory should mean the same everywhere. Go's own zone does not change.
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
		nonce: hex.EncodeToString(nonce[:]), conns: o.MaxConns, limits: o.Limits,
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
	size := o.MaxConns + SpareFor(o.MaxConns)
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

// dropSystemTables takes away the system tables that are not on the list, for as long as the engine is open: no grant
// covers them, and some do something when they are read. One sends a signal to every thread, Go's included, another
// starts a process with all of this one's environment.
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

// connect makes a connection with all the rights there are.
func (in *instance) connect() (*conn.Conn, error) {
	h := in.lib.Connect(in.args)
	if h == nil {
		return nil, errors.New("the engine refused a connection")
	}
	return conn.New(in.lib, h), nil
}

// connectReader makes a connection that can only read, for good (chdb-7).
func (in *instance) connectReader() (*conn.Conn, error) {
	c, err := in.connect()
	if err != nil {
		return nil, err
	}
	if err := c.Confine(); err != nil {
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
	in.cancel(contract.ErrClosed)
	in.writers.Close()
	in.readers.Close()
	in.guard.Close()
	in.control.Close()
	_ = in.lock.Close() // nothing was written
}

// lockName is the file in a data directory that its process has locked.
const lockName = "dealhouse.lock"

// claim locks the directory against other processes that use this package. It does so before the engine, because the
// engine would report a conflict on stderr, in its own words. The lock ends with the file, and so with the process.
func claim(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
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
	return fmt.Errorf("open %s: %w: stop the other dealhouse; while it is a daemon, or loads, `dealhouse query` works through it", dir, contract.ErrLocked)
}

// Dir is the data directory, absolute.
func (e *Engine) Dir() string { return e.in.dir }

// ServerVersion is what the engine says of itself, such as "26.7.2.1".
func (e *Engine) ServerVersion() string { return e.in.version }

// Closed tells whether Close was called.
func (e *Engine) Closed() bool { return e.closed.Load() }

// Logger is where the engine's own messages go.
func (e *Engine) Logger() *slog.Logger { return e.in.log }

// Readers is how many read-only queries may run at once.
func (e *Engine) Readers() int { return e.in.conns }

// Writers is how many queries that are not read-only, and inserts, may run at once.
func (e *Engine) Writers() int { return e.in.conns }

// SpareFor is how many connections there are besides n, for reads that take a moment.
func SpareFor(n int) int { return max(1, n/2) }

// SpareMemory is how many bytes of memory a read on a spare connection should have at most; 0 does not bound.
func (e *Engine) SpareMemory() int64 {
	if e.in.limits.Memory == 0 {
		return 0
	}
	return max(e.in.limits.Memory/32, 4<<20)
}

// withDefaults fills in what has been left at zero.
func withDefaults(o contract.Options) contract.Options {
	if o.MaxConns <= 0 {
		o.MaxConns = max(8, 2*runtime.GOMAXPROCS(0))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
