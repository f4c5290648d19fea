package engine

import (
	"context"
	"crypto/rand"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/guard"
)

// Things that only tests may do with an engine.

// OpenUnguarded does what Open does, but gives every connection, even of readers, all rights that the engine knows: for
// tests of the protections outside the engine.
func OpenUnguarded(ctx context.Context, o contract.Options) (*Engine, error) {
	return open(ctx, o, rules{writeOpenConfig, func(*conn.Conn) error { return nil }})
}

// LibraryPath returns the path of the library that this process has loaded.
func LibraryPath() string { return process.libPath }

// Same tells whether two handles share an engine.
func Same(a, b *Engine) bool { return a.in == b.in }

// ConnectReader makes a connection that can only read.
func (e *Engine) ConnectReader() (*conn.Conn, error) { return e.in.connectReader() }

// FreshGuard returns a guard of the same engine that has judged nothing yet.
func (e *Engine) FreshGuard() *guard.Guard { return guard.New(e.in.connectExaminer, e.in.log) }

// FrozenSettings returns the settings that nobody may change.
func FrozenSettings() []string { return frozenSettings() }

// Apart returns a handle on the same engine that has its own pools, with conns connections each, and a
// function that closes them. With one connection, each query runs on the connection that the query before it
// used, unless that was closed. Each handle marks its queries in its own way, so that none kills those of another.
func (e *Engine) Apart(conns int) (apart *Engine, end func()) {
	in := &instance{
		lib: e.in.lib, dir: e.in.dir, log: e.in.log, args: e.in.args, version: e.in.version,
		nonce: rand.Text(), control: e.in.control, conns: conns, limits: e.in.limits,
	}
	in.ctx, in.cancel = context.WithCancelCause(context.Background())
	in.writers = conn.NewPool(conns, in.connect)
	in.readers = conn.NewPool(conns, in.connectReader)
	in.guard = guard.New(in.connectExaminer, in.log)
	return &Engine{in: in}, func() {
		in.cancel(contract.ErrClosed)
		in.writers.Close()
		in.readers.Close()
		in.guard.Close()
	}
}
