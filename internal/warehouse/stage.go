package warehouse

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/decode"
)

// Stage writes batches, as one, to the staging table of their stream. number counts the batches of the run: the same
// number with the same rows can be staged again without harm, since the server recognises it by its deduplication
// token. Nothing that readers see changes. Rows that a batch leaves out are not written.
//
// A record that the server refuses for its content is left out and returned as a reject; all others are staged.
func (w *Writer) Stage(ctx context.Context, number int, batches ...*decode.Batch) ([]decode.Reject, error) {
	var pieces []piece
	for _, b := range batches {
		from := 0
		for _, row := range append(slices.Clip(b.LeftOut), b.Len()) {
			if row > from {
				pieces = append(pieces, piece{b, from, row})
			}
			from = row + 1
		}
	}
	return w.stage(ctx, number, pieces)
}

// CountStaged counts the rows that the run has staged so far, and adds them up.
func (w *Writer) CountStaged(ctx context.Context) (Set, error) {
	var rows, sum uint64
	if err := w.pool.conn.QueryRow(ctx, w.script.countStaged(), named("run", w.ID.String())).Scan(&rows, &sum); err != nil {
		return Set{}, fmt.Errorf("counting what run %s of %s has staged: %w", w.ID, w.Stream.Name, err)
	}
	return Set{rows, Sum(sum)}, nil
}

// rowValues returns the columns of a piece, in the order of stagingColumns, and their hashes.
func (r Run) rowValues(p piece) []any {
	b := p.batch
	columns := []any{r.ids(p.len())}
	if b.Stream.DerivedKey {
		columns = append(columns, p.of(b.Keys), p.of(b.KeyRules))
	}
	for i := range b.Columns {
		columns = append(columns, p.of(b.Columns[i].Values(b.Fields[i].Type)))
	}
	columns = append(columns, p.of(b.Nulls), p.of(b.Extra), p.of(b.Pages), p.of(b.Fetched))
	if b.Stream.Child != nil {
		columns = append(columns, p.of(b.Entries))
	}
	return append(columns, hashTexts(b.Hashes[p.from:p.to]))
}

// hashTexts returns the column _hash. Its texts are parts of one.
func hashTexts(hashes []decode.Hash) []string {
	all := make([]byte, 0, 16*len(hashes))
	for _, h := range hashes {
		all = h.AppendTo(all)
	}
	text, texts := string(all), make([]string, len(hashes))
	for i := range texts {
		texts[i] = text[16*i : 16*i+16]
	}
	return texts
}

// ids returns the column run_id for the given number of rows.
func (r Run) ids(rows int) []uuid.UUID {
	ids := make([]uuid.UUID, rows)
	for i := range ids {
		ids[i] = r.ID
	}
	return ids
}

// token names a batch for the server's deduplication: it must stand for the same rows, and for nothing else. The
// attempt is part of it, since a continued run may cut its batches differently, and rows that come under a known token
// are dropped unseen.
func token(r Run, number int) string { return fmt.Sprintf("%s-%s-%d", r.ID, r.Attempt, number) }

// sendColumns sends whole columns, those of several pieces as one. Their types are known, so the server is not asked
// for them.
func (w *Writer) sendColumns(ctx context.Context, token string, pieces []piece) error {
	columns := append(stagingColumns(w.Stream), column{name: "_hash", typ: "FixedString(16)"})
	settings := clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": token,
		"optimize_on_insert": 0, // every row is kept until the merge, so that rows can be counted
	}
	return w.pool.send(ctx, w.script.names["staging"], columns, settings, func(batch driver.Batch) error {
		for _, p := range pieces {
			for i, v := range w.rowValues(p) {
				if err := batch.Column(i).Append(v); err != nil {
					return fmt.Errorf("column %s: %w", columns[i].name, err)
				}
			}
		}
		return nil
	})
}

// piece is a range of the rows of a batch.
type piece struct {
	batch    *decode.Batch
	from, to int
}

