package warehouse

import (
	"context"
	"fmt"
	"strings"
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

// selectUnknownReferences reads the keys that were ever named, even if only an earlier version of a row named them.
// Parameters: account, retry in milliseconds and limit. The text is empty if from names none of the streams.
func selectUnknownReferences(from *catalog.Stream, to []*catalog.Stream) string {
	var names, known []string
	for _, s := range to {
		if s.ByID && from.Reference(s) != nil {
			names = append(names, s.Name)
			known = append(known, sql("SELECT $stream, $key FROM $latest WHERE account = {account:String}",
				parts{"stream": quote(s.Name), "key": s.KeyColumn(), "latest": latestTable(s)}))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return sqlFile("select_unknown_references", parts{
		"named": namedTable(from), "streams": words(names), "known": strings.Join(known, "\n        UNION ALL "),
		"tolerance": fmt.Sprint(clockTolerance.Milliseconds()), "success": quote(OutcomeSuccess), "whole": wholeLooks,
	})
}

// deleteLaterMisses drops what is dated after a time in milliseconds: a clock that was wrong wrote it.
func deleteLaterMisses(latest int64) string {
	return sql(`ALTER TABLE reference_misses_log DELETE
WHERE account = {account:String} AND stream = {stream:String} AND asked_at > fromUnixTimestamp64Milli($latest)`,
		parts{"latest": fmt.Sprint(latest)})
}

// ReadBackfill returns the state of a backfill that was unfinished when the lease was taken, or nil. name begins with
// BackfillPrefix.
func ReadBackfill[T any](l *Lease, name string) (*T, error) {
	return parseState[T](l.account, l.stream, name, l.state(name))
}

// SaveBackfill stores the state of a backfill when there is nothing to publish with it. Otherwise the state belongs in
// the Intent. An empty value removes it.
func (w *Writer) SaveBackfill(ctx context.Context, name, value string) error {
	return w.save(ctx, stateRow{name, value, 0})
}
