package warehouse

import (
	"context"
	"maps"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// write returns the context of a statement that writes.
func (p *pool) write(ctx context.Context, more ...clickhouse.Settings) context.Context {
	settings := p.dialect.insertSettings()
	for _, s := range append([]clickhouse.Settings{p.dialect.mergeSettings()}, more...) {
		maps.Copy(settings, s)
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// knownColumns tells the client the types of an insert, so that it does not ask the server for them.
func knownColumns(cols []column) clickhouse.QueryOption {
	known := make([]clickhouse.ColumnNameAndType, len(cols))
	for i, c := range cols {
		known[i] = clickhouse.ColumnNameAndType{Name: c.name, Type: c.typ}
	}
	return clickhouse.WithColumnNamesAndTypes(known)
}

// insert sends one block of rows: all of them are kept, or none. It is for the tables of the bookkeeping, where the
// same rows may be written twice, since one of them replaces the other: fill must give the same rows each time.
func (p *pool) insert(ctx context.Context, table string, cols []column, fill func(driver.Batch) error) error {
	return p.send(ctx, table, cols, p.dialect.insertSettings(), fill)
}

// insertEach does the same as insert, with a row for each value.
func insertEach[T any](ctx context.Context, p *pool, table string, cols []column, values []T, row func(T) []any) error {
	return p.insert(ctx, table, cols, func(b driver.Batch) error {
		for _, v := range values {
			if err := b.Append(row(v)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// send sends one block of rows, and sends it again if the warehouse could not take it for the moment. The rows are the
// same each time, to the byte (warehouse-7).
func (p *pool) send(ctx context.Context, table string, cols []column, settings clickhouse.Settings,
	fill func(driver.Batch) error) error {
	statement := insertInto(table, cols)
	return p.retry(ctx, statement, func() error {
		batch, err := p.conn.PrepareBatch(clickhouse.Context(ctx, clickhouse.WithSettings(settings),
			knownColumns(cols)), statement)
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

// exec runs a statement that writes and that may be done twice: DDL with IF (NOT) EXISTS, dropping a partition, or one
// that finds nothing left to do the second time.
func (p *pool) exec(ctx context.Context, statement string, args ...any) error {
	return p.retry(ctx, statement, func() error { return p.conn.Exec(p.write(ctx), statement, args...) })
}

// step is a statement with settings of its own.
type step struct {
	statement string
	settings  clickhouse.Settings
}

// execAll runs statements that can only be repeated together (warehouse-7): those that make a table again and fill
// it with INSERT ... SELECT. If the connection of an attempt was lost and it still writes, it writes to the table
// that was dropped.
func (p *pool) execAll(ctx context.Context, steps []step, args ...any) error {
	return p.fillNew(ctx, nil, steps, args...)
}

// fillNew does the same as execAll, for statements that make new tables. Before they are tried again, the
// tables are dropped.
func (p *pool) fillNew(ctx context.Context, tables []string, steps []step, args ...any) error {
	if len(steps) == 0 {
		return nil
	}
	tried := false
	return p.retry(ctx, steps[len(steps)-1].statement, func() error {
		if tried && len(tables) > 0 {
			if err := p.conn.Exec(p.write(ctx), dropDelta(tables...)); err != nil {
				return err
			}
		}
		tried = true
		for _, s := range steps {
			if err := p.conn.Exec(p.write(ctx, s.settings), s.statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropDelta drops tables that exist only for a run, before they are made.
func dropDelta(deltas ...string) string {
	return sql("DROP TABLE IF EXISTS $deltas", parts{"deltas": strings.Join(deltas, ", ")})
}
