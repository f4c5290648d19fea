package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// RejectState is what became of a rejected record; the view rejected_records explains each.
type RejectState string

// The states of rejected records. Loaded and Superseded may be set by Settle; the view tells the others from sync_runs.
const (
	RejectOpen        RejectState = "open"
	RejectLoaded      RejectState = "loaded"
	RejectSuperseded  RejectState = "superseded"
	RejectUnpublished RejectState = "unpublished"
)

// reading is the type of the columns last and published of rejects_log.
const reading = "Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)"

var rejectColumns = append(columns("account String, stream String, key String, field String, reason String, raw String, first_seen_at DateTime64(3), seen_at DateTime64(3)"),
	column{name: "last", typ: reading})

// Reject keeps in rejected_records what could not be loaded as it was sent (correctness rule 5). What was kept before is
// kept once (warehouse-11), so the same rejects can be kept again without harm.
func (w *Warehouse) Reject(ctx context.Context, r Run, rejects []decode.Reject) error {
	if len(rejects) == 0 {
		return nil
	}
	if err := w.keepRejects(ctx, r, rejects); err != nil {
		return fmt.Errorf("keeping the rejects of %s: %w", r.Stream.Name, err)
	}
	return nil
}

func (w *Warehouse) keepRejects(ctx context.Context, r Run, rejects []decode.Reject) error {
	if err := w.countRejects(ctx, r); err != nil {
		return err
	}
	version, now, err := w.rejectVersion(ctx, r)
	if err != nil {
		return err
	}
	return w.insert(ctx, "rejects_log", rejectColumns, func(b driver.Batch) error {
		for _, x := range rejects {
			last := []any{version, r.ID, x.Page, time.UnixMicro(x.Fetched).UTC(), x.Updated}
			if err := b.Append(r.Account, r.Stream.Name, x.Key, x.Field, x.Reason, x.Raw, now, now, last); err != nil {
				return err
			}
		}
		return nil
	})
}

// rejectVersion is a version above all that the rejects of the stream have, also where the clock of the warehouse was
// set back: what is written now is the last reading. With it comes the time.
func (w *Warehouse) rejectVersion(ctx context.Context, r Run) (version uint64, now time.Time, err error) {
	err = w.conn.QueryRow(ctx, "SELECT greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), max(greatest(last.version, settled.version)) + 1), now64(3, 'UTC')"+
		" FROM rejects_log WHERE account = {account:String} AND stream = {stream:String}", named("account", r.Account), named("stream", r.Stream.Name)).Scan(&version, &now)
	return version, now, err
}

// countRejects takes the readings of earlier runs into account, before those of this run take their place. Every step
// can be repeated: a reading that is counted is not counted again.
func (w *Warehouse) countRejects(ctx context.Context, r Run) error {
	if last, known := w.counted.Load(StreamID{r.Account, r.Stream.Name}); known && last == r.ID {
		return nil // all that is not counted is of this run
	}
	mine := "account = {account:String} AND stream = {stream:String}"
	err := w.exec(ctx, "INSERT INTO rejects_log (account, stream, key, field, reason, raw_hash, raw, first_seen_at, seen_at, last, published, counted, times, settled)\n"+
		"SELECT account, stream, key, field, reason, raw_hash, raw, first_seen_at, seen_at, last,"+
		" if(last.run_id IN (SELECT run_id FROM sync_runs WHERE "+mine+" AND "+publishedSomething+"), last, published), last.version,"+
		" times + if(last.run_id IN (SELECT run_id FROM sync_runs WHERE "+mine+" AND mode = "+quote(ModeRetry)+"), 0, 1), settled\n"+
		"FROM (SELECT account, stream, key, field, reason, raw_hash, max(raw) AS raw, min(first_seen_at) AS first_seen_at, max(seen_at) AS seen_at,"+
		" max(last) AS last, max(published) AS published, max(counted) AS counted, max(times) AS times, max(settled) AS settled"+
		" FROM rejects_log WHERE "+mine+" GROUP BY account, stream, key, field, reason, raw_hash)\n"+ // FINAL does not merge what is read of a part of a tuple
		"WHERE last.version > counted AND last.run_id != {run:UUID}",
		named("account", r.Account), named("stream", r.Stream.Name), named("run", r.ID.String()))
	if err == nil {
		w.counted.Store(StreamID{r.Account, r.Stream.Name}, r.ID)
	}
	return err
}

