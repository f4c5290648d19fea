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

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
)

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
	if o.SigningKeyFile != "" {
		key, err := readSigningKey(o.SigningKeyFile)
		if err != nil {
			return nil, &ServerError{Problem: "warehouse.signing_key_file cannot be used", Advice: err.Error(), Err: err}
		}
		p.signing = key
	}
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
		engine, err := chdb.Open(ctx, chdb.Options{Dir: dir, Logger: o.Logger, Limits: o.Limits, LimitReaders: o.LimitReaders,
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

// divide opens the shards, each with those of the servers that are in it.
func (w *Warehouse) divide(ctx context.Context, number uint64, found Server) error {
	if found.copies > 0 {
		return &ServerError{Problem: fmt.Sprintf("database %s has the tables of a single shard, and the cluster %s has %d",
			w.database, w.dialect.cluster, number),
			Advice: "give warehouse.database another name, and bring everything there by `dealhouse copy`, or name a cluster of one shard"}
	}
	servers, err := w.serversOf(ctx, number)
	if err != nil {
		return err
	}
	if w.shards != nil {
		return nil
	}
	var all []*Warehouse
	for _, addresses := range servers {
		o := w.given
		o.Database, o.ViewsDatabase, o.addresses = shardDatabase(w.database), "", addresses
		s, err := Open(ctx, o)
		if err != nil {
			return errors.Join(err, closeAll(all))
		}
		all = append(all, s)
		if err := s.checkShard(ctx); err != nil {
			return errors.Join(err, closeAll(all))
		}
	}
	w.join(all)
	w.dialect.divided = true
	return w.reconnect()
}

// join makes one warehouse of several. The first one of them leads when their schema is changed.
func (w *Warehouse) join(all []*Warehouse) {
	w.shards = &shards{all: all}
	all[0].migrator.others = all[1:]
}

func closeAll(all []*Warehouse) (err error) {
	for _, w := range all {
		err = errors.Join(err, w.Close())
	}
	return err
}
