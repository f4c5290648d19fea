package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
)

// process holds what the C library allows only once per process.
var process struct {
	mu      sync.Mutex
	lib     *library.API
	libPath string
	open    *instance
}

// Engine is a handle on the embedded ClickHouse. Handles on the same directory share one engine, which ends when
// the last of them is closed.
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
	// limitReaders says that they are for read-only queries alone.
	limitReaders bool
	guard        *guard.Guard
	control      *conn.Controller
	version      string
	nonce        string
	lock         *os.File
	lastID       atomic.Uint64
	leases       sync.Map // *lease that are under way
	stopped      chan struct{}
	ctx          context.Context //nolint:containedctx // ends with the instance, not with a call
	cancel       context.CancelCauseFunc
}

// Open opens a data directory, and creates it if it is absent. If this process has the directory open already, the
// handles share it. If this process has another directory open, the error is an [*contract.OtherDirError]. If
// another process has the directory open, it is [contract.ErrLocked]. If no library is found, the first Open
// downloads it. ctx can interrupt that.
func Open(ctx context.Context, o contract.Options) (*Engine, error) { return open(ctx, o, confining) }

// rules set up what the engine itself enforces, for every client.
type rules struct {
	config func(dir string, o contract.Options) (path string,
		err error) // writes the configuration with the rights of roles
	tables func(*conn.Conn) error // takes system tables away
}

// confining are the rules of every engine, except in tests of the protections outside the engine.
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
	// The lock is probed first, because that costs nothing.
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

// obtainLibrary returns the library of the process, and loads it if that was not done before. The
// caller holds process.mu.
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

// Close closes the handle. Closing the last handle ends every request that is under way and closes the directory. It
// may be called more than once.
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
	process.open = nil
	return e.in.stop()
}

// Dir returns the absolute path of the data directory.
func (e *Engine) Dir() string { return e.in.dir }

// ServerVersion returns the version that the engine reports, such as "26.7.2.1".
func (e *Engine) ServerVersion() string { return e.in.version }

// Limits returns the limits of the engine.
func (e *Engine) Limits() contract.Limits { return e.in.limits }

// Closed tells whether Close was called.
func (e *Engine) Closed() bool { return e.closed.Load() }

// Logger returns the logger for the engine's own messages.
func (e *Engine) Logger() *slog.Logger { return e.in.log }

// Readers returns how many read-only queries may run at once.
func (e *Engine) Readers() int { return e.in.conns }

// Writers returns how many inserts and other queries that are not read-only may run at once.
func (e *Engine) Writers() int { return e.in.conns }

// SpareFor returns how many spare connections there are in addition to n, for reads that take only a moment.
func SpareFor(n int) int { return max(1, n/2) }

// LostFor returns how many more there are, in place of spare ones that do not come back.
func LostFor(n int) int { return 2 * n }

// SpareMemory returns how many bytes of memory a read on a spare connection should use at most; 0 means no bound.
func (e *Engine) SpareMemory() int64 {
	if e.in.limits.Memory == 0 {
		return 0
	}
	return max(e.in.limits.Memory/32, 4<<20)
}

// withDefaults replaces zero values by the defaults.
func withDefaults(o contract.Options) contract.Options {
	if o.MaxConns <= 0 {
		o.MaxConns = max(8, 2*runtime.GOMAXPROCS(0))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