// RejectFilter narrows a choice of rejected records; zero values do not.
type RejectFilter struct {
	Account, Stream string
	RunID           uuid.UUID // of the last run that met it, or of the one whose reading counts
	Reason, Field   string
	Since           time.Time // met then or later
	Unsettled       bool      // only what is open or unpublished
	Limit           int       // of RejectedRecords; default 50
}

const rejectCondition = "({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})" +
	" AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})" +
	" AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})" +
	" AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})"

// args are the parameters of rejectCondition.
func (f RejectFilter) args() []any {
	since := int64(0)
	if !f.Since.IsZero() {
		since = f.Since.UnixMicro()
	}
	return []any{
		named("account", f.Account), named("stream", f.Stream), named("run", f.RunID.String()),
		named("reason", f.Reason), named("field", f.Field), named("since", fmt.Sprint(since)),
	}
}

// Rejected is a row of rejected_records. RunID, Page and ReadAt are of the reading that counts.
type Rejected struct {
	Account, Stream    string
	RunID              uuid.UUID
	Page               uint32
	Key, Field, Reason string
	Raw                string    // JSON of the value or the record, verbatim
	FirstSeen, SeenAt  time.Time // by the clock of the warehouse
	Times              uint64    // how many runs met it
	LastRunID          uuid.UUID // of the last of them
	ReadAt             time.Time
	State              RejectState
	SettledAt          *time.Time
}

