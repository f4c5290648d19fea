package warehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/chdb"
)

// pool is the connections to one database, and how statements are sent over them.
type pool struct {
	Reader
	conn     driver.Conn // in the database
	admin    driver.Conn // in the server's default database, to make the database
	readOnly driver.Conn // refuses whatever writes
	engine   *chdb.Engine
	guest    *chdb.Guest // instead of an engine
	host     *chdb.Host  // of other processes; nil while there can be none
	stopHost func()
	database string
	dialect  dialect
	log      *slog.Logger
	metrics  *Metrics

	maxRetryElapsed time.Duration
	backoff         time.Duration
	retries         atomic.Uint64
	counted         sync.Map // of a StreamID, the uuid.UUID of the run after whose first rejects those of others were counted
}

// connect opens the connections, those that a caller may wrap included.
func (p *pool) connect(o Options) error {
	for _, c := range []struct {
		to       *driver.Conn
		database string
		readOnly bool
	}{{&p.conn, o.Database, false}, {&p.admin, "default", false}, {&p.readOnly, o.Database, true}} {
		opts, err := p.options(o.DSN, c.database, c.readOnly)
		if err == nil {
			*c.to, err = clickhouse.Open(opts)
		}
		if err != nil {
			return err
		}
		if o.Wrap != nil {
			*c.to = o.Wrap(*c.to)
		}
		if !c.readOnly { // there, a person waits for the answer
			*c.to = patient{*c.to, p}
		}
	}
	p.Reader = Reader{conn: p.conn, readOnly: p.readOnly}
	return nil
}

func (p *pool) options(dsn, database string, readOnly bool) (*clickhouse.Options, error) {
	switch {
	case p.guest != nil && readOnly:
		return p.guest.ReadOnlyOptions(database), nil
	case p.guest != nil:
		return p.guest.ClickHouseOptions(database), nil
	case p.engine == nil:
		return serverOptions(dsn, database, readOnly)
	case readOnly:
		return p.engine.ReadOnlyOptions(database), nil
	}
	return p.engine.ClickHouseOptions(database), nil
}

// Close closes the connections and, when no one else uses it, the embedded engine. It may be called twice.
func (p *pool) Close() error {
	var errs []error
	if p.stopHost != nil {
		p.stopHost()
		p.stopHost = nil
	}
	for _, c := range []driver.Conn{p.conn, p.admin, p.readOnly} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if p.engine != nil {
		errs = append(errs, p.engine.Close())
	}
	if p.guest != nil {
		p.guest.Close()
	}
	return errors.Join(errs...)
}

// Engine is the embedded engine, or nil when the warehouse is a server.
func (p *pool) Engine() *chdb.Engine { return p.engine }

// Database is the name of the database.
func (p *pool) Database() string { return p.database }

// Conn is the connection for statements of other packages, in Database. Of these, queries are tried again when the
// warehouse cannot do them for the moment, and statements that write are not.
func (p *pool) Conn() driver.Conn { return p.conn }

// ReadOnly is a connection that refuses whatever writes.
func (p *pool) ReadOnly() driver.Conn { return p.readOnly }

// Embedded reports whether it is an embedded engine, in this process or in the one that this one is a guest of.
func (p *pool) Embedded() bool { return p.engine != nil || p.guest != nil }

// Share lets other processes of the same user work with the embedded engine of this one until Close. lasting says that
// this process goes on until it is told to end. A server needs no sharing: then nothing is done.
func (p *pool) Share(lasting bool) error {
	if p.engine == nil {
		return nil
	}
	host := p.engine.Host(lasting)
	stop, err := host.Serve()
	if err != nil {
		return fmt.Errorf("letting other processes use the embedded warehouse: %w", err)
	}
	p.host, p.stopHost = host, stop
	return nil
}

// Ping asks the server for its version.
func (p *pool) Ping(ctx context.Context) (version string, err error) {
	if err := p.admin.QueryRow(ctx, selectVersion).Scan(&version); err != nil {
		return "", fmt.Errorf("asking the warehouse for its version: %w", err)
	}
	return version, nil
}

// Now is the warehouse's clock, in UTC with microseconds. Where two hosts must agree on a time, it is this one.
func (p *pool) Now(ctx context.Context) (time.Time, error) {
	var us int64
	if err := p.conn.QueryRow(ctx, selectTime).Scan(&us); err != nil {
		return time.Time{}, fmt.Errorf("asking the warehouse for the time: %w", err)
	}
	return time.UnixMicro(us).UTC(), nil
}
