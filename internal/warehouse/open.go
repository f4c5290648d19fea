package warehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
)

// EmbeddedScheme begins the DSN of the embedded engine: embedded:<dir>.
const EmbeddedScheme = catalog.EmbeddedScheme

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
	// Downloading, if set, is called while the embedded engine is downloaded, with the percentage that is done.
	Downloading func(percent int)

	addresses []string // those of DSN that are to be used; none: all
}

// Warehouse is one database of one ClickHouse. It is safe for concurrent use.
//
// What only reads is done by its Reader, what makes and changes the schema by its migrator, and what is written for a
// run by a Writer, which knows the run. All of them send their statements over one pool.
type Warehouse struct {
	*pool
	migrator  migrator
	owner     owner
	sightings *sightings
	shards    *shards // nil if it is not divided
}

// Open prepares the connections. Nothing is sent to a server before Identify or the first statement; the embedded
// engine starts.
func Open(ctx context.Context, o Options) (*Warehouse, error) {
	if o.Database == "" {
		o.Database = catalog.DefaultDatabase
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.NoRetry:
		o.MaxRetryElapsed = 0
	case o.MaxRetryElapsed == 0:
		o.MaxRetryElapsed = catalog.DefaultMaxStatementRetry
	}
	if o.Backoff == 0 {
		o.Backoff = 200 * time.Millisecond
	}
	p := &pool{given: o, database: o.Database, log: o.Logger, metrics: o.Metrics, maxRetryElapsed: o.MaxRetryElapsed,
		lagTurn: lagTurn, backoff: o.Backoff}
	if o.Cluster != "" {
		p.dialect = replicatedDialect(o.Cluster, o.Database)
	}
	if strings.HasPrefix(o.DSN, EmbeddedScheme) {
		p.dialect.onCluster, p.dialect.alone = "", o.Cluster != "" // in tests with a Keeper: there is no other server
	}
	w := &Warehouse{pool: p, migrator: migrator{pool: p, told: new(sync.Once)}, owner: newOwner(),
		sightings: &sightings{now: time.Now}}
	if p.guest = o.Guest; p.guest != nil {
		p.guest.Name = w.owner.String()
	} else if dir, embedded := strings.CutPrefix(o.DSN, EmbeddedScheme); embedded {
		engine, err := chdb.Open(ctx, chdb.Options{Dir: dir, Logger: o.Logger, Limits: o.Limits,
			Downloading: o.Downloading, Shards: len(o.Shards), Restoring: o.Restoring, FewRows: o.FewRows,
			Claimed: o.Claimed, Stuck: o.Stuck})
		if err != nil {
			return nil, fmt.Errorf("opening the embedded warehouse: %w", err)
		}
		p.engine = engine
	}
	if err := p.connect(o); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the warehouse: %w", err), p.close())
	}
	if len(o.Shards) > 0 {
		if err := w.openParts(ctx, o); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return w, nil
}

// openParts opens the databases that are used as shards.
func (w *Warehouse) openParts(ctx context.Context, o Options) error {
	var all []*Warehouse
	for _, o.Database = range slices.Clone(o.Shards) {
		o.Shards, o.ViewsDatabase = nil, ""
		s, err := Open(ctx, o)
		if err != nil {
			return errors.Join(err, closeAll(all))
		}
		all = append(all, s)
	}
	w.join(all)
	w.dialect.cluster = chdb.OwnCluster
	return nil
}