// RejectedRecords lists rejected records, the newest first.
func (w *Warehouse) RejectedRecords(ctx context.Context, f RejectFilter) ([]Rejected, error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	condition := rejectCondition
	if f.Unsettled {
		condition += " AND " + unsettledRejects
	}
	rows, err := w.conn.Query(ctx, "SELECT account, stream, run_id, page, key, field, reason, raw, first_seen_at, seen_at, times, last_run_id, read_at, state, settled_at FROM rejected_records WHERE "+
		condition+" ORDER BY read_at DESC, account, stream, run_id, page, key, field, reason, raw LIMIT "+fmt.Sprint(f.Limit), f.args()...)
	all, err := scanned(rows, err, func(x *Rejected) []any {
		return []any{&x.Account, &x.Stream, &x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.FirstSeen, &x.SeenAt, &x.Times, &x.LastRunID, &x.ReadAt, (*string)(&x.State), &x.SettledAt}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rejected records: %w", err)
	}
	return all, nil
}

// OpenRejects counts the open rejects of a stream of an account.
type OpenRejects struct {
	Account, Stream string
	Rejects         uint64
}

// CountOpenRejects counts what a retry would try.
func (w *Warehouse) CountOpenRejects(ctx context.Context, f RejectFilter) ([]OpenRejects, error) {
	rows, err := w.conn.Query(ctx, "SELECT account, stream, count() FROM rejected_records WHERE state = "+quote(string(RejectOpen))+" AND "+rejectCondition+
		" GROUP BY account, stream ORDER BY account, stream", f.args()...)
	all, err := scanned(rows, err, func(x *OpenRejects) []any { return []any{&x.Account, &x.Stream, &x.Rejects} })
	if err != nil {
		return nil, fmt.Errorf("counting the rejected records: %w", err)
	}
	return all, nil
}

// Candidate is an open reject, with what it takes to try it again.
type Candidate struct {
	decode.Reject
	RunID uuid.UUID
	// Row is the record of a rejected field as it is stored now, as JSON with the API's names; '' when it is not there.
	Row     string
	RowRead int64 // when Row was read, in microseconds since 1970
	// Current says that Row is what was made of the record when it was rejected: nothing else has been loaded over it.
	Current bool

	hash string // of Raw
}

// Candidates calls f for each open reject of the run's stream, those of one record one after the other, in the order
// in which they were read. Of a record with rejected fields, all of them come when the filter lets one through: the
// record changes as a whole.
func (w *Warehouse) Candidates(ctx context.Context, r Run, filter RejectFilter, f func(Candidate) error) error {
	all := filter == RejectFilter{}
	filter.Account, filter.Stream = r.Account, r.Stream.Name
	rows, err := w.conn.Query(ctx, selectCandidates(r.Stream, all), filter.args()...)
	if err != nil {
		return fmt.Errorf("reading the open rejects of %s of account %s: %w", r.Stream.Name, r.Account, err)
	}
	defer rows.Close()
	for rows.Next() {
		var x Candidate
		var current uint8
		if err := rows.Scan(&x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.Fetched, &x.Updated, &x.hash, &x.Row, &x.RowRead, &current); err != nil {
			return fmt.Errorf("reading the open rejects of %s of account %s: %w", r.Stream.Name, r.Account, err)
		}
		x.Current = current == 1
		if err := f(x); err != nil {
			return err
		}
	}
	return rows.Err()
}

// selectCandidates joins the open rejects with the rows that their fields belong to. Such a row is still what the
// reject's run made of the record when it carries the run and the time of reading. Where a run reads the same content
// again, the row stays as it was: it is older than the reading, and the record had the same updatedAt, for with another
// it would have been replaced or be the newer one. A run that read the whole stream replaces rows whatever their
// updatedAt is. all says that nothing is filtered out.
func selectCandidates(s *catalog.Stream, all bool) string {
	// What was read by its own address is not listed, and must not be loaded as if it were: it is asked for again instead.
	open := "FROM rejected_records WHERE state = " + quote(string(RejectOpen)) + " AND account = {account:String} AND stream = {stream:String}" +
		" AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = " + quote(ModeReferences) + ")"
	matching := "SELECT key " + open + " AND field != '' AND " + rejectCondition
	chosen := " AND (field = '' AND " + rejectCondition + " OR field != '' AND key IN (" + matching + "))"
	if all {
		chosen = ""
	}
	key := keyNames(s)
	cast := "toUUIDOrZero(key)"
	if s.KeyType() == catalog.Int {
		cast = "toInt64OrZero(key)"
	}
	same, updated := "0", "0"
	if i := s.VersionField(); i >= 0 {
		same, updated = "l.updated = r.updated", "ifNull(toUnixTimestamp64Milli("+s.Fields[i].Column+"), 0)"
	}
	return "SELECT r.run_id, r.page, r.key, r.field, r.reason, r.raw, r.read, r.updated, r.hash, l.record, l.read," +
		" l.record != '' AND (l.run = r.run_id AND l.read = r.read OR l.read < r.read AND " + same + " OR u.whole AND l.run != r.run_id AND l.read < u.began)\n" +
		"FROM (SELECT run_id, page, key, field, reason, raw, toUnixTimestamp64Micro(read_at) AS read, ifNull(toUnixTimestamp64Milli(record_updated_at), 0) AS updated, sipHash128(raw) AS hash " + open + chosen + ") AS r\n" +
		"LEFT JOIN (SELECT toString(" + key + ") AS key, " + recordJSON(s) + " AS record, _run_id AS run, toInt64(bitAnd(_version, " + readPart + ")) AS read, " + updated + " AS updated\n" +
		"    FROM " + s.Name + "_latest FINAL WHERE account = {account:String} AND _deleted = 0 AND " + key + " IN (SELECT " + cast + " FROM (" + matching + "))) AS l ON l.key = r.key AND r.field != ''\n" +
		"LEFT JOIN (SELECT run_id, " + wholeModes + " AS whole, toUnixTimestamp64Micro(toDateTime64(started_at, 6, 'UTC')) AS began FROM sync_runs) AS u ON u.run_id = r.run_id\n" +
		"ORDER BY r.field != '', r.key, r.read, r.run_id, r.page, r.field\n" +
		"SETTINGS join_use_nulls = 0"
}

// recordJSON writes a stored row as the record that it came from, in JSON with the API's names.
func recordJSON(s *catalog.Stream) string {
	var values, types []string
	for _, f := range s.Fields {
		values = append(values, f.Column)
		types = append(types, "`"+f.JSON+"` "+f.ColumnType())
	}
	known := "toJSONString(CAST(tuple(" + strings.Join(values, ", ") + "), " + quote("Tuple("+strings.Join(types, ", ")+")") + "))"
	return "if(_extra = '', " + known + ", concat(substring(" + known + ", 1, length(" + known + ") - 1), ',', substring(_extra, 2)))"
}

// PlannedKeys are the keys of the rows that the run's plan inserts or updates.
func (w *Warehouse) PlannedKeys(ctx context.Context, r Run) (map[string]bool, error) {
	return w.keys(ctx, r, r.changes()+" WHERE "+isWritten)
}

// StagedKeys are the keys of the rows that the run has staged.
func (w *Warehouse) StagedKeys(ctx context.Context, r Run) (map[string]bool, error) {
	return w.keys(ctx, r, r.Stream.Name+"_staging WHERE run_id = {run:UUID}")
}

func (w *Warehouse) keys(ctx context.Context, r Run, from string) (map[string]bool, error) {
	keys := map[string]bool{}
	rows, err := w.conn.Query(ctx, "SELECT toString("+keyNames(r.Stream)+") FROM "+from, named("run", r.ID.String()))
	if err == nil {
		err = collect(rows, func(key string) { keys[key] = true })
	}
	if err != nil {
		return nil, fmt.Errorf("reading which rows of %s will change: %w", r.Stream.Name, err)
	}
	return keys, nil
}

// Brief is the candidate without its texts, to be settled later.
func (c Candidate) Brief() Candidate {
	c.Raw, c.Row = "", ""
	return c
}

// Settled is a candidate that needs no further retry, and what became of it.
type Settled struct {
	Candidate
	State RejectState
}

// decision is the type of the column settled of rejects_log.
const decision = "Tuple(version UInt64, run_id UUID, state String, settled_by UUID, settled_at DateTime64(3, 'UTC'))"

var settledColumns = append(columns("account String, stream String, key String, field String, reason String, raw_hash FixedString(16), first_seen_at DateTime64(3)"),
	column{name: "settled", typ: decision})

// settleRows bounds one insert.
const settleRows = 50_000

// never is later than any time at which something was met.
var never = time.Date(2299, 1, 1, 0, 0, 0, 0, time.UTC)

// Settle keeps what became of rejects, once that is durable. It can be repeated without harm. What is decided holds for
// the reading that the candidate is of: once the value is met again, it is open again.
func (w *Warehouse) Settle(ctx context.Context, r Run, settled []Settled) error {
	for len(settled) > 0 {
		n := min(len(settled), settleRows)
		version, now, err := w.rejectVersion(ctx, r)
		if err == nil {
			err = w.insert(ctx, "rejects_log", settledColumns, func(b driver.Batch) error {
				for _, x := range settled[:n] {
					what := []any{version, x.RunID, string(x.State), r.ID, now}
					if err := b.Append(r.Account, r.Stream.Name, x.Key, x.Field, x.Reason, x.hash, never, what); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("settling the rejects of %s of account %s: %w", r.Stream.Name, r.Account, err)
		}
		settled = settled[n:]
	}
	return nil
}
