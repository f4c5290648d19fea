package warehouse

import (
	"regexp"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// dialect is how a warehouse's servers want to be told to make and change tables. Every statement that does so is
// rendered by the one value that Open puts into the pool. The zero value is for a single server, with plain engines and
// all tables in one database; it leaves statements as they are written.
type dialect struct {
	onCluster     string // comes after the name of what is made or changed; begins with a space
	replicated    string // comes before the engine of a table that lasts
	localDatabase string // comes before the name of a table that is only there for a run; ends with a dot
}

var (
	madeOrChanged = regexp.MustCompile(`^(CREATE DATABASE IF NOT EXISTS|CREATE TABLE IF NOT EXISTS|CREATE OR REPLACE VIEW|ALTER TABLE|DROP TABLE IF EXISTS|DROP VIEW IF EXISTS|TRUNCATE TABLE IF EXISTS) (\S+)`)
	tableEngine   = regexp.MustCompile(`(?m)^ENGINE = (\w*MergeTree)\b`)
)

// lasting renders a statement about what lasts: the database, the tables behind the views, the bookkeeping, and the
// views. Statements of other kinds stay as they are: a migration copies rows, too.
func (d dialect) lasting(statement string) string {
	return tableEngine.ReplaceAllString(d.everywhere(statement), "ENGINE = "+d.replicated+"${1}")
}

// staging renders a statement about a staging table: it is there on every server, and each has rows of its own.
func (d dialect) staging(statement string) string { return d.everywhere(statement) }

func (d dialect) everywhere(statement string) string {
	return madeOrChanged.ReplaceAllString(statement, "${1} ${2}"+d.onCluster)
}

// ofRun is the full name of a table that is only there for a run.
func (d dialect) ofRun(table string) string { return d.localDatabase + table }

// stagingSettings keep the rows of a run as they were inserted. A batch that is sent again is known by its token and
// dropped. Parts are not merged: they are dropped soon, and their rows must stay countable.
func (dialect) stagingSettings() string {
	return "non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, " +
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
		"do_not_merge_across_partitions_select_final": 0,
	}
}
