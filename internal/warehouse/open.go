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
	"github.com/prometheus/client_golang/prometheus"

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

// Metrics are the metrics that a warehouse has in a Prometheus registry. nil Metrics count nothing.
type Metrics struct {
	batches *prometheus.CounterVec
	staging *prometheus.HistogramVec
	held    *prometheus.GaugeVec
	retries prometheus.Counter
	died    prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	labels := []string{"account", "stream"}
	m := &Metrics{
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_staged_batches_total",
			Help: "Batches of rows that were staged, also by runs that failed later.",
		}, labels),
		staging: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "dealhouse_stage_duration_seconds",
			Help:    "Time that the warehouse took to accept one staged batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dealhouse_lease_held",
			Help: "1 while this process has the right to run the stream, else 0.",
		}, labels),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dealhouse_warehouse_retries_total",
			Help: "Statements that were sent to the warehouse again after a failure.",
		}),
	}
	m.died = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dealhouse_engine_restarts_total",
		Help: "Times that the process of the embedded engine ended by itself and was started anew.",
	})
	reg.MustRegister(m.batches, m.staging, m.held, m.retries, m.died)
	return m
}

// Expect exports a stream's series before anything has happened.
func (m *Metrics) Expect(account, stream string) {
	if m == nil {
		return
	}
	m.batches.WithLabelValues(account, stream)
	m.staging.WithLabelValues(account, stream)
	m.held.WithLabelValues(account, stream)
}

// EngineDied counts an end of the embedded engine that nobody asked for.
func (m *Metrics) EngineDied() {
	if m != nil {
		m.died.Inc()
	}
}

// Forget drops the series of a stream that is no longer loaded.
func (m *Metrics) Forget(account, stream string) {
	if m == nil {
		return
	}
	m.batches.DeleteLabelValues(account, stream)
	m.staging.DeleteLabelValues(account, stream)
	m.held.DeleteLabelValues(account, stream)
}

func (m *Metrics) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

func (m *Metrics) staged(r Run, took time.Duration) {
	if m == nil {
		return
	}
	m.batches.WithLabelValues(r.Account, r.Stream.Name).Inc()
	m.staging.WithLabelValues(r.Account, r.Stream.Name).Observe(took.Seconds())
}

func (m *Metrics) lease(l *Lease, held float64) {
	if m != nil {
		m.held.WithLabelValues(l.account, l.stream).Set(held)
	}
}
