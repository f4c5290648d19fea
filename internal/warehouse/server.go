package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
)

// Server returns what Identify has found.
func (p *pool) Server() Server { return p.server }

// ServerError says that the server, or how it is set up, does not fit. Trying again does not help.
type ServerError struct {
	Problem string
	Advice  string // what to do
	Err     error  // may be nil
}

func (e *ServerError) Error() string { return e.Problem + ": " + e.Advice }
func (e *ServerError) Unwrap() error { return e.Err }

func (w *Warehouse) identify(ctx context.Context) (Server, error) {
	if w.Embedded() {
		version, err := w.Ping(ctx)
		w.server = Server{Version: version}
		return w.server, err
	}
	if err := w.choose(ctx); err != nil {
		return Server{}, w.explain(ctx, err)
	}
	s, err := w.ask(ctx)
	if err == nil {
		err = s.fits(w.database, w.dialect, len(w.replicas.addresses))
	}
	var c cluster
	if err == nil && w.dialect.cluster != "" {
		c, err = w.checkCluster(ctx)
	}
	if err == nil && c.shards > 1 {
		s.shards = c.shards
		err = w.divide(ctx, c.shards, s)
	}
	if err == nil && !s.Cloud {
		s.door, err = w.checkAddress(ctx)
	}
	if err != nil {
		return s, w.explain(ctx, err)
	}
	w.server = s
	if s.Cloud {
		w.dialect = cloudDialect(w.dialect)
		return s, w.reconnect()
	}
	return s, w.countReplicas(c)
}

// countReplicas connects again if the settings of the connections are for another number of replicas.
func (p *pool) countReplicas(c cluster) error {
	if alone := c.replicas == 1; p.dialect.cluster != "" && !p.dialect.divided && alone != p.dialect.alone {
		p.dialect.alone = alone
		return p.reconnect()
	}
	return nil
}

// ask reads the facts about the server. A server that does not understand the question may be too old to be of use.
func (p *pool) ask(ctx context.Context) (s Server, err error) {
	err = p.admin.QueryRow(ctx, selectServer, named("database", p.database)).Scan(&s.Version, &s.TimeZone, &s.Cloud,
		&s.engine, &s.bare, &s.copies)
	if err == nil || isConnection(err) || IsAuth(err) {
		return s, err
	}
	if version, known := p.bareVersion(ctx); known && isOlder(version, MinimumVersion) {
		return Server{Version: version}, tooOld(version)
	}
	return s, err
}

// fits returns an error that says why the server cannot be used.
func (s Server) fits(database string, d dialect, addresses int) error {
	switch {
	case isOlder(s.Version, MinimumVersion):
		return tooOld(s.Version)
	case s.Cloud && d.cluster != "":
		return &ServerError{Problem: "the server is ClickHouse Cloud, which replicates by itself",
			Advice: "leave warehouse.cluster empty"}
	case s.Cloud:
		return nil
	case s.engine == "Replicated":
		return &ServerError{Problem: "database " + database +
			" has the engine Replicated, in which tables of plain engines are not replicated",
			Advice: "give warehouse.database another name, which is created with the engine Atomic, and set warehouse.cluster"}
	case s.engine != "" && s.engine != "Atomic":
		return &ServerError{Problem: "database " + database + " has the engine " + s.engine,
			Advice: "give warehouse.database another name, which is created with the engine Atomic"}
	case d.cluster == "" && addresses > 1:
		return &ServerError{Problem: "warehouse.dsn names several servers, which do not replicate each other",
			Advice: "set warehouse.cluster to the name of their cluster, or name one server"}
	case d.cluster != "" && s.bare > 0:
		return &ServerError{Problem: fmt.Sprintf("%d tables of database %s are not replicated, and warehouse.cluster is set",
			s.bare, database),
			Advice: "give warehouse.database another name, and bring everything there by `dealhouse copy`, or leave warehouse.cluster empty"}
	case d.cluster == "" && s.copies > 0:
		return &ServerError{Problem: fmt.Sprintf("%d tables of database %s are replicated, and warehouse.cluster is not set",
			s.copies, database),
			Advice: "set warehouse.cluster to the name of the cluster"}
	}
	return nil
}

// checkCluster returns an error unless the cluster exists and the server knows its place in it.
func (p *pool) checkCluster(ctx context.Context) (c cluster, err error) {
	name := p.dialect.cluster
	if err := p.admin.QueryRow(ctx, selectCluster, named("cluster", name)).Scan(&c.shards, &c.others, &c.macros,
		&c.replicas); err != nil {
		return c, fmt.Errorf("asking for the cluster %s: %w", name, err)
	}
	if c.shards == 0 {
		return c, &ServerError{Problem: "the server knows no cluster " + name,
			Advice: "set warehouse.cluster to one of system.clusters: " + strings.Join(c.others, ", ")}
	}
	for _, macro := range []string{"shard", "replica"} {
		if !slices.Contains(c.macros, macro) {
			return c, &ServerError{Problem: "the server has no macro {" + macro + "}",
				Advice: "replicated tables need the macros {shard} and {replica} in the server's configuration, with another {replica} on each server"}
		}
	}
	return c, nil
}

