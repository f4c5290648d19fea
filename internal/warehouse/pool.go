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

// pool has the connections to one database, and knows how statements are sent over them.
type pool struct {
	Reader
	conn     driver.Conn // in the database
	admin    driver.Conn // in the server's default database, to make the database
	readOnly driver.Conn // refuses statements that write
	engine   *chdb.Engine
	guest    *chdb.Guest // instead of an engine
	host     *chdb.Host  // serves other processes; nil while there can be none
	stopHost func()
	database string
	dialect  dialect
	given    Options
	server   Server
	replicas *replicas
	options  func(database string, readOnly bool) (*clickhouse.Options, error) // of a connection
	log      *slog.Logger
	metrics  *Metrics

	maxRetryElapsed time.Duration
	lagTurn         time.Duration // lagTurn; shorter in tests
	backoff         time.Duration
	retries         atomic.Uint64
	counted         sync.Map // by StreamID: the run (uuid.UUID) that last had the rejects of other runs counted
}

// connect opens the connections. Options.Wrap applies to each of them.
func (p *pool) connect(o Options) error {
	addresses := []string{""}
	p.options = func(database string, readOnly bool) (*clickhouse.Options, error) {
		return serverOptions(o, p.dialect, database, readOnly)
	}
	switch {
	case p.engine != nil:
		p.options = p.engineOptions
	case p.guest != nil:
		p.options = p.guestOptions
	default:
		opts, err := p.options(o.Database, false)
		if err != nil {
			return err
		}
		if addresses = opts.Addr; len(o.addresses) > 0 {
			addresses = o.addresses
		}
	}
	open := func(address string) ([]driver.Conn, error) { return p.open(o, address) }
	conns, err := open(addresses[0])
	if err != nil {
		return err
	}
	p.replicas = &replicas{addresses: addresses, open: open}
	if len(addresses) > 1 {
		for i, c := range conns {
			p.replicas.pinned = append(p.replicas.pinned, pin(c))
			conns[i] = p.replicas.pinned[i]
		}
	}
	// The last one does not try again: a person waits for its answer.
	p.conn, p.admin, p.readOnly = retryingConn{conns[0], p}, retryingConn{conns[1], p}, conns[2]
	p.Reader = Reader{retrying: p.conn, once: p.readOnly}
	return nil
}

