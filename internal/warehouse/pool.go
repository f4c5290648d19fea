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
	database string
	dialect  dialect
	log      *slog.Logger
	metrics  *Metrics

	maxRetryElapsed time.Duration
	backoff         time.Duration
	retries         atomic.Uint64
	caughtUp        sync.Map // of a StreamID: its derived tables have all that is loaded (CatchUp)
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
	for _, c := range []driver.Conn{p.conn, p.admin, p.readOnly} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if p.engine != nil {
		errs = append(errs, p.engine.Close())
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

// Embedded reports whether it is an engine in this process: no other process can open it meanwhile.
func (p *pool) Embedded() bool { return p.engine != nil }

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
