//go:build !noengine && (linux || darwin)

package chdb

import (
	"context"
	"net"
	"net/http"
	"path/filepath"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/door"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/share"
)

// Built says that this binary has the engine.
const Built = true

// Engine is a handle on the embedded ClickHouse. Handles on the same directory share one engine, which ends when
// the last of them is closed.
type Engine struct {
	engine *engine.Engine
}

// Open opens a data directory, and creates it if it is absent. If this process has the directory open already,
// the handles share it. If this process has another directory open, the error is an [*OtherDirError]. If
// another process has the directory open, it is [ErrLocked]. If no library is found, the first Open downloads
// it. ctx can interrupt that.
func Open(ctx context.Context, o Options) (*Engine, error) {
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Engine{e}, nil
}

// Find makes sure that there is a data directory and a library for it, as [Open] does, but opens neither. It is for a
// process that enters a sandbox before it opens them: inside, it could not download anything.
func Find(ctx context.Context, o Options) (Place, error) { return engine.Find(ctx, o) }

// Present reports whether this machine has a library that can be used. It downloads nothing. If there is a library that
// cannot be used, for example because it is incomplete, that is an error.
func Present(ctx context.Context, o Options) (bool, error) { return engine.Present(ctx, o) }

// Holder returns the id of the process that has a data directory open, or 0 if the id is unknown. held is false
// if no process has it open.
func Holder(dir string) (pid int, held bool) { return engine.Holder(dir) }

// Claim locks a data directory for the engine of another process, which opens it with [Options].Claimed.
func Claim(dir string) (release func(), err error) { return engine.Claim(dir) }

// Close closes the handle. Closing the last handle ends every request that is under way and closes the directory. It
// may be called more than once.
func (e *Engine) Close() error { return e.engine.Close() }

// Dir returns the absolute path of the data directory.
func (e *Engine) Dir() string { return e.engine.Dir() }

// ServerVersion returns the version that the engine reports, such as "26.7.2.1".
func (e *Engine) ServerVersion() string { return e.engine.ServerVersion() }

// ClickHouseOptions returns options for [clickhouse.Open] that connect it to this engine. The database must exist by
// the time of the first query.
func (e *Engine) ClickHouseOptions(database string) *clickhouse.Options {
	return (&door.Transport{Engine: e.engine}).Options(database)
}

// ReadOnlyOptions returns the same as ClickHouseOptions, but queries through them have only the
// rights of the read-only door.
func (e *Engine) ReadOnlyOptions(database string) *clickhouse.Options {
	return (&door.Transport{Engine: e.engine, ReadOnly: true}).Options(database)
}

// RoundTrip answers a request of clickhouse-go's HTTP protocol. It makes Engine
// an [http.RoundTripper] with every right; see [Engine.ClickHouseOptions].
func (e *Engine) RoundTrip(req *http.Request) (*http.Response, error) {
	return (&door.Transport{Engine: e.engine}).RoundTrip(req)
}

// Host returns a host that lets other processes of the same user work with this engine. lasting says that this process
// runs until it is told to end.
func (e *Engine) Host(lasting bool) *Host {
	return &Host{
		Dir: e.Dir(), Lasting: lasting, Logger: e.engine.Logger(),
		All: &door.Transport{Engine: e.engine}, Reader: &door.Transport{Engine: e.engine, ReadOnly: true},
	}
}

// Front passes requests on to the process that has the engine.
type Front = door.Front

// NewFront makes a front for the engine of a data directory. The listener of its process is one of ListenApart.
func NewFront(dir string, kept Kept, o HandlerOptions) *Front {
	return door.NewFront(func(ctx context.Context) (net.Conn, error) {
		return share.Dial(ctx, filepath.Join(dir, "engine"), frontSocket)
	}, "", kept, o)
}

// NewHostFront makes a front for the host of a data directory, which has a Door.
func NewHostFront(dir string, kept Kept, o HandlerOptions) *Front {
	return door.NewFront(func(ctx context.Context) (net.Conn, error) { return share.Dial(ctx, dir, share.SocketName) },
		share.PathDoor, kept, o)
}

// Handler returns ClickHouse's HTTP interface to the engine, for curl, BI tools and clickhouse-go. Unless o says
// otherwise, it is read-only, and only for clients that address it as localhost or by a number.
func (e *Engine) Handler(o HandlerOptions) http.Handler { return door.Handler(e.engine, o) }

// Serve serves [Engine.Handler] until ctx ends, and returns what ended it once the requests under way are done. The
// listener is closed then.
func (e *Engine) Serve(ctx context.Context, l net.Listener, o HandlerOptions) error {
	return door.Serve(ctx, l, e.engine, o)
}