// reconnect opens the connections again, after the dialect has changed.
func (p *pool) reconnect() error {
	before := []driver.Conn{p.conn, p.admin, p.readOnly}
	if err := p.connect(p.given); err != nil {
		return fmt.Errorf("opening the warehouse: %w", err)
	}
	var errs []error
	for _, c := range before {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// open opens the connections to a server: conn, admin and readOnly.
func (p *pool) open(o Options, address string) (conns []driver.Conn, err error) {
	for _, c := range []struct {
		database string
		readOnly bool
	}{{o.Database, false}, {"default", false}, {o.Database, true}} {
		opts, err := p.options(c.database, c.readOnly)
		if err != nil {
			return nil, err
		}
		if address != "" {
			opts.Addr = []string{address}
		}
		conn, err := clickhouse.Open(opts)
		if err != nil {
			return nil, err
		}
		if o.Wrap != nil {
			conn = o.Wrap(conn)
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func (p *pool) engineOptions(database string, readOnly bool) (*clickhouse.Options, error) {
	if readOnly {
		return p.engine.ReadOnlyOptions(database), nil
	}
	return p.engine.ClickHouseOptions(database), nil
}

func (p *pool) guestOptions(database string, readOnly bool) (*clickhouse.Options, error) {
	if readOnly {
		return p.guest.ReadOnlyOptions(database), nil
	}
	return p.guest.ClickHouseOptions(database), nil
}

// address returns the address of the server that the pool works with.
func (p *pool) address() string { return p.replicas.address() }

// close closes the connections and, when no one else uses it, the embedded engine. It may be called twice.
func (p *pool) close() error {
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
		errs = append(errs, p.guest.Close())
	}
	return errors.Join(errs...)
}

// Engine returns the embedded engine, or nil if the warehouse is a server.
func (p *pool) Engine() *chdb.Engine { return p.engine }

// Database returns the name of the database.
func (p *pool) Database() string { return p.database }

// Conn returns the connection to Database for statements of other packages. Queries are tried again if the warehouse
// cannot do them for the moment. Statements that write are not.
func (p *pool) Conn() driver.Conn { return p.conn }

// ReadOnly returns a connection that refuses statements that write.
func (p *pool) ReadOnly() driver.Conn { return p.readOnly }

// Embedded reports whether it is an embedded engine, in this process or in the one that this one is a guest of.
func (p *pool) Embedded() bool { return p.engine != nil || p.guest != nil }

// Share lets other processes of the same user work with the embedded engine of this one until Close. lasting says that
// this process runs until it is told to end. For a server it does nothing, since a server needs no sharing.
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

// Now returns the time of the warehouse's clock, in UTC with microseconds. Where two hosts must agree on a
// time, they use it.
func (p *pool) Now(ctx context.Context) (time.Time, error) {
	var us int64
	if err := p.conn.QueryRow(ctx, selectTime).Scan(&us); err != nil {
		return time.Time{}, fmt.Errorf("asking the warehouse for the time: %w", err)
	}
	return time.UnixMicro(us).UTC(), nil
}

// queryer is the part of a connection that asks and changes nothing.
type queryer interface {
	Query(ctx context.Context, query string, args ...any) (driver.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) driver.Row
}

// Reader reads what is in the warehouse and has no way to change it.
type Reader struct {
	retrying queryer // asks again when the warehouse cannot answer for the moment
	once     queryer // asks once, for a person who waits
}

// scanned reads all rows of a query into values. err is that of the query; fields says where the columns of a row go.
func scanned[T any](rows driver.Rows, err error, fields func(*T) []any) ([]T, error) {
	var all []T
	err = each(rows, err, fields, func(value T) error {
		all = append(all, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each calls do for each row of a query, as a value, and keeps none of them. The other arguments are those of scanned.
func each[T any](rows driver.Rows, err error, fields func(*T) []any, do func(T) error) error {
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		var value T
		if err = rows.Scan(fields(&value)...); err == nil {
			err = do(value)
		}
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// only is the argument fields of scanned for queries of one column.
func only[T any](value *T) []any { return []any{value} }

// clockTolerance is how far apart the clocks of two replicas may be. A stored time that is further in the future came
// from a clock that was wrong and has been corrected since.
const clockTolerance = time.Minute

// timeAfter returns two times by the warehouse's clock: now, and the version for a row that must replace stored rows.
// The version is now, or a millisecond after the newest of them if that is later (warehouse-9). newest is an aggregate
// of their versions, in microseconds since 1970. from is their table, with the condition that selects them.
func (p *pool) timeAfter(ctx context.Context, newest, from string, args ...any) (now, next time.Time, err error) {
	var us int64
	var stored uint64
	if err := p.conn.QueryRow(ctx, selectTimeAfter(newest, from), args...).Scan(&us, &stored); err != nil {
		return now, next, fmt.Errorf("asking the warehouse for the time: %w", err)
	}
	now = time.UnixMicro(us).UTC()
	return now, laterOf(now, stored), nil
}

// laterOf returns now, or the time a millisecond after a stored version if that is later.
func laterOf(now time.Time, stored uint64) time.Time {
	if next := time.UnixMicro(int64(stored)).UTC().Add(time.Millisecond); next.After(now) {
		return next
	}
	return now
}

// newestVersion is what timeAfter takes for tables whose versions are microseconds since 1970.
const newestVersion = "max(version)"

// newestTime returns what timeAfter takes for tables whose version is a column with a time.
func newestTime(column string) string {
	return "greatest(0, toUnixTimestamp64Micro(toDateTime64(max(" + column + "), 6, 'UTC')))"
}
