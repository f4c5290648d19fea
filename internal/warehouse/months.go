package warehouse

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/catalog"
)

// A stream that is ordered by a time has a partition for each month of it. A month whose rows are in a single part that
// was merged once is folded: a query reads it without looking for rows that replace others, which is several times as
// fast. A run leaves a few months unfolded, mostly the newest.

// byMonth reports whether the tables of a stream have a partition for each month. On servers that replicate they do
// not: there the partitions of a delta become visible one after the other (warehouse-1).
func (d dialect) byMonth(s *catalog.Stream) bool { return s.OrderedBy != "" && !d.syncs() }

// partitions names all partitions of a table of a stream.
func (d dialect) partitions(s *catalog.Stream) string {
	if d.byMonth(s) {
		return "ALL"
	}
	return "tuple()"
}

// month returns the expression of a row's partition. Rows without a time, and those of before 2000, share one; so do
// those of after 2039. So dates that make no sense cannot make thousands of partitions.
func month(column string) string {
	return sql("toYYYYMM(least(greatest(ifNull($column, $none), $first), $last))", parts{
		"column": column, "none": "toDateTime64(0, 3, 'UTC')", "first": "toDateTime64('1999-12-01', 3, 'UTC')",
		"last": "toDateTime64('2040-01-01', 3, 'UTC')"})
}

// fewFiles has a month of less than 64 MiB be one file and not two for each column: opening and folding the months of a
// million sales takes a fifth of the files then, and queries take as long.
const fewFiles = ", min_bytes_for_wide_part = 67108864"

// A month is due when its largest part is foldingShare times as old as folding it takes, so that folding takes little
// of a processor however often runs come, and a first load does not wait for it. One with many parts is due at once.
const (
	crowded      = 8       // parts
	foldingShare = 100     // folding a month takes one part of these of the time
	foldingSpeed = 800_000 // rows that are folded in a second
)

// Fold folds months, the newest first, until the time is up. It may be killed at any time: readers see the same rows
// before and after.
func (w *Warehouse) Fold(ctx context.Context, within time.Duration) (folded int, err error) {
	until, left := time.Now().Add(within), 0
	for _, shard := range w.each() {
		rows, err := shard.conn.Query(ctx, selectUnfolded)
		type month struct {
			table, partition string
			due              bool
		}
		months, err := scanned(rows, err, func(m *month) []any { return []any{&m.table, &m.partition, &m.due} })
		if err != nil {
			return folded, fmt.Errorf("looking for months to fold: %w", err)
		}
		for _, m := range months {
			if !m.due || time.Now().After(until) {
				left++
				continue
			}
			if err := shard.exec(ctx, foldMonth(m.table, m.partition)); err != nil {
				return folded, fmt.Errorf("folding a month of %s: %w", m.table, err)
			}
			folded++
		}
	}
	w.metrics.unfoldedMonths(left)
	return folded, nil
}

// Tidy waits until the embedded engine has removed the files that merges have replaced, if there are more of these
// parts than most. A process that ends within two seconds of opening the warehouse removes none, and they would become
// more and more. It returns how many are left when the time is up. A server removes its own.
func (w *Warehouse) Tidy(ctx context.Context, most uint64, within time.Duration) (left uint64, err error) {
	if !w.Embedded() {
		return 0, nil
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(within); ; {
		if err := w.conn.QueryRow(ctx, countReplaced).Scan(&left); err != nil {
			return left, fmt.Errorf("counting the files that are not needed any more: %w", err)
		}
		if left <= most || time.Now().After(until) {
			return left, nil
		}
		select {
		case <-ctx.Done():
			return left, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// countReplaced counts the parts that nobody reads any more.
const countReplaced = "SELECT count() FROM system.parts WHERE NOT active AND database = currentDatabase()"

// Months is how many months of sales there are, over all shards, and how many of them are not folded.
type Months struct{ All, Unfolded uint64 }

// Months counts the months of sales. On servers that replicate there are none.
func (w *Warehouse) Months(ctx context.Context) (all Months, err error) {
	for _, shard := range w.each() {
		var here Months
		if err := shard.conn.QueryRow(ctx, countMonths).Scan(&here.All, &here.Unfolded); err != nil {
			return all, fmt.Errorf("counting the months of sales: %w", err)
		}
		all.All, all.Unfolded = all.All+here.All, all.Unfolded+here.Unfolded
	}
	return all, nil
}

// countMonths counts the months, and those that are not folded.
var countMonths = sql(`SELECT (SELECT uniqExact(table, partition_id) FROM system.parts
    WHERE active AND database = currentDatabase() AND table IN ($tables) AND partition_id != 'all'),
    (SELECT count() FROM
(
    $unfolded
))`, parts{"tables": words(monthlyTables()), "unfolded": unfolded})

// unfolded are the months that are not folded, with their rows and the age of their largest part in seconds. Tables
// without months have none.
var unfolded = sql(`SELECT table, partition_id, count() AS parts, min(p.level) AS level, sum(p.rows) AS rows,
        dateDiff('second', argMax(p.modification_time, p.rows), now()) AS age
    FROM system.parts AS p
    WHERE active AND database = currentDatabase() AND table IN ($tables) AND partition_id != 'all'
    GROUP BY table, partition_id
    HAVING parts > 1 OR level = 0`, parts{"tables": words(monthlyTables())})

// selectUnfolded selects them, the newest first, and says of each whether it is due.
var selectUnfolded = sql(`SELECT table, partition_id,
    parts >= $crowded OR (age + 1) * $speed >= rows * $share AS due
FROM
(
    $unfolded
)
ORDER BY partition_id DESC, table`, parts{"unfolded": unfolded, "crowded": fmt.Sprint(crowded),
	"speed": fmt.Sprint(foldingSpeed), "share": fmt.Sprint(foldingShare)})

// selectMonths selects the months of a delta, and says of each whether the table lacks it. The rows of a month are in
// one part, so they are all there or none is.
func selectMonths(t target) string {
	return sql(`SELECT _partition_id AS month, month NOT IN
    (SELECT _partition_id FROM $table WHERE account = {account:String} AND _run_id = {run:UUID})
FROM $delta
GROUP BY month`, parts{"table": t.table, "delta": t.delta})
}

func attachMonth(t target, month string) string {
	return sql("ALTER TABLE $table ATTACH PARTITION ID $month FROM $delta",
		parts{"table": t.table, "month": quote(month), "delta": t.delta})
}

// monthlyTables are the tables of current rows that have a partition for each month.
func monthlyTables() (tables []string) {
	for _, s := range catalog.All() {
		if s.OrderedBy != "" {
			tables = append(tables, latestTable(s))
		}
	}
	return tables
}

func foldMonth(table, partition string) string {
	return sql("OPTIMIZE TABLE $table PARTITION ID $partition FINAL", parts{"table": table, "partition": quote(partition)})
}