// connections is how many new connections are asked which server they reach.
const connections = 4

// checkAddress returns an error if several servers answer at the address: what one statement of a run writes, the next
// one must find. The door of an embedded engine does not say which server it is, but it is a single one.
func (p *pool) checkAddress(ctx context.Context) (door bool, err error) {
	ids := make([]string, connections)
	errs := make([]error, connections)
	var group sync.WaitGroup
	for i := range connections {
		group.Go(func() { ids[i], errs[i] = p.askID(ctx) })
	}
	group.Wait()
	if IsDenied(errs[0]) { // ClickHouse itself lets everybody ask for serverUUID(), so this is a door
		return true, nil
	}
	if err := errors.Join(errs...); err != nil {
		return false, fmt.Errorf("asking which server answers: %w", err)
	}
	if slices.ContainsFunc(ids, func(id string) bool { return id != ids[0] }) {
		return false, &ServerError{Problem: "several servers answer at the address: it belongs to a load balancer",
			Advice: "name the servers themselves in warehouse.dsn, separated by commas: a run must find on a server what it wrote to it"}
	}
	return false, nil
}

// askID asks over a connection of its own which server it reaches.
func (p *pool) askID(ctx context.Context) (id string, err error) {
	conn, err := p.dial()
	if err != nil {
		return "", err
	}
	err = retryingConn{conn, p}.QueryRow(ctx, selectServerID).Scan(&id)
	return id, errors.Join(err, conn.Close())
}

// dial opens a connection to the server that the pool works with.
func (p *pool) dial() (driver.Conn, error) { return p.dialTo(p.address()) }

// dialTo opens a connection to one of the servers.
func (p *pool) dialTo(address string) (driver.Conn, error) {
	opts, err := p.options("default", false)
	if err != nil {
		return nil, err
	}
	opts.Addr, opts.MaxOpenConns, opts.MaxIdleConns = []string{address}, 1, 1
	return clickhouse.Open(opts)
}

// selectServer asks a server what it is: its version, its time zone, whether it is Cloud, the engine of the database,
// how many of the permanent tables are not replicated, and how many are.
const selectServer = `SELECT version(), timezone(),
    toBool((SELECT count() FROM system.settings WHERE name = 'cloud_mode' AND value = '1')),
    (SELECT any(engine) FROM system.databases WHERE name = {database:String}),
    (SELECT count() FROM system.tables
    WHERE database = {database:String} AND match(name, '_(latest|versions|log)$')
        AND NOT startsWith(engine, 'Replicated') AND match(engine, 'MergeTree')),
    (SELECT count() FROM system.tables WHERE database = {database:String} AND match(name, '_(latest|versions|log)$') AND startsWith(engine, 'Replicated'))`

// selectServerID asks which of several servers answers.
const selectServerID = "SELECT toString(serverUUID())"

// selectCluster asks how many shards a cluster has, what other clusters there are, which macros the server has, and how
// many replicas its shard has; 0 if it does not find itself.
const selectCluster = `SELECT (SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String}),
    (SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters), (SELECT groupArray(macro) FROM system.macros),
    ` + replicasOfShard

// replicasOfShard counts the replicas of the shard that the server is in.
const replicasOfShard = `(SELECT count() FROM system.clusters
    WHERE cluster = {cluster:String}
        AND shard_num IN (SELECT shard_num FROM system.clusters WHERE cluster = {cluster:String} AND is_local))`

// selectShard asks a server for the number of its shard; 0: it does not find itself in the cluster, or in several
// shards.
const selectShard = `SELECT if(uniqExact(shard_num) = 1, toUInt64(any(shard_num)), 0) FROM system.clusters WHERE cluster = {cluster:String} AND is_local`

// selectAccounts lists the accounts that have anything.
const selectAccounts = "SELECT DISTINCT toString(account) FROM sync_state_log"

// selectAccountsOf lists the accounts that have anything of a stream. Parameter: stream.
func selectAccountsOf(s *catalog.Stream) string {
	return sql(`SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM $latest
)
ORDER BY account`, parts{"latest": latestTable(s)})
}

// syncReplica waits until a replica has what the others had when it was asked.
func syncReplica(table string) string {
	return sql("SYSTEM SYNC REPLICA $table LIGHTWEIGHT", parts{"table": table})
}

// LagError says that the server lacks what other servers have published, and did not get it in time. Nothing was
// changed.
type LagError struct {
	Table  string
	Server string // address; "" for the embedded engine
	Waited time.Duration
	Err    error // what the server said last
}

func (e *LagError) Error() string {
	server := "the server"
	if e.Server != "" {
		server += " " + e.Server
	}
	return fmt.Sprintf("%s lags behind the other replicas: after %s it still lacks what they have of %s. Nothing was changed, and the next run tries again. "+
		"Look at last_exception in system.replication_queue there, and check whether it reaches the others (system.replicas)", server,
		e.Waited.Round(time.Second), e.Table)
}

