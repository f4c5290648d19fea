package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
)

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

// toAdmin is the index of the connection that needs no database: before the first migration there is none.
const toAdmin = 1

// serverTimeout is how long a server may take to say that it is there.
const serverTimeout = 30 * time.Second

// address returns the address of the server that the pool works with.
func (r *replicas) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addresses[r.current]
}

// addRun counts a run, which pins the server.
func (r *replicas) addRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs++
}

// removeRun notes the end of a run.
func (r *replicas) removeRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs--
}

// choose switches to the next server that answers, if the current one does not and no run is under way.
func (p *pool) choose(ctx context.Context) error {
	r := p.replicas
	if r == nil || len(r.addresses) < 2 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs > 0 {
		return nil // an answer that does not come fails this run, and not those under way
	}
	var errs []error
	for i := range r.addresses {
		next := (r.current + i) % len(r.addresses)
		err := r.moveTo(ctx, next)
		if err == nil {
			if i > 0 {
				p.log.Warn("a server does not answer: using another one", "server", r.addresses[next], "error",
					brief(errors.Join(errs...)))
			}
			return nil
		}
		if !isConnection(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// moveTo switches to a server, if it answers.
func (r *replicas) moveTo(ctx context.Context, next int) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if next == r.current {
		return r.pinned[toAdmin].Ping(ctx)
	}
	conns, err := r.open(r.addresses[next])
	if err != nil {
		return err
	}
	if err := conns[toAdmin].Ping(ctx); err != nil {
		for _, c := range conns {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	r.current = next
	var errs []error
	for i, c := range conns {
		errs = append(errs, (*r.pinned[i].to.Swap(&c)).Close())
	}
	return errors.Join(errs...)
}

// published returns the tables of a stream that a run is compared with.
func published(s *catalog.Stream) []string {
	tables := []string{latestTable(s)}
	if s.History {
		tables = append(tables, versionsTable(s))
	}
	if s.Child != nil {
		tables = append(tables, childLatest(s), childHashes(s))
	}
	return append(tables, derivedNames(s)...)
}

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

// Role is who uses a warehouse, and for what.
type Role string

// The roles, each with the rights of its own work.
const (
	Loader   Role = "loader"   // runs streams
	Migrator Role = "migrator" // makes the schema and brings it up to date
	Visitor  Role = "reader"   // asks the views
)

// grants are rights on something. on returns what that is, with the name of the database.
type grants struct {
	on     func(p *pool) string
	rights []string
}

func onDatabase(p *pool) string   { return "`" + p.database + "`.*" }
func onShard(p *pool) string      { return "`" + shardDatabase(p.database) + "`.*" }
func onViews(p *pool) string      { return "`" + p.given.ViewsDatabase + "`.*" }
func onParameters(p *pool) string { return "`" + withParameters(p.given.ViewsDatabase) + "`.*" }
func onServer(*pool) string       { return "*.*" }
func onLocal(p *pool) string      { return "`" + p.dialect.local() + "`.*" }

// grantsOf returns the rights that a role needs.
func (p *pool) grantsOf(role Role) []grants {
	if p.given.ViewsDatabase == "" {
		return p.grantsOnTables(role)
	}
	switch {
	case role == Migrator:
		rights := []string{"SELECT", "CREATE", "DROP"}
		return append(p.grantsOnTables(role), grants{onViews, rights}, grants{onParameters, rights})
	case role == Visitor && !p.dialect.divided:
		return []grants{{onViews, []string{"SELECT"}}, {onParameters, []string{"SELECT"}}}
	}
	return append(p.grantsOnTables(role), grants{onViews, []string{"SELECT"}}, grants{onParameters, []string{"SELECT"}})
}

// grantsOnTables returns the rights that a role needs if the warehouse has no database of views.
func (p *pool) grantsOnTables(role Role) []grants {
	if p.dialect.divided {
		return overShards(role)
	}
	switch role {
	case Visitor:
		return []grants{{onDatabase, []string{"SELECT"}}}
	case Migrator:
		all := []grants{{onDatabase, []string{"SELECT", "INSERT", "CREATE", "DROP", "ALTER", "TRUNCATE", "OPTIMIZE"}}}
		if p.dialect.cluster != "" {
			all = append(all, grants{onLocal, []string{"CREATE"}}, grants{onServer, []string{"CLUSTER"}})
		}
		return all
	}
	// Attaching a part to a table needs the right to delete from it.
	all := []grants{{onDatabase, []string{"SELECT", "INSERT", "ALTER DELETE"}}}
	ofRuns := grants{onDatabase, []string{"CREATE TABLE", "DROP TABLE", "OPTIMIZE"}}
	if p.dialect.cluster != "" {
		ofRuns = grants{onLocal, append([]string{"SELECT", "INSERT"}, ofRuns.rights...)}
	}
	all = append(all, ofRuns)
	if p.dialect.syncs() {
		all = append(all, grants{onDatabase, []string{"SYSTEM SYNC REPLICA"}})
	}
	return all
}

// overShards returns the rights on the tables over all shards. These query the tables of each shard as the same user.
func overShards(role Role) []grants {
	switch role {
	case Visitor:
		return []grants{{onDatabase, []string{"SELECT"}}, {onShard, []string{"SELECT"}}}
	case Migrator:
		return []grants{{onDatabase, []string{"SELECT", "CREATE", "DROP"}}, {onServer, []string{"CLUSTER"}},
			{onServer, []string{"REMOTE"}}}
	}
	return []grants{{onDatabase, []string{"SELECT"}}}
}

// MissingGrants tries each right that a role needs, and returns the statements that give the missing ones to the user.
func (w *Warehouse) MissingGrants(ctx context.Context, role Role) (statements []string, err error) {
	if w.server.door {
		return nil, nil // it has no grants
	}
	if w.shards != nil && role != Visitor {
		for _, s := range w.shards.all {
			more, err := s.MissingGrants(ctx, role)
			if err != nil {
				return nil, err
			}
			statements = append(statements, more...)
		}
	}
	for _, g := range w.grantsOf(role) {
		var missing []string
		for _, right := range g.rights {
			var has uint8
			if err := w.admin.QueryRow(ctx, checkGrant(right, g.on(w.pool))).Scan(&has); err != nil {
				return nil, fmt.Errorf("asking for the right to %s: %w", right, err)
			}
			if has == 0 {
				missing = append(missing, right)
			}
		}
		if len(missing) > 0 {
			statements = append(statements, giveRights(missing, g.on(w.pool)))
		}
	}
	return statements, nil
}

// TrySettings sends a statement that does nothing, with the settings of the statements that write. So a user who may
// not change one of these settings learns it before a run depends on it: IsSettingRefused is true of the error.
func (w *Warehouse) TrySettings(ctx context.Context) error {
	settings := clickhouse.Settings{"insert_deduplication_token": "", "optimize_on_insert": 0,
		"optimize_throw_if_noop": 1,
		"receive_timeout":        int(lagTurn.Seconds())}
	for _, more := range []clickhouse.Settings{w.dialect.insertSettings(), w.dialect.mergeSettings(), deltaSettings,
		joinSettings(0), nullsEqual} {
		maps.Copy(settings, more)
	}
	var one uint8
	return w.admin.QueryRow(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), trySettings).Scan(&one)
}
