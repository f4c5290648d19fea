package warehouse

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// insertSettings are set on every write, since their defaults differ between ClickHouse versions: an insert is
// acknowledged when it is durable, and is dropped as a duplicate only by a token that we chose.
var insertSettings = clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 0}

// mergeSettings pin what our statements depend on, whatever the server's profile for the user says.
var mergeSettings = clickhouse.Settings{
	"join_use_nulls": 0, // the merge tells a missing side by its default
	"final":          0, "transform_null_in": 0, "any_join_distinct_right_table_keys": 0, "session_timezone": "UTC",
	"do_not_merge_across_partitions_select_final": 0,
}

// write is the context of a statement that writes.
func write(ctx context.Context, more ...clickhouse.Settings) context.Context {
	settings := clickhouse.Settings{}
	for _, s := range append([]clickhouse.Settings{insertSettings, mergeSettings}, more...) {
		for name, value := range s {
			settings[name] = value
		}
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// named is a server-side parameter, written {name:Type} in the statement.
func named(name string, value any) any { return clickhouse.Named(name, value) }

// columns reads "name Type, name Type" of types without a comma.
func columns(list string) []column {
	var cols []column
	for part := range strings.SplitSeq(list, ", ") {
		name, typ, _ := strings.Cut(part, " ")
		cols = append(cols, column{name: name, typ: typ})
	}
	return cols
}

// knownColumns tells the client the types of an insert, so that it does not ask the server for them.
func knownColumns(cols []column) clickhouse.QueryOption {
	known := make([]clickhouse.ColumnNameAndType, len(cols))
	for i, c := range cols {
		known[i] = clickhouse.ColumnNameAndType{Name: c.name, Type: c.typ}
	}
	return clickhouse.WithColumnNamesAndTypes(known)
}

// insert sends one block of rows: all of it or none is kept. It is for the tables of the bookkeeping, where the same rows
// may be written twice, since one of them replaces the other: fill must give the same rows each time.
func (w *Warehouse) insert(ctx context.Context, table string, cols []column, fill func(driver.Batch) error) error {
	return w.send(ctx, table, cols, insertSettings, fill)
}

// send sends one block of rows, again where the warehouse could not take it for the moment. The rows are the same each
// time, to the byte (warehouse-7).
func (w *Warehouse) send(ctx context.Context, table string, cols []column, settings clickhouse.Settings, fill func(driver.Batch) error) error {
	statement := "INSERT INTO " + table + " (" + joinNames(cols) + ")"
	return w.retry(ctx, statement, func() error {
		batch, err := w.conn.PrepareBatch(clickhouse.Context(ctx, clickhouse.WithSettings(settings), knownColumns(cols)), statement)
		if err != nil {
			return err
		}
		defer batch.Close() //nolint:errcheck // after Send it does nothing; before it, the error that counts is returned
		if err := fill(batch); err != nil {
			return err
		}
		return batch.Send()
	})
}

// exec runs a statement that writes and that may be done twice: DDL with IF (NOT) EXISTS, dropping a partition, and what
// finds nothing left to do the second time.
func (w *Warehouse) exec(ctx context.Context, statement string, args ...any) error {
	return w.retry(ctx, statement, func() error { return w.conn.Exec(write(ctx), statement, args...) })
}

// step is a statement with settings of its own.
type step struct {
	statement string
	settings  clickhouse.Settings
}

// execAll runs statements that can be repeated only together (warehouse-7): INSERT ... SELECT into a table that they make anew. What
// an attempt whose connection was lost still writes, it writes to the table that was dropped.
func (w *Warehouse) execAll(ctx context.Context, steps []step, args ...any) error {
	if len(steps) == 0 {
		return nil
	}
	return w.retry(ctx, steps[len(steps)-1].statement, func() error {
		for _, s := range steps {
			if err := w.conn.Exec(write(ctx, s.settings), s.statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
}
