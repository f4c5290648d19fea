package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Reasons of a Miss.
const (
	MissNotFound = "not_found" // the service does not know the key
	MissRefused  = "refused"   // it refused the request
	MissUnusable = "unusable"  // what it returned is no record with this key
)

// Reference is a key of a stream that rows of another stream name.
type Reference struct {
	Stream string
	Key    uuid.UUID
}

// Miss is a reference for which the service returned no record.
type Miss struct {
	Key    uuid.UUID
	Reason string
}

// unknownReferences returns at most limit keys of the streams to that rows of the stream from name, and of which
// nothing is known. Keys that were named by the rows that changed last come first. Keys for which the service returned
// no record come after all others, and only if they were last asked for longer ago than retry. A stream of which no
// list was ever loaded is left out: all that it lists would be unknown.
func (r Reader) unknownReferences(ctx context.Context, account string, from *catalog.Stream, to []*catalog.Stream,
	retry time.Duration, limit int) ([]Reference, error) {
	query := selectUnknownReferences(from, to)
	if query == "" || limit <= 0 {
		return nil, nil
	}
	rows, err := r.retrying.Query(ctx, query, named("account", account), named("retry", fmt.Sprint(retry.Milliseconds())),
		named("limit", fmt.Sprint(limit)))
	all, err := scanned(rows, err, func(r *Reference) []any { return []any{&r.Stream, &r.Key} })
	if err != nil {
		return nil, fmt.Errorf("looking for what %s of account %s name: %w", from.Name, account, err)
	}
	return all, nil
}

var missColumns = columns("account String, stream String, id UUID, reason String, asked_at DateTime64(3)")

// SaveMisses stores, with the time, what the service did not return.
func (w *Writer) SaveMisses(ctx context.Context, misses []Miss) error {
	if len(misses) == 0 {
		return nil
	}
	if err := w.saveMisses(ctx, misses); err != nil {
		return fmt.Errorf("remembering which %s are not there: %w", w.Stream.Name, err)
	}
	return nil
}

func (w *Writer) saveMisses(ctx context.Context, misses []Miss) error {
	args := []any{named("account", w.Account), named("stream", w.Stream.Name)}
	now, next, err := w.pool.timeAfter(ctx, newestTime("asked_at"),
		"reference_misses_log WHERE account = {account:String} AND stream = {stream:String}", args...)
	if err != nil {
		return err
	}
	// This time decides when a key is asked for again, so a wrong one is deleted and not only replaced.
	if latest := now.Add(clockTolerance); next.After(latest) {
		next = now
		if err := w.pool.execAll(ctx, []step{{statement: deleteLaterMisses(latest.UnixMilli()),
			settings: clickhouse.Settings{"mutations_sync": 2}}}, args...); err != nil {
			return err
		}
	}
	return insertEach(ctx, w.pool, "reference_misses_log", missColumns, misses, func(m Miss) []any {
		return []any{w.Account, w.Stream.Name, m.Key, m.Reason, next}
	})
}
