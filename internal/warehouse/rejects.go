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

// ModeRetry is what sync_runs calls a run that loads rejected records again. It says nothing about the freshness of the
// stream.
const ModeRetry = "retry"

var rejectColumns = columns("account String, stream String, run_id UUID, page UInt32, key String, field String, reason String, raw String, read_at DateTime64(6)")

// Reject keeps in rejected_records what could not be loaded as it was sent (correctness rule 5). The same rejects can
// be kept again without harm.
func (w *Warehouse) Reject(ctx context.Context, r Run, rejects []decode.Reject) error {
	if len(rejects) == 0 {
		return nil
	}
	err := w.insert(ctx, "rejected_records_log", rejectColumns, func(b driver.Batch) error {
		for _, x := range rejects {
			if err := b.Append(r.Account, r.Stream.Name, r.ID, x.Page, x.Key, x.Field, x.Reason, x.Raw, time.UnixMicro(x.Fetched).UTC()); err != nil {
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

// RejectFilter narrows a choice of rejected records; zero values do not.
type RejectFilter struct {
	Account, Stream string
	RunID           uuid.UUID
	Reason, Field   string
	Since           time.Time // read then or later
	Unsettled       bool      // only what is open or unpublished
	Limit           int       // of RejectedRecords; default 50
}

const rejectCondition = "({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})" +
	" AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID})" +
	" AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})" +
	" AND toUnixTimestamp64Micro(read_at) >= {since:Int64}"

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

// Rejected is a row of rejected_records.
type Rejected struct {
	Account, Stream    string
	RunID              uuid.UUID
	Page               uint32
	Key, Field, Reason string
	Raw                string // JSON of the value or the record, verbatim
	SeenAt, ReadAt     time.Time
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
		condition += " AND state IN ('" + string(RejectOpen) + "', '" + string(RejectUnpublished) + "')"
	}
	rows, err := w.conn.Query(ctx, "SELECT account, stream, run_id, page, key, field, reason, raw, seen_at, read_at, state, settled_at FROM rejected_records WHERE "+
		condition+" ORDER BY read_at DESC, account, stream, run_id, page, key, field, reason, raw LIMIT "+fmt.Sprint(f.Limit), f.args()...)
	all, err := scanned(rows, err, func(x *Rejected) []any {
		return []any{&x.Account, &x.Stream, &x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.SeenAt, &x.ReadAt, (*string)(&x.State), &x.SettledAt}
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
	rows, err := w.conn.Query(ctx, "SELECT account, stream, count() FROM rejected_records WHERE state = 'open' AND "+rejectCondition+
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
	// Current says that Row is what the reject's run made of the record: nothing has been loaded over it.
	Current bool

	hash uint64 // of Raw
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
		if err := rows.Scan(&x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.Fetched, &x.hash, &x.Row, &x.RowRead, &current); err != nil {
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
// reject's run made of the record when it carries the run and the time of reading. A run that read the whole stream
// leaves rows as they were where it read the same content: those are older than the run, and nothing came after it. all
// says that nothing is filtered out.
func selectCandidates(s *catalog.Stream, all bool) string {
	// What was read by its own address is not listed, and must not be loaded as if it were: it is asked for again instead.
	open := "FROM rejected_records WHERE state = 'open' AND account = {account:String} AND stream = {stream:String}" +
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
	return "SELECT r.run_id, r.page, r.key, r.field, r.reason, r.raw, r.read, r.hash, l.record, l.read," +
		" l.record != '' AND (l.run = r.run_id AND l.read = r.read OR u.whole AND l.run != r.run_id AND l.read < u.began)\n" +
		"FROM (SELECT run_id, page, key, field, reason, raw, toUnixTimestamp64Micro(read_at) AS read, sipHash64(raw) AS hash " + open + chosen + ") AS r\n" +
		"LEFT JOIN (SELECT toString(" + key + ") AS key, " + recordJSON(s) + " AS record, _run_id AS run, toInt64(bitAnd(_version, " + readPart + ")) AS read\n" +
		"    FROM " + s.Name + "_latest FINAL WHERE account = {account:String} AND _deleted = 0 AND " + key + " IN (SELECT " + cast + " FROM (" + matching + "))) AS l ON l.key = r.key AND r.field != ''\n" +
		"LEFT JOIN (SELECT run_id, mode IN ('snapshot', 'walk', 'full') AS whole, toUnixTimestamp64Micro(toDateTime64(started_at, 6, 'UTC')) AS began FROM sync_runs) AS u ON u.run_id = r.run_id\n" +
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

var settledColumns = columns("account String, stream String, run_id UUID, page UInt32, key String, field String, reason String, raw_hash UInt64, state String, settled_by UUID")

// settleRows bounds one insert.
const settleRows = 50_000

// Settle keeps what became of rejects, once that is durable. It can be repeated without harm.
func (w *Warehouse) Settle(ctx context.Context, r Run, settled []Settled) error {
	for len(settled) > 0 {
		n := min(len(settled), settleRows)
		err := w.insert(ctx, "settled_rejects_log", settledColumns, func(b driver.Batch) error {
			for _, x := range settled[:n] {
				if err := b.Append(r.Account, r.Stream.Name, x.RunID, x.Page, x.Key, x.Field, x.Reason, x.hash, string(x.State), r.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("settling the rejects of %s of account %s: %w", r.Stream.Name, r.Account, err)
		}
		settled = settled[n:]
	}
	return nil
}
