package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// DayChanges are what the runs of a stream did to its rows on one day, UTC.
type DayChanges struct {
	Day                        time.Time
	Inserted, Updated, Deleted uint64
	Runs, Faults               uint64
}

// ChangesByDay returns the changes by runs that read the list of a stream, for each of the last days with a run, the
// oldest first. A day is that of the warehouse's clock, and the last one is today.
func (r Reader) ChangesByDay(ctx context.Context, id StreamID, days int) ([]DayChanges, error) {
	rows, err := r.once.Query(ctx, selectChangesByDay, named("account", id.Account), named("stream", id.Stream),
		named("days", uint32(days)))
	all, err := scanned(rows, err, func(d *DayChanges) []any {
		return []any{&d.Day, &d.Inserted, &d.Updated, &d.Deleted, &d.Runs, &d.Faults}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the changes of %s of account %s by day: %w", id.Stream, id.Account, err)
	}
	return all, nil
}

// DayRows are the live rows of one day, UTC.
type DayRows struct {
	Day  time.Time
	Rows uint64
}

// HasDays reports whether RowsByDay knows the stream.
func HasDays(stream string) bool {
	s, err := catalog.Find(stream)
	return err == nil && s.ByDay != nil
}

// RowsByDay counts the live rows of each of the newest days that have any, the oldest first, by the day that the
// catalog names (ByDay). Days in the future are left out. It is an error if the rows of the stream belong to no day.
func (r Reader) RowsByDay(ctx context.Context, id StreamID, days int) ([]DayRows, error) {
	s, err := catalog.Find(id.Stream)
	if err != nil {
		return nil, err
	}
	if s.ByDay == nil {
		return nil, fmt.Errorf("the rows of %s belong to no day", id.Stream)
	}
	rows, err := r.once.Query(ctx, selectRowsByDay(s.ByDay), named("account", id.Account),
		named("days", uint32(days)))
	all, err := scanned(rows, err, func(d *DayRows) []any { return []any{&d.Day, &d.Rows} })
	if err != nil {
		return nil, fmt.Errorf("counting the rows of %s of account %s by day: %w", id.Stream, id.Account, err)
	}
	slices.Reverse(all)
	return all, nil
}

// RejectGroup is a value or a record that cannot be loaded as it is sent. It is one group, however often it was sent.
type RejectGroup struct {
	Key, Field, Reason string
	Raw                string // the beginning of it, when it is long
	Size               uint64 // of the whole, in bytes
	Page               uint32
	RunID              string
	FirstSeen, SeenAt  time.Time
	Times              uint64 // how many runs met it
}

// RejectGroups lists the values that could not be loaded as they were sent and still are not loaded, the
// last seen first.
func (r Reader) RejectGroups(ctx context.Context, id StreamID, limit int) ([]RejectGroup, error) {
	rows, err := r.once.Query(ctx, selectRejectGroups, named("account", id.Account), named("stream", id.Stream),
		named("limit", uint32(limit)))
	all, err := scanned(rows, err, func(r *RejectGroup) []any {
		return []any{&r.Key, &r.Field, &r.Reason, &r.Raw, &r.Size, &r.Page, &r.RunID, &r.FirstSeen, &r.SeenAt, &r.Times}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rejected records of %s of account %s: %w", id.Stream, id.Account, err)
	}
	return all, nil
}

// selectChangesByDay adds up what the runs that read the list of a stream did to its rows, for each of the last days
// with a run, the oldest first. Parameters: account, stream and days.
var selectChangesByDay = sql(`SELECT toDate32(started_at) AS day, sum(inserted), sum(updated), sum(deleted), count(),
    countIf($faulty)
FROM (SELECT started_at, outcome, if($published, inserted, 0) AS inserted, if($published, updated, 0) AS updated,
          if($published, deleted, 0) AS deleted
      FROM sync_runs WHERE account = {account:String} AND stream = {stream:String} AND $whole)
WHERE started_at > now64(3, 'UTC') - toIntervalDay({days:UInt32})
GROUP BY day ORDER BY day`, parts{"faulty": faulty, "published": publishedSomething, "whole": wholeLooks})

// selectRowsByDay counts the live rows of each of the newest days that have any, the newest first. Days in the future
// are left out. Parameters: account and days.
func selectRowsByDay(by *catalog.ByDay) string {
	return sql(`SELECT assumeNotNull($day) AS on_day, count() AS live
FROM $view WHERE account = {account:String} AND isNotNull($day) AND $day <= toDate32(now64(3, 'UTC'))
GROUP BY on_day ORDER BY on_day DESC LIMIT {days:UInt32}`, parts{"view": by.View, "day": "toDate32(" + by.Column + ")"})
}

// maxRaw is how many characters of a rejected value are shown.
const maxRaw = 4000

// selectRejectGroups selects the values of a stream that could not be loaded and still are not loaded, the last seen
// first. Parameters: account, stream and limit.
var selectRejectGroups = sql(`SELECT key, field, reason, substringUTF8(raw, 1, $most), toUInt64(length(raw)), page,
    toString(run_id), first_seen_at, seen_at, times
FROM rejected_records WHERE account = {account:String} AND stream = {stream:String} AND $unsettled
ORDER BY seen_at DESC, key, field, raw LIMIT {limit:UInt32}`,
	parts{"most": fmt.Sprint(maxRaw), "unsettled": unsettledRejects})

// RunSpan is when a run was under way, and how it ended.
type RunSpan struct {
	StreamID
	Mode, Outcome string
	From          time.Time
	To            time.Time // zero while it is under way, or until a killed run is stored as one
}

// RunSpans returns the runs that were under way at any time between from and to, the oldest first. If there are
// more than most, it returns the newest of them, and more is true. A run that began more than a month before
// from is left out. A run whose process is certainly gone is killed, as in Runs.
func (w *Warehouse) RunSpans(ctx context.Context, from, to time.Time, most int) (spans []RunSpan, more bool, err error) {
	rows, err := w.once.Query(ctx, selectRunSpans(most), named("from", fmt.Sprint(from.UnixMilli())),
		named("to", fmt.Sprint(to.UnixMilli())))
	type row struct {
		RunSpan
		id uuid.UUID
		to *time.Time
	}
	all, err := scanned(rows, err, func(s *row) []any {
		return []any{&s.Account, &s.Stream, &s.Mode, &s.Outcome, &s.From,
			&s.to, &s.id}
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading the runs of a day: %w", err)
	}
	if more = len(all) > most; more {
		all = all[:most]
	}
	dead, err := w.deadRuns(ctx, runningOf(all, func(s *row) (uuid.UUID, string) { return s.id, s.Outcome }))
	if err != nil {
		return nil, false, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if dead[all[i].id] {
			all[i].Outcome = OutcomeKilled
		}
		all[i].To = orZero(all[i].to)
		spans = append(spans, all[i].RunSpan)
	}
	return spans, more, nil
}

// selectRunSpans reads the rows of runs that began in the time in question, or in the month before.
func selectRunSpans(most int) string {
	return sql(`SELECT account, stream, mode, outcome, started_at, finished_at, run_id FROM sync_runs
WHERE started_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND started_at > fromUnixTimestamp64Milli({from:Int64}, 'UTC') - toIntervalDay(31)
    AND (isNull(finished_at) AND outcome = $running OR finished_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC'))
ORDER BY started_at DESC, account, stream LIMIT $limit`,
		parts{"limit": fmt.Sprint(most + 1), "running": quote(OutcomeRunning)})
}

// RecordVersion is a version of a record as it was loaded.
type RecordVersion struct {
	Key       string
	LoadedAt  time.Time
	UpdatedAt *time.Time // of the service; nil: it says none
	Deleted   bool       // it was found gone; Content is then what it was before
	Hash      string     // of the content, by which the warehouse tells versions apart, in hexadecimal digits
	RunID     string     // that loaded it
	Content   string     // every field as it was loaded, as JSON with the names of the columns
}

// versionKeys is how many records are read at once.
const versionKeys = 200

// RecordVersions reads all versions of records of an account, in the order of the keys, the oldest of each first.
func (r Reader) RecordVersions(ctx context.Context, s *catalog.Stream, account string,
	keys []string) ([]RecordVersion, error) {
	var all []RecordVersion
	for len(keys) > 0 {
		n := min(len(keys), versionKeys)
		rows, err := r.retrying.Query(ctx, selectRecordVersions(s), named("account", account),
			named("keys", "["+words(keys[:n])+"]"))
		some, err := scanned(rows, err, func(v *RecordVersion) []any {
			return []any{&v.Key, &v.LoadedAt, &v.UpdatedAt, &v.Deleted, &v.Hash, &v.RunID, &v.Content}
		})
		if err != nil {
			return nil, fmt.Errorf("reading the versions of %s: %w", s.Name, err)
		}
		all, keys = append(all, some...), keys[n:]
	}
	return all, nil
}

// selectRecordVersions selects all versions of some records. Parameters: account and keys.
func selectRecordVersions(s *catalog.Stream) string {
	var names, types []string
	for _, c := range append(keyColumns(s), dataColumns(s)...) {
		names, types = append(names, c.name), append(types, c.name+" "+c.typ)
	}
	updated := "CAST(NULL AS Nullable(DateTime64(3, 'UTC')))"
	if i := s.VersionField(); i >= 0 {
		updated = "toNullable(" + s.Fields[i].Column + ")"
	}
	key := keyColumns(s)[0]
	return sql(`SELECT toString($key), synced_at, $updated, _deleted = 1, lower(hex(_hash)), toString(_run_id),
    toJSONString(CAST(tuple($names) AS Tuple($types)))
FROM $versions
WHERE account = {account:String} AND $key IN (SELECT CAST(arrayJoin({keys:Array(String)}) AS $type))
ORDER BY indexOf({keys:Array(String)}, toString($key)), _version, synced_at
SETTINGS output_format_json_named_tuples_as_objects = 1, output_format_json_quote_64bit_integers = 0,
    output_format_json_quote_decimals = 0, output_format_json_escape_forward_slashes = 0`, parts{
		"key": key.name, "type": key.typ, "updated": updated, "names": strings.Join(names, ", "),
		"types": strings.Join(types, ", "), "versions": versionsTable(s),
	})
}
