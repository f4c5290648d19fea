package warehouse

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"dealhouse/internal/decode"
)

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
		Raw: raw}, err
}