// Unwrap is what the server said.
func (e *LagError) Unwrap() error { return e.Err }

// A run waits five minutes for its replica, in several turns. So no proxy takes the connection for dead meanwhile, and
// a worker that is told to end leaves no statement behind that waits for longer than one turn.
const (
	lagTurn  = 20 * time.Second
	lagTurns = 15
)

// codeTimeout is the answer of a server that has waited for as long as it was asked to.
const codeTimeout = 159

// catchUp waits until the server has what others have published to tables, or returns a *LagError.
func (p *pool) catchUp(ctx context.Context, tables ...string) error {
	if !p.dialect.syncs() {
		return nil
	}
	for _, table := range tables {
		if err := p.catchUpOne(ctx, table); err != nil {
			return fmt.Errorf("waiting for what other servers have of %s: %w", table, err)
		}
	}
	return nil
}

func (p *pool) catchUpOne(ctx context.Context, table string) error {
	statement := syncReplica(table)
	for waited := time.Duration(0); ; {
		limited := clickhouse.Context(ctx,
			clickhouse.WithSettings(clickhouse.Settings{"receive_timeout": int(p.lagTurn.Seconds())}))
		err := p.retry(limited, statement, func() error { return p.conn.Exec(limited, statement) })
		if !hasCode(err, codeTimeout) || ctx.Err() != nil {
			return err
		}
		if waited += p.lagTurn; waited >= lagTurns*p.lagTurn {
			return &LagError{Table: table, Server: p.address(), Waited: waited, Err: err}
		}
		p.log.Warn("the server is behind the other replicas: waiting", "table", table, "waited", waited)
	}
}

// bareVersion asks for the version in a way that the oldest servers understand: with no setting, and without what the
// driver asks first over HTTP.
func (p *pool) bareVersion(ctx context.Context) (version string, known bool) {
	opts, err := p.options("default", false)
	if err != nil {
		return "", false
	}
	if opts.Protocol != clickhouse.HTTP {
		v, err := p.admin.ServerVersion() // of the greeting
		if err != nil {
			return "", false
		}
		return fmt.Sprintf("%d.%d.%d", v.Version.Major, v.Version.Minor, v.Version.Patch), true
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	to := url.URL{Scheme: language{http: true, tls: opts.TLS != nil}.scheme(), Host: p.address(),
		Path: "/" + strings.TrimPrefix(opts.HttpUrlPath, "/")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(selectVersion))
	if err != nil {
		return "", false
	}
	req.Header.Set("X-ClickHouse-User", opts.Auth.Username)
	req.Header.Set("X-ClickHouse-Key", opts.Auth.Password)
	answer, err := (&http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: opts.TLS,
		DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, longestVersion))
	return strings.TrimSpace(string(text)), err == nil && answer.StatusCode == http.StatusOK
}

// explain returns an error that says what to do about a server that does not answer as it should. An answer of the
// server itself, or an error that is clear already, is returned unchanged.
func (p *pool) explain(ctx context.Context, err error) error {
	if fit, ok := errors.AsType[*ServerError](err); ok {
		return fit
	}
	if IsSettingRefused(err) {
		return &ServerError{Problem: "the user may not change settings that this program depends on", Err: err,
			Advice: fmt.Sprintf("remove the constraint, or give the user a profile that is not readonly: %s",
				brief(err))}
	}
	if IsDenied(err) {
		return &ServerError{Problem: "the user may not read the server's version and settings", Err: err,
			Advice: fmt.Sprintf("grant it SELECT on what this names, of the database system: %s", brief(err))}
	}
	if failure, known := ofCertificate(err); known {
		return &failure
	}
	if _, answered := errors.AsType[*clickhouse.Exception](err); answered || ctx.Err() != nil {
		return err
	}
	opts, failed := p.options("default", false)
	if failed != nil {
		return err
	}
	asked := language{opts.Protocol == clickhouse.HTTP, opts.TLS != nil}
	spoken, heard := listen(ctx, p.address())
	if failure, known := ofCertificate(heard); known {
		return &failure
	}
	if heard != nil || spoken == asked {
		return err
	}
	return &ServerError{Problem: fmt.Sprintf("the port of %s speaks %s, and warehouse.dsn asks for %s", p.address(),
		spoken, asked), Err: err,
		Advice: fmt.Sprintf("begin it with %s://, or give the port for %s (ClickHouse listens on 9000 for clickhouse://, 9440 for clickhouses://, 8123 for http:// and 8443 for https://)",
			spoken.scheme(), asked)}
}

func tooOld(version string) error {
	return &ServerError{Problem: "the server is ClickHouse " + version,
		Advice: "this program needs " + MinimumVersion + " or later: upgrade the server"}
}

// longestVersion is more bytes than any version has.
const longestVersion = 100
