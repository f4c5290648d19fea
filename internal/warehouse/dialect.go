package warehouse

import (
	"maps"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// dialect knows how tables are made and changed on a warehouse's servers. Every statement that does so is rendered by
// the one value in the pool, which Open sets, or Identify if the server is Cloud. The zero value is for a single
// server, with plain engines and all tables in one database; it leaves statements as they are written. The value for a
// cluster makes the same tables on all its shards.
type dialect struct {
	cluster       string // its servers replicate the tables of their shard
	onCluster     string // comes after the name of what is made or changed; begins with a space
	replicated    string // comes before the engine of a permanent table
	database      string // in the path of such a table in Keeper
	localDatabase string // comes before the name of a table that exists only for a run; ends with a dot
	cloud         bool   // the servers replicate by themselves, and each statement may reach another one
	alone         bool   // the server is the only replica of its shard
	divided       bool   // the tables are those over several shards
}

// replicatedDialect is for open-source servers that replicate each other within a shard.
//
// Tables that exist only for a run are in a database of their own on each server, so that a run needs no statement that
// all servers must execute. A run works with one server (replicas).
func replicatedDialect(cluster, database string) dialect {
	return dialect{
		cluster: cluster, onCluster: " ON CLUSTER `" + cluster + "`", replicated: "Replicated", database: database,
		localDatabase: "`" + database + "_runs`.",
	}
}

// cloudDialect is for ClickHouse Cloud.
func cloudDialect(d dialect) dialect {
	d.cloud = true
	return d
}

var (
	madeOrChanged = regexp.MustCompile(`^(CREATE DATABASE IF NOT EXISTS|CREATE TABLE IF NOT EXISTS|CREATE OR REPLACE TABLE|CREATE OR REPLACE VIEW|ALTER TABLE|DROP TABLE IF EXISTS|DROP VIEW IF EXISTS|TRUNCATE TABLE IF EXISTS) (\S+)`)
	tableEngine   = regexp.MustCompile(`(?m)^ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?$`)
)

// lasting renders a statement about what is permanent: the database, the tables behind the views, the bookkeeping, and
// the views. Other statements are not changed: a migration copies rows, too.
//
// Servers that replicate drop an insert that has the bytes of an earlier one: a state that is written, changed and
// written back would stay changed. So the setting replicated_deduplication_window switches this off.
func (d dialect) lasting(statement string) string {
	made := madeOrChanged.FindStringSubmatch(statement)
	statement = d.everywhere(statement)
	if made == nil || !strings.HasPrefix(made[1], "CREATE TABLE") || !d.syncs() {
		return statement
	}
	statement = tableEngine.ReplaceAllStringFunc(statement,
		func(engine string) string { return d.engine(engine, made[2]) })
	return withSetting(statement, "replicated_deduplication_window = 0")
}

// engine returns the engine of a permanent table, with its place in Keeper.
func (d dialect) engine(engine, table string) string {
	if d.replicated == "" {
		return engine
	}
	found := tableEngine.FindStringSubmatch(engine)
	args := quote("/clickhouse/tables/{shard}/"+d.database+"/"+table) + ", '{replica}'"
	if found[2] != "" {
		args += ", " + found[2]
	}
	return "ENGINE = " + d.replicated + found[1] + "(" + args + ")"
}

// withSetting adds a setting to a statement that makes a table.
func withSetting(create, setting string) string {
	if strings.Contains(create, "\nSETTINGS ") {
		return strings.Replace(create, "\nSETTINGS ", "\nSETTINGS "+setting+", ", 1)
	}
	if at := strings.LastIndex(create, "\nCOMMENT "); at >= 0 {
		return create[:at] + "\nSETTINGS " + setting + create[at:]
	}
	return create + "\nSETTINGS " + setting
}

// reachesAll reports whether all servers of the cluster execute a statement that was sent to one of them.
func (d dialect) reachesAll(statement string) bool {
	return d.onCluster != "" && strings.Contains(statement, d.onCluster)
}

// staging renders a statement about a staging table. The table exists on every server, and each server has
// rows of its own.
func (d dialect) staging(statement string) string { return d.everywhere(statement) }

func (d dialect) everywhere(statement string) string {
	return madeOrChanged.ReplaceAllString(statement, "${1} ${2}"+d.onCluster)
}

// ofRun returns the full name of a table that exists only for a run.
func (d dialect) ofRun(table string) string { return d.localDatabase + table }

// bare returns that name without the database.
func (d dialect) bare(table string) string { return strings.TrimPrefix(table, d.localDatabase) }

// runDatabase returns an expression for the name of the database of such tables.
func (d dialect) runDatabase() string {
	if d.localDatabase == "" {
		return "currentDatabase()"
	}
	return quote(d.local())
}

// local returns the name of the database of such tables, if they have one of their own.
func (d dialect) local() string { return strings.Trim(strings.TrimSuffix(d.localDatabase, "."), "`") }

// createLocal makes that database on each server.
func (d dialect) createLocal() []string {
	if d.localDatabase == "" {
		return nil
	}
	return []string{d.everywhere("CREATE DATABASE IF NOT EXISTS `" + d.local() + "`")}
}

// syncs reports whether a server may not yet have what was written on another one.
func (d dialect) syncs() bool { return d.replicated != "" || d.cloud }

// attempts returns how often a delta is attached as long as the server reports success and rows are missing. If each
// statement may reach another server, the next one may have them.
func (d dialect) attempts() int {
	if d.cloud {
		return 3
	}
	return 1
}

// connectionSettings go with all statements of the worker. Every server must find the state that another one has
// acknowledged.
func (d dialect) connectionSettings() clickhouse.Settings {
	switch {
	case d.divided:
		return nil // nothing is written there
	case d.cloud:
		return clickhouse.Settings{"select_sequential_consistency": 1}
	case d.alone:
		return nil // an insert with a quorum waits forever for a second replica, though one is the majority
	case d.replicated != "":
		return clickhouse.Settings{"select_sequential_consistency": 1, "insert_quorum": "auto",
			"insert_quorum_parallel": 0}
	}
	return nil
}

// dividedSettings go with queries of the tables over all shards. Joins are answered as if each of these were one table.
// If one shard does not answer, the query fails.
func (d dialect) dividedSettings() clickhouse.Settings {
	if !d.divided {
		return nil
	}
	return clickhouse.Settings{"distributed_product_mode": "global", "skip_unavailable_shards": 0}
}

// stagingSettings keep the rows of a run as they were inserted. A batch that is sent again is recognised by its token
// and dropped. Parts are not merged: they are dropped soon, and their rows must stay countable.
func (d dialect) stagingSettings() string {
	window := "non_replicated_deduplication_window"
	if d.cloud {
		window = "replicated_deduplication_window"
	}
	return window + " = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, " +
		"max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000"
}

// insertSettings go with every write, since their defaults differ between versions of ClickHouse. An insert is
// acknowledged when it is durable, and it is dropped as a duplicate only by a token that we chose.
func (dialect) insertSettings() clickhouse.Settings {
	return clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 0}
}

