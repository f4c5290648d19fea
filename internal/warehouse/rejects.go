package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// RejectState is what became of a rejected record; the view rejected_records explains each.
type RejectState string

// The states of rejected records. Settle may set Loaded and Superseded; the view finds out the others from sync_runs.
const (
	RejectOpen        RejectState = "open"
	RejectLoaded      RejectState = "loaded"
	RejectSuperseded  RejectState = "superseded"
	RejectUnpublished RejectState = "unpublished"
)

// RejectFilter narrows a choice of rejected records. Zero values do not narrow it.
type RejectFilter struct {
	Account, Stream string
	RunID           uuid.UUID // of the last run that met it, or of the one whose reading counts
	Reason, Field   string
	Since           time.Time // met then or later
	Unsettled       bool      // only what is open or unpublished
	Limit           int       // of RejectedRecords; default 50
}

// args returns the parameters of rejectCondition.
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
func (r Reader) RejectedRecords(ctx context.Context, f RejectFilter) ([]Rejected, error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	rows, err := r.retrying.Query(ctx, selectRejected(f.Unsettled, fmt.Sprint(f.Limit)), f.args()...)
	all, err := scanned(rows, err, func(x *Rejected) []any {
		return []any{
			&x.Account, &x.Stream, &x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.FirstSeen,
			&x.SeenAt, &x.Times, &x.LastRunID, &x.ReadAt, (*string)(&x.State), &x.SettledAt,
		}
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

// CountOpenRejects counts what a retry would try. Mostly nothing was ever rejected, and to see that costs a twentieth
// of planning the view.
func (r Reader) CountOpenRejects(ctx context.Context, f RejectFilter) ([]OpenRejects, error) {
	var n uint64
	if err := r.retrying.QueryRow(ctx, selectAnyReject).Scan(&n); err != nil {
		return nil, fmt.Errorf("looking for rejected records: %w", err)
	}
	if n == 0 {
		return nil, nil
	}
	rows, err := r.retrying.Query(ctx, countOpenRejects, f.args()...)
	all, err := scanned(rows, err, func(x *OpenRejects) []any { return []any{&x.Account, &x.Stream, &x.Rejects} })
	if err != nil {
		return nil, fmt.Errorf("counting the rejected records: %w", err)
	}
	return all, nil
}

// reading is the type of the columns last and published of rejects_log, and decision that of the column settled.
const (
	reading  = "Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)"
	decision = "Tuple(version UInt64, run_id UUID, state String, settled_by UUID, settled_at DateTime64(3, 'UTC'))"
)

// selectRejectVersion returns a version above all versions that the rejects of the stream have, and the time.
const selectRejectVersion = `SELECT greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), max(greatest(last.version, settled.version)) + 1), now64(3, 'UTC')
FROM rejects_log WHERE account = {account:String} AND stream = {stream:String}`

// insertCounted counts the readings of earlier runs. If only a part of a tuple is read, FINAL does not merge it, so the
// rows are grouped.
var insertCounted = sqlFile("insert_counted",
	parts{"mine": "account = {account:String} AND stream = {stream:String}", "published": publishedSomething,
		"retry": quote(ModeRetry)})

// rejectCondition is the condition for the rejects that a RejectFilter selects.
const rejectCondition = `({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})`

// selectRejected selects rejected records, the newest first. Its parameters are those of rejectCondition.
func selectRejected(unsettled bool, limit string) string {
	condition := rejectCondition
	if unsettled {
		condition += " AND " + unsettledRejects
	}
	return sql(`SELECT account, stream, run_id, page, key, field, reason, raw, first_seen_at, seen_at, times, last_run_id, read_at, state, settled_at
FROM rejected_records
WHERE $condition
ORDER BY read_at DESC, account, stream, run_id, page, key, field, reason, raw LIMIT $limit`,
		parts{"condition": condition, "limit": limit})
}

// selectAnyReject says whether anything was ever rejected: it counts 1 row or none.
const selectAnyReject = "SELECT count() FROM (SELECT 1 FROM rejects_log LIMIT 1)"

// countOpenRejects counts the open rejects of each stream. Its parameters are those of rejectCondition.
var countOpenRejects = `SELECT account, stream, count() FROM rejected_records
WHERE state = ` + quote(string(RejectOpen)) + ` AND ` + rejectCondition + `
GROUP BY account, stream ORDER BY account, stream`

// selectCandidates joins the open rejects with the rows that their fields belong to. It says of such a row whether it
// is still what the reject's run made of the record. That is so in three cases:
//
//   - The row carries the run and the time of reading of the reject.
//   - The run read the same content again, so the row stayed as it was: it is older than the reading, and the record
//     had the same updatedAt. With another one, it would have been replaced, or would be the newer one.
//   - The run read the whole stream, and the row was read before that run began. Such a run replaces rows whatever
//     their updatedAt is.
//
// all says that nothing is filtered out. Records that were read by their own addresses are left out: no list has them,
// so they must not be loaded as if one did. They are asked for again instead.
func (x script) selectCandidates(all bool) string {
	open := x.render(`FROM rejected_records
    WHERE state = $open AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = $references)`,
		parts{"open": quote(string(RejectOpen)), "references": quote(ModeReferences)})
	matching := "SELECT key " + open + " AND field != '' AND " + rejectCondition
	chosen := sql(" AND (field = '' AND $condition OR field != '' AND key IN ($matching))",
		parts{"condition": rejectCondition, "matching": matching})
	if all {
		chosen = ""
	}
	cast := "toUUIDOrZero(key)"
	if x.Stream.KeyType() == catalog.Int {
		cast = "toInt64OrZero(key)"
	}
	same, updated := "0", "0"
	if i := x.Stream.VersionField(); i >= 0 {
		same, updated = "l.updated = r.updated", "ifNull(toUnixTimestamp64Milli("+x.Stream.Fields[i].Column+"), 0)"
	}
	return x.sqlFile("select_candidates", parts{
		"same": same, "open": open, "chosen": chosen, "record": recordJSON(x.Stream), "updated": updated, "cast": cast,
		"matching": matching, "whole": wholeModes,
	})
}

// recordJSON writes a stored row as the record that it came from, in JSON with the API's names.
func recordJSON(s *catalog.Stream) string {
	var values, types []string
	for _, f := range s.Fields {
		values = append(values, f.Column)
		types = append(types, "`"+f.JSON+"` "+f.ColumnType())
	}
	known := sql("toJSONString(CAST(tuple($values), $type))",
		parts{"values": strings.Join(values, ", "), "type": quote("Tuple(" + strings.Join(types, ", ") + ")")})
	return sql("if(_extra = '', $known, concat(substring($known, 1, length($known) - 1), ',', substring(_extra, 2)))",
		parts{"known": known})
}

var rejectColumns = append(columns("account String, stream String, key String, field String, reason String, raw String, first_seen_at DateTime64(3), seen_at DateTime64(3)"),
	column{name: "last", typ: reading})

// Reject stores values that could not be loaded as sent in rejected_records. A value is stored once (warehouse-11), so
// the same rejects can be stored again without harm.
func (w *Writer) Reject(ctx context.Context, rejects []decode.Reject) error {
	if len(rejects) == 0 {
		return nil
	}
	if err := w.keepRejects(ctx, rejects); err != nil {
		return fmt.Errorf("keeping the rejects of %s: %w", w.Stream.Name, err)
	}
	return nil
}

func (w *Writer) keepRejects(ctx context.Context, rejects []decode.Reject) error {
	if err := w.countRejects(ctx); err != nil {
		return err
	}
	version, now, err := w.rejectVersion(ctx)
	if err != nil {
		return err
	}
	return insertEach(ctx, w.pool, "rejects_log", rejectColumns, rejects, func(x decode.Reject) []any {
		last := []any{version, w.ID, x.Page, time.UnixMicro(x.Fetched).UTC(), x.Updated}
		return []any{w.Account, w.Stream.Name, x.Key, x.Field, x.Reason, x.Raw, now, now, last}
	})
}

// rejectVersion returns a version above all versions that the rejects of the stream have, even if the clock of the
// warehouse was set back: what is written now is the last reading. It also returns the time.
func (w *Writer) rejectVersion(ctx context.Context) (version uint64, now time.Time, err error) {
	err = w.pool.conn.QueryRow(ctx, selectRejectVersion, named("account", w.Account),
		named("stream", w.Stream.Name)).Scan(&version, &now)
	return version, now, err
}

// countRejects counts the readings of earlier runs, before those of this run replace them. Every step can be repeated:
// a reading that is counted is not counted again.
func (w *Writer) countRejects(ctx context.Context) error {
	id := StreamID{w.Account, w.Stream.Name}
	if last, known := w.pool.counted.Load(id); known && last == w.ID {
		return nil // all that is not counted is of this run
	}
	err := w.pool.exec(ctx, insertCounted, named("account", w.Account), named("stream", w.Stream.Name),
		named("run", w.ID.String()))
	if err == nil {
		w.pool.counted.Store(id, w.ID)
	}
	return err
}

// RejectStates returns all states of a rejected record.
func RejectStates() []RejectState {
	return []RejectState{RejectOpen, RejectLoaded, RejectSuperseded, RejectUnpublished}
}

// unsettledRejects is the condition of rejected_records for rejects about which nothing has been decided.
var unsettledRejects = "state IN (" + words([]RejectState{RejectOpen, RejectUnpublished}) + ")"

// Candidate is an open reject, with everything that a retry needs.
type Candidate struct {
	decode.Reject
	RunID uuid.UUID
	// Row is the record of a rejected field as it is stored now, as JSON with the API's names; empty if it
	// is not stored.
	Row     string
	RowRead int64 // when Row was read, in microseconds since 1970
	// Current says that Row is still what was made of the record when it was rejected: nothing else has been
	// loaded since.
	Current bool

	hash string // of Raw
}

// Candidates calls f for each open reject of the run's stream. The rejects of one record follow each other, in the
// order in which they were read. If the filter selects one rejected field of a record, f gets all rejected fields of
// that record, since the record changes as a whole.
func (w *Writer) Candidates(ctx context.Context, filter RejectFilter, f func(Candidate) error) error {
	all := filter == RejectFilter{}
	filter.Account, filter.Stream = w.Account, w.Stream.Name
	rows, err := w.pool.conn.Query(ctx, w.script.selectCandidates(all), filter.args()...)
	var stopped error // by f
	err = each(rows, err, func(x *Candidate) []any {
		return []any{&x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.Fetched, &x.Updated, &x.hash, &x.Row,
			&x.RowRead, &x.Current}
	}, func(x Candidate) error {
		stopped = f(x)
		return stopped
	})
	if err != nil && stopped == nil {
		return fmt.Errorf("reading the open rejects of %s of account %s: %w", w.Stream.Name, w.Account, err)
	}
	return err
}

// Brief returns the candidate without its texts. The rest is enough to settle it later.
func (c Candidate) Brief() Candidate {
	c.Raw, c.Row = "", ""
	return c
}

// Settled is a candidate that needs no further retry, and its result.
type Settled struct {
	Candidate
	State RejectState
}

var settledColumns = append(columns("account String, stream String, key String, field String, reason String, raw_hash FixedString(16), first_seen_at DateTime64(3)"),
	column{name: "settled", typ: decision})

// settleRows is the largest number of rows of one insert.
const settleRows = 50_000

// never is later than any time at which a reject was met.
var never = time.Date(2299, 1, 1, 0, 0, 0, 0, time.UTC)

// Settle stores the results of rejects. Call it after what the results say is stored durably. It can be repeated
// without harm. A result holds only for the reading that the candidate comes from: if the value is met again, the
// reject is open again.
func (w *Writer) Settle(ctx context.Context, settled []Settled) error {
	for len(settled) > 0 {
		n := min(len(settled), settleRows)
		version, now, err := w.rejectVersion(ctx)
		if err == nil {
			err = insertEach(ctx, w.pool, "rejects_log", settledColumns, settled[:n], func(x Settled) []any {
				what := []any{version, x.RunID, string(x.State), w.ID, now}
				return []any{w.Account, w.Stream.Name, x.Key, x.Field, x.Reason, x.hash, never, what}
			})
		}
		if err != nil {
			return fmt.Errorf("settling the rejects of %s of account %s: %w", w.Stream.Name, w.Account, err)
		}
		settled = settled[n:]
	}
	return nil
}
