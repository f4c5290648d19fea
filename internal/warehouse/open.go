package warehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/chdb"
)

// EmbeddedScheme begins the DSN of the embedded engine: embedded:<dir>.
const EmbeddedScheme = "embedded:"

// Options say which warehouse to open.
type Options struct {
	// DSN is embedded:<dir>, clickhouse://user:password@host:9000, http:// or https://.
	DSN string
	// Database is made by Migrate when it does not exist; default "dealhouse".
	Database string
	Logger   *slog.Logger // default: none
	Metrics  *Metrics     // default: none
	// Wrap stands between the warehouse and each of its connections: the seam for fault injection and tracing. nil
	// means nothing in between.
	Wrap func(driver.Conn) driver.Conn
	// MaxRetryElapsed is how long a statement is tried again that failed for a reason that may pass: a connection that is
	// lost, a server that is short of memory, a full disk. Default DefaultMaxRetryElapsed; negative: no second attempt.
	MaxRetryElapsed time.Duration
	// Backoff is about how long to wait before the second attempt; each further wait is twice as long, up to 10 seconds.
	// Default 200ms.
	Backoff time.Duration
	// Limits bound what queries of the embedded engine may take. A server has its own.
	Limits chdb.Limits
	// Downloading, if set, is told how much of the embedded engine has been downloaded, in percent, if it has to be.
	Downloading func(percent int)
}

// Warehouse is a connection pool to one database of one ClickHouse. It is safe for concurrent use.
type Warehouse struct {
	conn      driver.Conn // in Database
	admin     driver.Conn // in the server's default database, to make Database
	readOnly  driver.Conn // refuses whatever writes
	engine    *chdb.Engine
	database  string
	owner     owner
	sightings *sightings
	log       *slog.Logger
	metrics   *Metrics

	maxRetryElapsed time.Duration
	backoff         time.Duration
	retries         atomic.Uint64
	counted         sync.Map // of a StreamID, the uuid.UUID of the run after whose first rejects those of others were counted
}

// Open prepares the connections. Nothing is sent to a server before the first statement; the embedded engine starts.
func Open(ctx context.Context, o Options) (*Warehouse, error) {
	if o.Database == "" {
		o.Database = "dealhouse"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRetryElapsed == 0 {
		o.MaxRetryElapsed = DefaultMaxRetryElapsed
	}
	if o.Backoff == 0 {
		o.Backoff = 200 * time.Millisecond
	}
	w := &Warehouse{
		database: o.Database, owner: newOwner(), sightings: &sightings{now: time.Now}, log: o.Logger, metrics: o.Metrics,
		maxRetryElapsed: o.MaxRetryElapsed, backoff: o.Backoff,
	}
	options := w.serverOptions
	if dir, embedded := strings.CutPrefix(o.DSN, EmbeddedScheme); embedded {
		engine, err := chdb.Open(ctx, chdb.Options{Dir: dir, Logger: o.Logger, Limits: o.Limits, Downloading: o.Downloading})
		if err != nil {
			return nil, fmt.Errorf("opening the embedded warehouse: %w", err)
		}
		w.engine = engine
		options = w.embeddedOptions
	}
	for _, c := range []struct {
		to       *driver.Conn
		database string
		readOnly bool
	}{{&w.conn, o.Database, false}, {&w.admin, "default", false}, {&w.readOnly, o.Database, true}} {
		opts, err := options(o.DSN, c.database, c.readOnly)
		if err == nil {
			*c.to, err = clickhouse.Open(opts)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the warehouse: %w", err), w.Close())
		}
		if o.Wrap != nil {
			*c.to = o.Wrap(*c.to)
		}
		if !c.readOnly { // there, a person waits for the answer
			*c.to = patient{*c.to, w}
		}
	}
	return w, nil
}

func (w *Warehouse) embeddedOptions(_, database string, readOnly bool) (*clickhouse.Options, error) {
	if readOnly {
		return w.engine.ReadOnlyOptions(database), nil
	}
	return w.engine.ClickHouseOptions(database), nil
}

func (w *Warehouse) serverOptions(dsn, database string, readOnly bool) (*clickhouse.Options, error) {
	opts, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("the DSN is not understood: write clickhouse://user:password@host:9000 or https://user:password@host:8443") // the parser's error may show the password
	}
	opts.Auth.Database = database
	if opts.Settings == nil {
		opts.Settings = clickhouse.Settings{}
	}
	opts.Settings["enable_shared_storage_snapshot_in_query"] = 1 // the default of 25.12 and later (warehouse-12)
	if readOnly {
		opts.Settings["readonly"] = 2
	}
	opts.DialTimeout = max(opts.DialTimeout, 10*time.Second)
	opts.ReadTimeout = max(opts.ReadTimeout, 30*time.Minute) // a merge of millions of rows answers when it is done
	opts.MaxOpenConns = max(opts.MaxOpenConns, 16)
	return opts, nil
}

// Close closes the connections and, when no one else uses it, the embedded engine. It may be called twice.
func (w *Warehouse) Close() error {
	var errs []error
	for _, c := range []driver.Conn{w.conn, w.admin, w.readOnly} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if w.engine != nil {
		errs = append(errs, w.engine.Close())
	}
	return errors.Join(errs...)
}

// Engine is the embedded engine, or nil when the warehouse is a server.
func (w *Warehouse) Engine() *chdb.Engine { return w.engine }

// Database is the name of the database.
func (w *Warehouse) Database() string { return w.database }

// Conn is the connection for statements of other packages, in Database. Of these, queries are tried again when the
// warehouse cannot do them for the moment, and statements that write are not.
func (w *Warehouse) Conn() driver.Conn { return w.conn }

// ReadOnly is a connection that refuses whatever writes.
func (w *Warehouse) ReadOnly() driver.Conn { return w.readOnly }

// Embedded reports whether it is an engine in this process: no other process can open it meanwhile.
func (w *Warehouse) Embedded() bool { return w.engine != nil }

// Ping asks the server for its version.
func (w *Warehouse) Ping(ctx context.Context) (version string, err error) {
	if err := w.admin.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		return "", fmt.Errorf("asking the warehouse for its version: %w", err)
	}
	return version, nil
}

// Now is the warehouse's clock, in UTC with microseconds. Where two hosts must agree on a time, it is this one.
func (w *Warehouse) Now(ctx context.Context) (time.Time, error) {
	var us int64
	if err := w.conn.QueryRow(ctx, "SELECT toUnixTimestamp64Micro(now64(6))").Scan(&us); err != nil {
		return time.Time{}, fmt.Errorf("asking the warehouse for the time: %w", err)
	}
	return time.UnixMicro(us).UTC(), nil
}

// IsAuth reports whether the warehouse refused the credentials.
func IsAuth(err error) bool {
	var e *clickhouse.Exception
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 192, 193, 194, 497, 516: // UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, ACCESS_DENIED, AUTHENTICATION_FAILED
		return true
	}
	return false
}
