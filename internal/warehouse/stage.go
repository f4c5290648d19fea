package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// Stage writes a batch to the staging table of its stream. number counts the
// batches of the run: the same number with the same rows can be staged again without harm, since the server knows it
// by its deduplication token. Nothing that readers see changes.
func (w *Warehouse) Stage(ctx context.Context, r Run, b *decode.Batch, number int) error {
	if err := w.StageRows(ctx, r, number, b); err != nil {
		return err
	}
	if err := w.stageChildren(ctx, r, b, r.ids(b.Children.Len()), number); err != nil {
		return fmt.Errorf("staging batch %d of %s: %w", number, r.Stream.Child.Table, err)
	}
	return nil
}

// StageRows writes several batches as one, without their children.
func (w *Warehouse) StageRows(ctx context.Context, r Run, number int, batches ...*decode.Batch) error {
	var blocks [][]any
	for _, b := range batches {
		if b.Len() == 0 {
			continue
		}
		columns := []any{r.ids(b.Len())}
		if b.Stream.DerivedKey {
			columns = append(columns, b.Keys, b.KeyRules)
		}
		blocks = append(blocks, append(appendValues(columns, &b.Rows), b.Nulls, b.Extra, b.Pages, b.Fetched))
	}
	if len(blocks) == 0 {
		return nil
	}
	begin := time.Now()
	if err := w.insertColumns(ctx, r.Stream.Name+"_staging", stagingColumns(r.Stream), token(r, number), blocks...); err != nil {
		return fmt.Errorf("staging batch %d of %s: %w", number, r.Stream.Name, err)
	}
	w.metrics.staged(r, time.Since(begin))
	return nil
}

// ids is the column run_id of so many rows.
func (r Run) ids(rows int) []uuid.UUID {
	ids := make([]uuid.UUID, rows)
	for i := range ids {
		ids[i] = r.ID
	}
	return ids
}

func (w *Warehouse) stageChildren(ctx context.Context, r Run, b *decode.Batch, run []uuid.UUID, number int) error {
	if b.Children.Len() == 0 {
		return nil
	}
	fetched := make([]uint64, len(b.Children.Fetched))
	for i, f := range b.Children.Fetched {
		fetched[i] = uint64(f)
	}
	columns := append(appendValues([]any{run, b.Parents}, &b.Children), b.Children.Nulls, fetched)
	return w.insertColumns(ctx, r.Stream.Child.Table+"_staging", childStagingColumns(r.Stream), token(r, number), columns)
}

func appendValues(columns []any, rows *decode.Rows) []any {
	for i := range rows.Columns {
		columns = append(columns, rows.Columns[i].Values(rows.Fields[i].Type))
	}
	return columns
}

// token names a batch to the server's deduplication: the same rows, and nothing else. The attempt is part of it, since
// a continued run may cut its batches differently, and rows that come under a known token are dropped unseen.
func token(r Run, number int) string { return fmt.Sprintf("%s-%s-%d", r.ID, r.Attempt, number) }

// insertColumns sends whole columns, those of several blocks as one. Their types are known, so the server is not asked
// for them.
func (w *Warehouse) insertColumns(ctx context.Context, table string, cols []column, token string, blocks ...[]any) error {
	ctx = clickhouse.Context(ctx, knownColumns(cols), clickhouse.WithSettings(clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": token,
		"optimize_on_insert": 0, // every row is kept until the merge, so that rows can be counted
	}))
	batch, err := w.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+joinNames(cols)+")")
	if err != nil {
		return err
	}
	defer batch.Close() //nolint:errcheck // after Send it does nothing; before it, the error that counts is returned
	for _, values := range blocks {
		for i, v := range values {
			if err := batch.Column(i).Append(v); err != nil {
				return fmt.Errorf("column %s: %w", cols[i].name, err)
			}
		}
	}
	return batch.Send()
}

var rejectColumns = columns("account String, stream String, run_id UUID, page UInt32, key String, field String, reason String, raw String")

// Reject keeps in rejected_records what could not be loaded as it was sent (correctness rule 5). The same rejects can
// be kept again without harm.
func (w *Warehouse) Reject(ctx context.Context, r Run, rejects []decode.Reject) error {
	if len(rejects) == 0 {
		return nil
	}
	err := w.insert(ctx, "rejected_records_log", rejectColumns, func(b driver.Batch) error {
		for _, x := range rejects {
			if err := b.Append(r.Account, r.Stream.Name, r.ID, x.Page, x.Key, x.Field, x.Reason, x.Raw); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keeping the rejects of %s: %w", r.Stream.Name, err)
	}
	return nil
}

// DropStaging drops the rows of a run that are staged.
func (w *Warehouse) DropStaging(ctx context.Context, s *catalog.Stream, run uuid.UUID) error {
	tables := []string{s.Name + "_staging"}
	if s.Child != nil {
		tables = append(tables, s.Child.Table+"_staging")
	}
	for _, table := range tables {
		if err := w.exec(ctx, "ALTER TABLE "+table+" DROP PARTITION "+quote(run.String())); err != nil {
			return fmt.Errorf("dropping run %s from %s: %w", run, table, err)
		}
	}
	return nil
}