// mergeSettings pin what our statements depend on, whatever the profile of the server's user says.
func (dialect) mergeSettings() clickhouse.Settings {
	return clickhouse.Settings{
		"join_use_nulls": 0, // the merge recognises a missing side by its default value
		"final":          0, "transform_null_in": 0, "any_join_distinct_right_table_keys": 0, "session_timezone": "UTC",
	}
}

// nullsEqual makes joins match keys that are NULL.
var nullsEqual = clickhouse.Settings{"transform_null_in": 1}

func joinSettings(rows uint64) clickhouse.Settings {
	if rows < largeJoin {
		return clickhouse.Settings{"join_algorithm": "hash"}
	}
	return clickhouse.Settings{"join_algorithm": "full_sorting_merge"}
}

// deltaSettings write up to a million rows of a delta as one block, in no more than 512 MiB of memory. One block is one
// part, which need not be merged (singlePart): that would cost as much again as writing the delta.
var deltaSettings = clickhouse.Settings{"min_insert_block_size_rows": blockRows,
	"min_insert_block_size_bytes": 512 << 20, "max_partitions_per_insert_block": 0}

// uniqueKeySettings returns the settings for a delta that gets each key only once, and about as many rows as the run
// writes. That each key is there once is counted (countPrepared).
//
// By default, a table that replaces rows merges each block that is written to it, row by row. That is half of the cost
// of writing it. It is left out if
//
//   - the delta has several blocks: its parts are merged into one afterwards;
//   - it is a large first load: the delta of 1 million transactions takes 1.7 CPU seconds instead of 5.3. The price: a
//     query of all rows takes 62 ms of CPU instead of 24, since it merges a part that was never merged, until the
//     engine has merged it with others.
func uniqueKeySettings(c Changes) clickhouse.Settings {
	settings := maps.Clone(deltaSettings)
	if c.allNew() || c.written() > blockRows {
		settings["optimize_on_insert"] = 0
	}
	return settings
}

// childDeltaSettings are for a delta that may have several parts. They keep its blocks small enough for the
// processor's caches.
var childDeltaSettings = clickhouse.Settings{"min_insert_block_size_rows": 250_000}

// cluster is what a server knows of the cluster that is configured.
type cluster struct {
	shards   uint64
	others   []string // the names of all clusters
	macros   []string
	replicas uint64 // of the server's own shard; 0: it does not find itself
}

// largeJoin is the number of rows from which on both sides of a join are read in the order of their key and not kept in
// a hash table, so that memory stays bounded.
const largeJoin = 500_000

// blockRows is the largest number of rows of a delta that are written as one part.
const blockRows = 1 << 20
