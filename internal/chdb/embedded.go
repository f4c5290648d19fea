//go:build !noengine && (linux || darwin)

package chdb

import (
	"context"
	"net"
	"net/http"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/door"
	"dealhouse/internal/chdb/engine"
)

// Built says that this binary has the engine.
const Built = true

// Engine is a handle on the embedded ClickHouse. Handles on the same directory
// share one engine, which ends with the last of them.
type Engine struct {
	engine *engine.Engine
}

// Open opens a data directory, which is created if absent. A directory that
// this process has open already is shared; any other gives an
// [*OtherDirError]. A directory in use by another process gives [ErrLocked].
// Without a library at hand the first Open downloads it, which ctx can interrupt.
func Open(ctx context.Context, o Options) (*Engine, error) {
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Engine{e}, nil
}

// Find makes sure that there is a data directory and a library for it, as [Open] does, and opens neither. It is for
// a process that enters a sandbox before it opens them, where it could no longer download anything.
func Find(ctx context.Context, o Options) (Place, error) { return engine.Find(ctx, o) }

// Present reports whether there is a library on this machine that can be used, and downloads nothing. One that is there
// and is not whole is an error.
func Present(ctx context.Context, o Options) (bool, error) { return engine.Present(ctx, o) }

// Holder is the process that has a data directory open, 0 when it cannot be told which; held is false when none has.
func Holder(dir string) (pid int, held bool) { return engine.Holder(dir) }

// Close gives the handle back. The last handle's Close ends every request that
// is under way and closes the directory. It may be called more than once.
func (e *Engine) Close() error { return e.engine.Close() }

// Dir is the data directory, absolute.
func (e *Engine) Dir() string { return e.engine.Dir() }

// ServerVersion is what the engine says of itself, such as "26.7.2.1".
func (e *Engine) ServerVersion() string { return e.engine.ServerVersion() }

// ClickHouseOptions are options for [clickhouse.Open] that lead to this engine.
// The database must exist by the time of the first query.
func (e *Engine) ClickHouseOptions(database string) *clickhouse.Options {
	return (&door.Transport{Engine: e.engine}).Options(database)
}

// ReadOnlyOptions are like ClickHouseOptions, but whatever is asked through
// them has only the rights of the read-only door.
func (e *Engine) ReadOnlyOptions(database string) *clickhouse.Options {
	return (&door.Transport{Engine: e.engine, ReadOnly: true}).Options(database)
}

// RoundTrip answers a request of clickhouse-go's HTTP protocol. It makes Engine
// an [http.RoundTripper] with every right; see [Engine.ClickHouseOptions].
func (e *Engine) RoundTrip(req *http.Request) (*http.Response, error) {
	return (&door.Transport{Engine: e.engine}).RoundTrip(req)
}

// Host is what lets other processes of the same user work with this engine. lasting says that this process goes on
// until it is told to end.
func (e *Engine) Host(lasting bool) *Host {
	return &Host{
		Dir: e.Dir(), Lasting: lasting, Logger: e.engine.Logger(),
		All: &door.Transport{Engine: e.engine}, Reader: &door.Transport{Engine: e.engine, ReadOnly: true},
	}
}

// Handler is ClickHouse's HTTP interface to the engine, for curl, BI tools and
// clickhouse-go. Unless o says otherwise it is read-only and only for clients
// that address it as localhost or by a number.
func (e *Engine) Handler(o HandlerOptions) http.Handler { return door.Handler(e.engine, o) }

// Serve serves [Engine.Handler] until ctx ends, and returns what ended it once the requests under way are done. The
// listener is closed then.
func (e *Engine) Serve(ctx context.Context, l net.Listener, o HandlerOptions) error {
	return door.Serve(ctx, l, e.engine, o)
}
