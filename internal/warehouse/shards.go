package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// shards are the warehouses of a cluster of several shards, in the order of the cluster. Each has whole accounts
// (warehouse-18).
type shards struct {
	all  []*Warehouse
	home map[string]int // of the accounts that have anything, the index of their shard
}

// shardDatabase returns the name of the database of each shard. The database that is configured has the tables
// over all of them.
func shardDatabase(database string) string { return database + "_shard" }

// At returns the warehouse in which an account lives: one of several shards, or w itself if there is only one.
// Everything about a single account is done there. For an account that has nothing yet, the shard follows from its name
// (homeOf), so that all processes choose the same one.
func (w *Warehouse) At(account string) *Warehouse {
	if w.shards == nil {
		return w
	}
	home, known := w.shards.home[account]
	if !known {
		home = homeOf(account, len(w.shards.all))
	}
	return w.shards.all[home]
}

// Shards returns the number of shards: 1 if the warehouse is not divided.
func (w *Warehouse) Shards() int { return len(w.each()) }

// each returns the warehouses that have rows: those of the shards, or w itself.
func (w *Warehouse) each() []*Warehouse {
	if w.shards == nil {
		return []*Warehouse{w}
	}
	return w.shards.all
}

// common returns the warehouse of rows that belong to no single account. Of several shards it is always the same one.
func (w *Warehouse) common() *Warehouse { return w.At("") }

// homeOf returns the index of the shard for a name. If a shard is added, most names keep theirs.
func homeOf(account string, shards int) (home int) {
	highest := ""
	for i := range shards {
		if rank := hash(account, strconv.Itoa(i)); rank > highest {
			highest, home = rank, i
		}
	}
	return home
}

