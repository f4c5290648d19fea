package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Reasons of a Miss.
const (
	MissNotFound = "not_found" // the service does not know the key
	MissRefused  = "refused"   // it refused the request
	MissUnusable = "unusable"  // what it gave is no record with this key
)

// Reference is a key of a stream that rows of another stream name.
type Reference struct {
	Stream string
	Key    uuid.UUID
}

// Miss is a reference that the service does not give.
type Miss struct {
	Key    uuid.UUID
	Reason string
}

// UnknownReferences are keys of the streams to, at most limit of them, that rows of the stream from name and of which
// nothing is known. Those that the rows changed last name come first, and after all others those that were asked for in
// vain longer ago than retry; what was asked for since is left out. So is a stream of which no list was ever loaded: all
// that it lists would be unknown.
func (w *Warehouse) UnknownReferences(ctx context.Context, account string, from *catalog.Stream, to []*catalog.Stream, retry time.Duration, limit int) ([]Reference, error) {
	query := unknownReferences(from, to)
	if query == "" || limit <= 0 {
		return nil, nil
	}
	rows, err := w.conn.Query(ctx, query, named("account", account), named("retry", fmt.Sprint(retry.Milliseconds())), named("limit", fmt.Sprint(limit)))
	all, err := scanned(rows, err, func(r *Reference) []any { return []any{&r.Stream, &r.Key} })
	if err != nil {
		return nil, fmt.Errorf("looking for what %s of account %s name: %w", from.Name, account, err)
	}
	return all, nil
}

// unknownReferences reads the storage without FINAL: that an earlier version of a row named the key is reason enough.
// Parameters: account, retry in milliseconds and limit. It is empty where from names none of the streams.
func unknownReferences(from *catalog.Stream, to []*catalog.Stream) string {
	changed := from.Fields[from.VersionField()].Column
	var parts []string
	for _, f := range from.Fields {
		for _, s := range to {
			if f.RefersTo != s.Name || !s.ByID {
				continue
			}
			mine := " WHERE account = {account:String} AND stream = " + quote(s.Name)
			misses := "SELECT id FROM reference_misses_log" + mine
			parts = append(parts, "SELECT "+quote(s.Name)+" AS stream, assumeNotNull("+f.Column+") AS key, max("+changed+") AS newest\n"+
				"FROM "+from.Name+"_latest WHERE account = {account:String} AND "+f.Column+" IS NOT NULL\n"+
				"    AND "+f.Column+" NOT IN (SELECT "+s.KeyColumn()+" FROM "+s.Name+"_latest WHERE account = {account:String})\n"+
				"    AND "+f.Column+" NOT IN ("+misses+" AND asked_at > now64(3) - toIntervalMillisecond({retry:Int64}) AND asked_at <= now64(3) + toIntervalMillisecond("+
				fmt.Sprint(clockTolerance.Milliseconds())+"))\n"+
				"    AND account IN (SELECT account FROM sync_runs_log"+mine+" AND outcome = "+quote(OutcomeSuccess)+" AND "+wholeLooks+")\n"+
				"GROUP BY key")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "SELECT stream, key FROM\n(\n" + strings.Join(parts, "\nUNION ALL\n") + "\n)\n" +
		"ORDER BY (stream, key) IN (SELECT stream, id FROM reference_misses_log WHERE account = {account:String}), newest DESC, key\n" +
		"LIMIT {limit:UInt64}"
}

var missColumns = columns("account String, stream String, id UUID, reason String, asked_at DateTime64(3)")

// SaveMisses remembers, with the time, what the service did not give.
func (w *Warehouse) SaveMisses(ctx context.Context, r Run, misses []Miss) error {
	if len(misses) == 0 {
		return nil
	}
	if err := w.saveMisses(ctx, r, misses); err != nil {
		return fmt.Errorf("remembering which %s are not there: %w", r.Stream.Name, err)
	}
	return nil
}

func (w *Warehouse) saveMisses(ctx context.Context, r Run, misses []Miss) error {
	mine := "account = {account:String} AND stream = {stream:String}"
	args := []any{named("account", r.Account), named("stream", r.Stream.Name)}
	now, next, err := w.timeAfter(ctx, newestTime("asked_at"), "reference_misses_log WHERE "+mine, args...)
	if err != nil {
		return err
	}
	// The time is what the next question waits for, so here a wrong one is not outdone but dropped.
	if latest := now.Add(clockTolerance); next.After(latest) {
		next = now
		err := w.execAll(ctx, []step{{fmt.Sprintf("ALTER TABLE reference_misses_log DELETE WHERE %s AND asked_at > fromUnixTimestamp64Milli(%d)", mine, latest.UnixMilli()),
			clickhouse.Settings{"mutations_sync": 2}}}, args...)
		if err != nil {
			return err
		}
	}
	return w.insert(ctx, "reference_misses_log", missColumns, func(b driver.Batch) error {
		for _, m := range misses {
			if err := b.Append(r.Account, r.Stream.Name, m.Key, m.Reason, next); err != nil {
				return err
			}
		}
		return nil
	})
}
