package warehouse

import (
	"context"
	"fmt"
	"slices"

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

// CountStaged counts the rows that the run has staged so far.
func (w *Writer) CountStaged(ctx context.Context) (uint64, error) {
	var n uint64
	if err := w.pool.conn.QueryRow(ctx, w.script.countStaged(), named("run", w.ID.String())).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting what run %s of %s has staged: %w", w.ID, w.Stream.Name, err)
	}
	return n, nil
}

// rowValues returns the columns of a piece, in the order of stagingColumns.
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
	return columns
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
	columns := stagingColumns(w.Stream)
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
