package warehouse

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
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
	signing  ed25519.PrivateKey // nil: certificates are not signed
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

const selectVersion = "SELECT version()"

// selectTime asks for the warehouse's clock in microseconds, and selectTimeAfter also for the newest version of some
// rows.
const selectTime = "SELECT toUnixTimestamp64Micro(now64(6))"

func selectTimeAfter(newest, from string) string {
	return sql("SELECT toUnixTimestamp64Micro(now64(6)), toUInt64($newest) FROM $from",
		parts{"newest": newest, "from": from})
}

// replicas are the servers that the DSN names. The pool works with one of them, which stays the same while any run is
// under way: what a run has staged and prepared is on that server alone.
type replicas struct {
	addresses []string
	open      func(address string) ([]driver.Conn, error) // the connections to one of them, in the order of pinned
	pinned    []*pinned

	mu      sync.Mutex
	current int
	runs    int // under way
}

// Options say which warehouse to open.
type Options struct {
	// DSN is embedded:<dir>, clickhouse://user:password@host:9000, http:// or https://.
	DSN string
	// TLS are the certificates of connections to a server.
	TLS TLS
	// Cluster is the cluster on whose servers the tables are replicated; "": one server, or Cloud. If the cluster has
	// several shards, DSN names at least one server of each.
	Cluster string
	// Shards are databases of the one server at DSN. Each of them is used as a shard, for tests of what several shards
	// do. A cluster has shards of its own.
	Shards []string
	// Database is made by Migrate when it does not exist; default catalog.DefaultDatabase.
	Database string
	// ViewsDatabase is made by Migrate. It has nothing but the views that people query, each of which reads the same
	// view of Database; "": there is none.
	ViewsDatabase string
	Logger        *slog.Logger // default: none
	Metrics       *Metrics     // default: none
	// Wrap, if set, wraps each connection of the warehouse, for fault injection and tracing.
	Wrap func(driver.Conn) driver.Conn
	// MaxRetryElapsed is for how long a statement is tried again if it failed for a reason that may pass: a connection
	// that is lost, a server that is short of memory, a full disk. Default catalog.DefaultMaxStatementRetry.
	MaxRetryElapsed time.Duration
	// NoRetry says that no statement is tried again, whatever MaxRetryElapsed is.
	NoRetry bool
	// Backoff is about how long to wait before the second attempt; each further wait is twice as long, up to 10
	// seconds. Default 200ms.
	Backoff time.Duration
	// Limits bound what queries of the embedded engine may take. A server has its own.
	Limits chdb.Limits
	// LimitReaders says that the limits are for read-only queries alone.
	LimitReaders bool
	// Guest, if set, connects to the process that has the embedded engine of DSN open. The engine is then
	// not opened here.
	Guest *chdb.Guest
	// Claimed says that the process which started this one has claimed the folder for it, and Stuck is told of a statement
	// that the embedded engine does not end (chdb.Options).
	Claimed bool
	Stuck   func(chdb.Stuck)
	// Restoring says that the embedded engine is opened to be filled from a backup.
	Restoring bool
	// FewRows makes statements over few rows cheap in the embedded engine: for tests (chdb.Options).
	FewRows bool
	// SigningKeyFile is a PEM file with an Ed25519 private key. Certificates of runs are signed by it. "": they are not.
	SigningKeyFile string
	// Downloading, if set, is called while the embedded engine is downloaded, with the percentage that is done.
	Downloading func(percent int)

	addresses []string // those of DSN that are to be used; none: all
}

// Server describes a server. It is read before anything else is done with the server.
type Server struct {
	Version  string
	TimeZone string // of the server; no statement depends on it
	Cloud    bool   // ClickHouse Cloud, which replicates by itself

	shards uint64 // of the cluster; 1 or 0: it is not divided
	engine string // of the database; "" when there is none yet
	bare   uint64 // permanent tables whose engine does not replicate
	copies uint64 // tables whose engine does
	door   bool   // an embedded engine in another process (serve-warehouse), which hides these facts
}

// String returns the version, and what is unusual about the server: Cloud, several shards, or a time zone
// other than UTC.
func (s Server) String() string {
	text := s.Version
	if s.Cloud {
		text += " (Cloud)"
	}
	if s.shards > 1 {
		text += fmt.Sprintf(", %d shards", s.shards)
	}
	if s.TimeZone != "UTC" && s.TimeZone != "" {
		text += ", time zone " + s.TimeZone
	}
	return text
}

// EmbeddedScheme begins the DSN of the embedded engine: embedded:<dir>.
const EmbeddedScheme = catalog.EmbeddedScheme

// TLS are the files, in PEM, of connections to a server. All may be empty.
type TLS struct {
	CAFile   string // authorities that are trusted beside those of the system
	CertFile string // of this client, with its chain
	KeyFile  string // of that certificate
}
