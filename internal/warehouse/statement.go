package warehouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// insertSettings are set on every write, since their defaults differ between ClickHouse versions: an insert is
// acknowledged when it is durable, and is dropped as a duplicate only by a token that we chose.
var insertSettings = clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 0}

// write is the context of a statement that writes.
func write(ctx context.Context, more ...clickhouse.Settings) context.Context {
	settings := clickhouse.Settings{}
	for _, s := range append([]clickhouse.Settings{insertSettings}, more...) {
		for name, value := range s {
			settings[name] = value
		}
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// named is a server-side parameter, written {name:Type} in the statement.
func named(name string, value any) any { return clickhouse.Named(name, value) }

// insert sends one block of rows: all of it or none is kept.
func (w *Warehouse) insert(ctx context.Context, into string, fill func(driver.Batch) error) error {
	batch, err := w.conn.PrepareBatch(write(ctx), "INSERT INTO "+into)
	if err != nil {
		return err
	}
	defer batch.Close() //nolint:errcheck // after Send it does nothing; before it, the error that counts is returned
	if err := fill(batch); err != nil {
		return err
	}
	return batch.Send()
}

// exec runs a statement that writes.
func (w *Warehouse) exec(ctx context.Context, statement string, args ...any) error {
	return w.conn.Exec(write(ctx), statement, args...)
}
