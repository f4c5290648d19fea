package warehouse

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// pinned is a connection to the server that the pool works with at the moment.
type pinned struct{ to atomic.Pointer[driver.Conn] }

func pin(c driver.Conn) *pinned {
	p := &pinned{}
	p.to.Store(&c)
	return p
}

func (p *pinned) conn() driver.Conn { return *p.to.Load() }

// Contributors is part of driver.Conn, like all methods below.
func (p *pinned) Contributors() []string { return p.conn().Contributors() }

// ServerVersion asks the server.
func (p *pinned) ServerVersion() (*driver.ServerVersion, error) { return p.conn().ServerVersion() }

// Select asks the server.
func (p *pinned) Select(ctx context.Context, dest any, query string, args ...any) error {
	return p.conn().Select(ctx, dest, query, args...)
}

// Query asks the server.
func (p *pinned) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	return p.conn().Query(ctx, query, args...)
}

// QueryRow asks the server.
func (p *pinned) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	return p.conn().QueryRow(ctx, query, args...)
}

// PrepareBatch begins an insert.
func (p *pinned) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	return p.conn().PrepareBatch(ctx, query, opts...)
}

// Exec runs a statement.
func (p *pinned) Exec(ctx context.Context, query string, args ...any) error {
	return p.conn().Exec(ctx, query, args...)
}

// QueryFormat asks the server.
func (p *pinned) QueryFormat(ctx context.Context, format, query string, args ...any) (io.ReadCloser, error) {
	return p.conn().QueryFormat(ctx, format, query, args...)
}

// InsertFormat inserts.
func (p *pinned) InsertFormat(ctx context.Context, format, query string, data io.Reader) error {
	return p.conn().InsertFormat(ctx, format, query, data)
}

// AsyncInsert is not used.
func (p *pinned) AsyncInsert(ctx context.Context, query string, wait bool, args ...any) error {
	return p.conn().AsyncInsert(ctx, query, wait, args...) //nolint:staticcheck // a part of driver.Conn
}

// Ping asks whether the server is there.
func (p *pinned) Ping(ctx context.Context) error { return p.conn().Ping(ctx) }

// Stats counts connections.
func (p *pinned) Stats() driver.Stats { return p.conn().Stats() }

// Close closes the connections to the server.
func (p *pinned) Close() error { return p.conn().Close() }
