package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shardDatabase returns the name of the database of each shard. The database that is configured has the tables
// over all of them.
func shardDatabase(database string) string { return database + "_shard" }

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
