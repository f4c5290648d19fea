package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// PlannedDeletes are the keys of at most limit rows that the run's plan deletes. Which ones differs from run to run, so
// that rows which are never confirmed do not keep others from being asked for.
func (w *Warehouse) PlannedDeletes(ctx context.Context, r Run, limit int) ([]string, error) {
	key := keyNames(r.Stream)
	rows, err := w.conn.Query(ctx, fmt.Sprintf("SELECT toString(%s) FROM %s WHERE %s ORDER BY rand() LIMIT %d", key, r.changes(), isGone, limit))
	if err != nil {
		return nil, fmt.Errorf("reading which rows of %s are gone: %w", r.Stream.Name, err)
	}
	var keys []string
	if err := collect(rows, func(k string) { keys = append(keys, k) }); err != nil {
		return nil, fmt.Errorf("reading which rows of %s are gone: %w", r.Stream.Name, err)
	}
	return keys, nil
}

// KeepUnconfirmed takes all planned deletes back but those of the confirmed keys.
func (w *Warehouse) KeepUnconfirmed(ctx context.Context, r Run, confirmed []string) error {
	err := w.execAll(ctx, []step{{
		fmt.Sprintf("ALTER TABLE %s DELETE WHERE %s AND toString(%s) NOT IN (%s)", r.changes(), isGone, keyNames(r.Stream), literals(confirmed)),
		clickhouse.Settings{"mutations_sync": 2},
	}})
	if err != nil {
		return fmt.Errorf("keeping the rows of %s that are not confirmed to be gone: %w", r.Stream.Name, err)
	}
	return nil
}

// literals writes strings as a list of SQL literals that is never empty.
func literals(values []string) string {
	text := "''"
	for _, v := range values {
		text += ", " + quote(v)
	}
	return text
}