func (p piece) len() int { return p.to - p.from }

// of returns the piece's part of a column.
func (p piece) of(column any) any {
	v := reflect.ValueOf(column)
	if p.from == 0 && p.to == v.Len() {
		return column
	}
	return v.Slice(p.from, p.to).Interface()
}

// maxRefused is the largest number of refused rows of one batch that are searched for one by one. If there are more,
// the table is wrong and not the rows.
const maxRefused = 200

// RefusedError says that the warehouse refuses more rows of a batch than could be a few bad records.
type RefusedError struct {
	Table string
	Err   error // why the last one is refused
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("ClickHouse refuses more than %d rows of one batch of %s: %s", maxRefused, e.Table, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// stage writes pieces as one block. If the server refuses its content, both halves are tried, and so on, until each
// refused row is alone in its block. These rows are returned as rejects. Each halving takes two inserts. Each half has
// a token of its own, which is the same when the batch is staged again.
func (w *Writer) stage(ctx context.Context, number int, pieces []piece) (rejects []decode.Reject, err error) {
	var last error
	var halve func(pieces []piece, token string) error
	halve = func(pieces []piece, token string) error {
		if len(pieces) == 0 {
			return nil
		}
		begin := time.Now()
		err := w.sendColumns(ctx, token, pieces)
		if err == nil {
			w.pool.metrics.staged(w.Run, time.Since(begin))
		}
		if !isRefusal(err) {
			return err
		}
		left, right := split(pieces)
		if len(left) > 0 {
			if err := halve(left, token+"l"); err != nil {
				return err
			}
			return halve(right, token+"r")
		}
		if len(rejects) == maxRefused {
			return &RefusedError{Table: w.Stream.Name, Err: err}
		}
		reject, failed := rejectRow(pieces[0].batch, pieces[0].from)
		if failed != nil {
			return fmt.Errorf("keeping a row that is refused: %w: %w", err, failed)
		}
		last, rejects = err, append(rejects, reject)
		return nil
	}
	if err := halve(pieces, token(w.Run, number)); err != nil {
		return nil, fmt.Errorf("staging batch %d of %s: %w", number, w.Stream.Name, err)
	}
	if len(rejects) > 0 {
		w.pool.log.Warn("ClickHouse refuses the content of some rows: they are kept in rejected_records",
			"account", w.Account, "table", w.Stream.Name, "run_id", w.ID,
			"rows", len(rejects), "error", last)
	}
	return rejects, nil
}

// split cuts pieces into halves. If there is only one row, the left half is empty.
func split(pieces []piece) (left, right []piece) {
	if middle := len(pieces) / 2; middle > 0 {
		return pieces[:middle], pieces[middle:]
	}
	p := pieces[0]
	if p.len() < 2 {
		return nil, pieces
	}
	middle := p.from + p.len()/2
	return []piece{{p.batch, p.from, middle}}, []piece{{p.batch, middle, p.to}}
}

func rejectRow(b *decode.Batch, row int) (decode.Reject, error) {
	raw, err := b.Record(row)
	return decode.Reject{Page: b.Pages[row], Fetched: b.Fetched[row], Key: b.Key(row), Reason: decode.ReasonRefused,
		Raw: raw, Sum: b.Sums[row]}, err
}

// PlannedDelete is a row that the run's plan deletes.
type PlannedDelete struct {
	Key     string
	Updated int64 // its updatedAt in milliseconds since 1970; 0 when it has none
	// Filtered has the row's values in the columns that the scope of the run selects by, each followed by a zero byte.
	// It is empty without a scope.
	Filtered string
}

// PlannedDeletes returns at most limit rows that the run's plan deletes and that are in its scope. The choice differs
// from run to run, so that rows which are never confirmed do not keep others from being asked for.
func (w *Writer) PlannedDeletes(ctx context.Context, limit int) ([]PlannedDelete, error) {
	rows, err := w.pool.conn.Query(ctx, w.script.selectPlannedDeletes(limit), named("account", w.Account))
	all, err := scanned(rows, err, func(d *PlannedDelete) []any { return []any{&d.Key, &d.Updated, &d.Filtered} })
	if err != nil {
		return nil, fmt.Errorf("reading which rows of %s are gone: %w", w.Stream.Name, err)
	}
	return all, nil
}

// Known is a row that readers see.
type Known struct {
	Key     string
	Updated int64 // its updatedAt in milliseconds since 1970; 0 when it has none
	Staged  bool  // the run has read it
}

// Newest returns at most limit rows that readers see, those with the highest updatedAt first.
func (w *Writer) Newest(ctx context.Context, limit int) ([]Known, error) {
	rows, err := w.pool.conn.Query(ctx, w.script.selectNewest(limit), named("account", w.Account),
		named("run", w.ID.String()))
	all, err := scanned(rows, err, func(k *Known) []any { return []any{&k.Key, &k.Updated, &k.Staged} })
	if err != nil {
		return nil, fmt.Errorf("reading the newest rows of %s: %w", w.Stream.Name, err)
	}
	return all, nil
}

// CountAlike counts the rows that readers see of which the run has read a row with the same key and two thirds of their
// values.
func (w *Writer) CountAlike(ctx context.Context) (rows uint64, err error) {
	err = w.pool.conn.QueryRow(ctx, w.script.countAlike(), named("account", w.Account), named("run", w.ID.String())).Scan(&rows)
	if err != nil {
		return 0, fmt.Errorf("comparing what was read of %s with what is loaded: %w", w.Stream.Name, err)
	}
	return rows, nil
}

// KeepUnconfirmed cancels all planned deletes except those of the confirmed keys and those out of scope.
func (w *Writer) KeepUnconfirmed(ctx context.Context, confirmed []string) error {
	return w.keepBut(ctx, literals(confirmed))
}

// KeepAll cancels all planned deletes, those of rows out of scope too.
func (w *Writer) KeepAll(ctx context.Context) error {
	return w.cancel(ctx, w.script.deleteAllPlanned())
}

// keepBut cancels the planned deletes whose key, as text, is not in the list or query.
func (w *Writer) keepBut(ctx context.Context, confirmed string) error {
	return w.cancel(ctx, w.script.deletePlanned(confirmed))
}

func (w *Writer) cancel(ctx context.Context, planned string) error {
	err := w.pool.execAll(ctx, []step{{statement: planned, settings: clickhouse.Settings{"mutations_sync": 2}}})
	if err != nil {
		return fmt.Errorf("keeping rows of %s that are not listed: %w", w.Stream.Name, err)
	}
	return nil
}

// KeepUntilAbsent cancels the planned delete of each row that too few complete lists have lacked: fewer than lists of
// them in a row, this one included. It returns how many it cancelled. The run must have read the whole list. The call
// can be repeated: a run counts once. If count is false, the run is not counted and leaves no trace.
func (w *Writer) KeepUntilAbsent(ctx context.Context, lists int, count bool) (kept uint64, err error) {
	if lists <= 1 && !count {
		return 0, nil
	}
	if !count {
		lists-- // this one
	} else if err := w.countAbsence(ctx); err != nil {
		return 0, fmt.Errorf("counting how often rows of %s were not listed: %w", w.Stream.Name, err)
	}
	enough := w.script.selectAbsent(lists)
	err = w.pool.conn.QueryRow(ctx, w.script.countUnconfirmed(enough)).Scan(&kept)
	if err != nil || kept == 0 {
		return 0, err
	}
	return kept, w.keepBut(ctx, enough)
}

// countAbsence adds 1 to the count of each row that the run's plan deletes, and sets the counts of all other
// rows back to 0.
func (w *Writer) countAbsence(ctx context.Context) error {
	return w.pool.exec(ctx, w.script.countAbsence(), named("account", w.Account), named("stream", w.Stream.Name),
		named("run", w.ID.String()))
}