// Close closes the connections and, when no one else uses it, the embedded engine. It may be called twice.
func (w *Warehouse) Close() error {
	err := w.close()
	if w.shards != nil {
		for _, s := range w.shards.all {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// divide opens the shards, each with those of the servers that are in it.
func (w *Warehouse) divide(ctx context.Context, number uint64, found Server) error {
	if found.copies > 0 {
		return &ServerError{Problem: fmt.Sprintf("database %s has the tables of a single shard, and the cluster %s has %d",
			w.database, w.dialect.cluster, number),
			Advice: "give warehouse.database another name and load everything again, or name a cluster of one shard"}
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

// checkShard returns an error if the server of a shard cannot be used.
func (w *Warehouse) checkShard(ctx context.Context) error {
	if err := w.choose(ctx); err != nil {
		return w.explain(ctx, err)
	}
	s, err := w.ask(ctx)
	if err == nil {
		err = s.fits(w.database, w.dialect, len(w.replicas.addresses))
	}
	var c cluster
	if err == nil {
		c, err = w.checkCluster(ctx)
	}
	if err != nil {
		return w.explain(ctx, err)
	}
	w.server = s
	return w.countReplicas(c)
}

// serversOf asks each server in which shard it is, and returns the addresses by shard. A server that does not answer is
// left out for as long as the program runs, if another one of its shard answers.
func (w *Warehouse) serversOf(ctx context.Context, number uint64) ([][]string, error) {
	servers := make([][]string, number)
	var silent []string
	for _, address := range w.replicas.addresses {
		shard, err := w.shardOf(ctx, address)
		if isConnection(err) {
			silent = append(silent, address)
			w.log.Warn("a server does not answer: continuing without it", "server", address, "error", brief(err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("asking %s in which shard it is: %w", address, err)
		}
		if shard == 0 || shard > number {
			return nil, &ServerError{Problem: fmt.Sprintf("the server %s does not find itself in the cluster %s",
				address, w.dialect.cluster),
				Advice: "list it in remote_servers of its own configuration under its own host name and port"}
		}
		servers[shard-1] = append(servers[shard-1], address)
	}
	for i, addresses := range servers {
		if len(addresses) == 0 {
			if len(silent) > 0 {
				return nil, fmt.Errorf("no server of shard %d of the cluster %s answers: %s: %w",
					i+1, w.dialect.cluster, strings.Join(silent, ", "), errShardUnreachable)
			}
			return nil, &ServerError{Problem: fmt.Sprintf("warehouse.dsn names no server of shard %d of the cluster %s",
				i+1, w.dialect.cluster),
				Advice: "name at least one server of each shard, separated by commas"}
		}
	}
	return servers, nil
}

// errShardUnreachable says that a shard cannot be reached for the moment: trying again may help.
var errShardUnreachable = errors.New("start the server, or try again")

// shardOf asks a server for the number of its shard; 0: it is in none.
func (w *Warehouse) shardOf(ctx context.Context, address string) (shard uint64, err error) {
	conn, err := w.dialTo(address)
	if err != nil {
		return 0, err
	}
	err = retryingConn{conn, w.pool}.QueryRow(ctx, selectShard, named("cluster", w.dialect.cluster)).Scan(&shard)
	return shard, errors.Join(err, conn.Close())
}

// learn finds out on which shard each account lives.
func (w *Warehouse) learn(ctx context.Context) error {
	home := map[string]int{}
	for i, s := range w.shards.all {
		rows, err := s.conn.Query(ctx, selectAccounts)
		if IsMissing(err) {
			continue // its tables are still to be made
		}
		accounts, err := scanned(rows, err, only[string])
		if err != nil {
			return fmt.Errorf("asking shard %d which accounts it has: %w", i+1, err)
		}
		for _, account := range accounts {
			if other, twice := home[account]; twice {
				return &ServerError{Problem: fmt.Sprintf("account %s is on shard %d and on shard %d",
					account, other+1, i+1),
					Advice: "two workers did not agree on the shards: stop them, and drop its rows on one of them (deploy/SERVERS.md)"}
			}
			home[account] = i
		}
	}
	w.shards.home = home
	return nil
}

// Identify asks the server what it is, and returns a *ServerError if the program cannot work with it. It comes
// before anything that writes, since how tables are made follows from the answer. The embedded engine is only asked
// for its version.
func (w *Warehouse) Identify(ctx context.Context) (Server, error) {
	s, err := w.identify(ctx)
	if err == nil && w.shards != nil {
		err = w.learn(ctx)
	}
	return s, err
}

// What is written about an account is written where it lives.

// SaveRun writes the run's row; a later write replaces an earlier one.
func (w *Warehouse) SaveRun(ctx context.Context, r RunRecord) error {
	return w.At(r.Account).saveRun(ctx, r)
}

// BeginRun writes the row of a run that has none yet.
func (w *Warehouse) BeginRun(ctx context.Context, r RunRecord) error {
	return w.At(r.Account).beginRun(ctx, r)
}

// RecordAction adds an action, with the time of the warehouse, and returns it as it is stored.
func (w *Warehouse) RecordAction(ctx context.Context, a Action) (Action, error) {
	return w.At(a.Account).recordAction(ctx, a)
}

// Consent returns the consent of an operator to what a run of a stream is about to delete, or nil if there is none:
// see consent.
func (w *Warehouse) Consent(ctx context.Context, id StreamID, run uuid.UUID, deletes uint64,
	only bool) (*Action, error) {
	return w.At(id.Account).consent(ctx, id, run, deletes, only)
}

// UnknownReferences returns keys that rows of an account name, and of which nothing is known: see unknownReferences.
func (w *Warehouse) UnknownReferences(ctx context.Context, account string, from *catalog.Stream, to []*catalog.Stream,
	retry time.Duration, limit int) ([]Reference, error) {
	return w.At(account).unknownReferences(ctx, account, from, to, retry, limit)
}

// Dictionary describes every view and its columns.
func (w *Warehouse) Dictionary(ctx context.Context) ([]View, error) {
	return w.common().dictionary(ctx)
}

// The database that is configured has, for each view and each table of the shards, a table over all shards under the
// same name. It also has the views with parameters, made by the same statements. One more view, unionMark, says what
// these were made for: as in warehouse-17, a binary replaces only what an older one has made.

// unionMark is the name of that view.
const unionMark = "over_shards"

// migrateShards changes the schema of the shards, and then the tables over them.
func (w *Warehouse) migrateShards(ctx context.Context) ([]string, error) {
	statements, err := w.shards.all[0].Migrate(ctx)
	if err != nil {
		return statements, err
	}
	if err := w.makeDatabase(ctx); err != nil {
		return statements, mayNot(err)
	}
	union, err := w.pendingUnion(ctx)
	if err != nil {
		return statements, err
	}
	for _, statement := range union {
		if err := w.exec(ctx, statement); err != nil {
			return statements, mayNot(fmt.Errorf("making the tables over all shards: %s...: %w",
				firstLine(statement), err))
		}
	}
	return append(statements, union...), nil
}

// CheckSchema returns ErrSchemaOld or ErrSchemaNew when the warehouse does not fit this binary.
func (w *Warehouse) CheckSchema(ctx context.Context) error {
	statements, err := w.pendingOver(ctx)
	if err == nil && len(statements) > 0 {
		return ErrSchemaOld
	}
	return err
}

// pendingOver returns the statements that make what is over the tables of the warehouse: the tables over several
// shards, and the database of views. If the tables themselves do not fit this binary, it returns an error.
func (w *Warehouse) pendingOver(ctx context.Context) (statements []string, err error) {
	if w.shards == nil {
		err = w.migrator.CheckSchema(ctx)
	} else if err = w.shards.all[0].CheckSchema(ctx); err == nil {
		statements, err = w.pendingUnion(ctx)
	}
	if err != nil {
		return nil, err
	}
	public, err := viewsDatabase{w}.pending(ctx)
	return append(statements, public...), err
}

// PlanMigration returns the statements that Migrate would run now, without running any. With several shards, the
// statements that do not name the cluster are for one server of each shard. The tables over the shards follow from the
// tables of a shard, so they are planned when these exist.
func (w *Warehouse) PlanMigration(ctx context.Context) ([]string, error) {
	tables := w.migrator
	if w.shards != nil {
		tables = w.shards.all[0].migrator
	}
	statements, err := tables.PlanMigration(ctx)
	if err != nil || len(statements) > 0 && w.shards != nil {
		return statements, err
	}
	if w.shards != nil {
		if statements, err = w.pendingUnion(ctx); err != nil {
			return nil, err
		}
	}
	public, err := viewsDatabase{w}.pending(ctx)
	return append(statements, public...), err
}

// pendingUnion returns the statements that make the tables over the shards. There are none if these are up to date.
func (w *Warehouse) pendingUnion(ctx context.Context) ([]string, error) {
	files, generation, err := madeFor(w.dialect)
	if err != nil {
		return nil, err
	}
	mark := createMark(files, generation)
	var fits bool
	err = w.conn.QueryRow(ctx, selectMark, named("files", fmt.Sprint(files)),
		named("generation", fmt.Sprint(generation))).Scan(&fits)
	if err != nil && !IsMissing(err) {
		return nil, err
	}
	names, err := w.names(ctx, shardDatabase(w.database))
	if err != nil {
		return nil, err
	}
	old, err := w.names(ctx, w.database)
	dropped := slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(old, name) })
	if err != nil || fits && !dropped {
		return nil, err
	}
	return w.dialect.union(shardDatabase(w.database), names, old, mark)
}

// names lists the tables and views of a database that are there to be read.
func (w *Warehouse) names(ctx context.Context, database string) ([]string, error) {
	rows, err := w.admin.Query(ctx, selectNames, named("database", database))
	names, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("listing the tables of %s: %w", database, err)
	}
	return names, nil
}

// union returns the statements that make the tables over the shards, the mark last.
func (d dialect) union(shard string, names, old []string, mark string) (statements []string, err error) {
	for _, name := range old {
		if !slices.Contains(names, name) && name != unionMark {
			statements = append(statements, d.everywhere("DROP TABLE IF EXISTS "+name))
		}
	}
	parameterised, err := parameterisedViews()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if parameterised[name] == "" {
			statements = append(statements, d.everywhere(createUnion(d.cluster, shard, name, name)))
		}
	}
	for _, name := range names { // they read what is made above
		if text := parameterised[name]; text != "" {
			statements = append(statements, d.everywhere(text))
		}
	}
	return append(statements, d.everywhere(mark)), nil
}

// parameterisedViews returns the statements of the views that take parameters, by name: there can be no
// table over them.
func parameterisedViews() (map[string]string, error) {
	streams, err := wantedStreams(dialect{})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, statement := range streams.statements {
		if made := viewStatement.FindStringSubmatch(statement); made != nil && definedParameter.MatchString(made[3]) {
			found[made[1]] = statement
		}
	}
	return found, nil
}

// createUnion makes the table over a table or view of all shards, with the same columns, under a name of its own.
func createUnion(cluster, shard, union, name string) string {
	return sql("CREATE OR REPLACE TABLE $union AS `$shard`.$name\nENGINE = Distributed($cluster, $database, $table)",
		parts{"union": union, "name": name, "shard": shard, "cluster": quote(cluster), "database": quote(shard),
			"table": quote(name)})
}

// createMark makes the view that says what the tables over all shards were made for.
func createMark(files, generation uint32) string {
	return sql("CREATE OR REPLACE VIEW $mark (files UInt32, generation UInt32)\nAS SELECT toUInt32($files) AS files, toUInt32($generation) AS generation\n"+
		"COMMENT 'What the tables over all shards were made for: the last file in schema/, and the generation of the views'",
		parts{"mark": unionMark, "files": fmt.Sprint(files), "generation": fmt.Sprint(generation)})
}

// selectMark asks whether the tables over the shards were made for this state of the schema, or for a newer one.
const selectMark = "SELECT (files, generation) >= ({files:UInt32}, {generation:UInt32}) FROM " + unionMark

// selectNames leaves out what only runs and migrations use.
const selectNames = `SELECT name FROM system.tables WHERE database = {database:String} AND NOT match(name, '_staging$|_ordered$|_[0-9a-f]{32}$|^schema_turns_log$')
ORDER BY name`
