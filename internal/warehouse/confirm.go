package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// PlannedDelete is a row that the run's plan deletes.
type PlannedDelete struct {
	Key     string
	Updated int64 // its updatedAt in milliseconds since 1970; 0 when it has none
}

// PlannedDeletes are at most limit rows that the run's plan deletes. Which ones differs from run to run, so that rows
// which are never confirmed do not keep others from being asked for.
func (w *Warehouse) PlannedDeletes(ctx context.Context, r Run, limit int) ([]PlannedDelete, error) {
	key, updated := keyNames(r.Stream), "toInt64(0)"
	if i := r.Stream.VersionField(); i >= 0 {
		updated = "ifNull(toUnixTimestamp64Milli(" + r.Stream.Fields[i].Column + "), 0)"
	}
	chosen := fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY rand() LIMIT %d", key, r.changes(), isGone, limit)
	rows, err := w.conn.Query(ctx, "SELECT toString("+key+"), "+updated+" FROM "+r.Stream.Name+"_latest FINAL"+
		" WHERE account = {account:String} AND "+key+" IN ("+chosen+")", named("account", r.Account))
	all, err := scanned(rows, err, func(d *PlannedDelete) []any { return []any{&d.Key, &d.Updated} })
	if err != nil {
		return nil, fmt.Errorf("reading which rows of %s are gone: %w", r.Stream.Name, err)
	}
	return all, nil
}

// KeepUnconfirmed takes all planned deletes back but those of the confirmed keys.
func (w *Warehouse) KeepUnconfirmed(ctx context.Context, r Run, confirmed []string) error {
	return w.keepBut(ctx, r, literals(confirmed))
}

// keepBut takes the planned deletes back whose key, as text, is not in the list or query.
func (w *Warehouse) keepBut(ctx context.Context, r Run, confirmed string) error {
	err := w.execAll(ctx, []step{{
		fmt.Sprintf("ALTER TABLE %s DELETE WHERE %s AND toString(%s) NOT IN (%s)", r.changes(), isGone, keyNames(r.Stream), confirmed),
		clickhouse.Settings{"mutations_sync": 2},
	}})
	if err != nil {
		return fmt.Errorf("keeping the rows of %s that are not confirmed to be gone: %w", r.Stream.Name, err)
	}
	return nil
}

// KeepUntilAbsent takes the planned deletes back of rows that fewer than so many complete lists in a row, this one
// included, did not have. It returns how many it took back. The run must have read the whole list. It can be repeated:
// a run counts once. A run that is not to count leaves no trace.
func (w *Warehouse) KeepUntilAbsent(ctx context.Context, r Run, lists int, count bool) (kept uint64, err error) {
	if lists <= 1 && !count {
		return 0, nil
	}
	if !count {
		lists-- // this one
	} else if err := w.countAbsence(ctx, r); err != nil {
		return 0, fmt.Errorf("counting how often rows of %s were not listed: %w", r.Stream.Name, err)
	}
	enough := fmt.Sprintf("SELECT key FROM absent_rows_log FINAL WHERE account = %s AND stream = %s AND lists >= %d", quote(r.Account), quote(r.Stream.Name), lists)
	err = w.conn.QueryRow(ctx, fmt.Sprintf("SELECT count() FROM %s WHERE %s AND toString(%s) NOT IN (%s)", r.changes(), isGone, keyNames(r.Stream), enough)).Scan(&kept)
	if err != nil || kept == 0 {
		return 0, err
	}
	return kept, w.keepBut(ctx, r, enough)
}

// countAbsence counts the run for each row that its plan deletes, and begins anew for the others.
func (w *Warehouse) countAbsence(ctx context.Context, r Run) error {
	return w.exec(ctx, fmt.Sprintf(`INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString(%s) AS key FROM %s WHERE %s) AS gone
FULL JOIN (SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL WHERE account = {account:String} AND stream = {stream:String}) AS before
    ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0)`, keyNames(r.Stream), r.changes(), isGone),
		named("account", r.Account), named("stream", r.Stream.Name), named("run", r.ID.String()))
}

// literals writes strings as a list of SQL literals that is never empty.
func literals(values []string) string {
	text := "''"
	for _, v := range values {
		text += ", " + quote(v)
	}
	return text
}
