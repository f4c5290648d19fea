package warehouse

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// recorder records each statement that is sent over a connection, and which function sent it.
type recorder struct {
	driver.Conn
	sent *sent
}

type sent struct {
	mu   sync.Mutex
	each []statement
}

func (s *sent) record(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each = append(s.each, statement{sender(), text})
}

// sender returns the function of the package that sends a statement. Functions between it and the connection
// are left out.
func sender() string {
	stack := make([]uintptr, 32)
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack)])
	for {
		frame, more := frames.Next()
		file := filepath.Base(frame.File)
		if strings.Contains(frame.Function, "/internal/warehouse.") && file != "statement.go" && file != "retry.go" &&
			!strings.HasSuffix(file, "_test.go") {
			name := frame.Function[strings.Index(frame.Function, "/internal/warehouse.")+len("/internal/warehouse."):]
			name, _, _ = strings.Cut(name, ".func")
			return strings.NewReplacer("(*", "", ")", "").Replace(name)
		}
		if !more {
			return "?"
		}
	}
}

func (c recorder) Exec(ctx context.Context, query string, args ...any) error {
	c.sent.record(query)
	return c.Conn.Exec(ctx, query, args...)
}

func (c recorder) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	c.sent.record(query)
	return c.Conn.Query(ctx, query, args...)
}

func (c recorder) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	c.sent.record(query)
	return c.Conn.QueryRow(ctx, query, args...)
}

func (c recorder) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	c.sent.record(query)
	return c.Conn.PrepareBatch(ctx, query, opts...)
}

var (
	anyRunTable = regexp.MustCompile(`_[0-9a-f]{32}\b`)
	anyUUID     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyTime     = regexp.MustCompile(`\b[0-9]{12,}\b`)
	anyDatabase = regexp.MustCompile("`test_[0-9]+`")
	anyList     = regexp.MustCompile(`\(''(, '[^']*')+\)`)
)

// constant returns a statement with one value for what differs from run to run.
func constant(statement string) string {
	statement = anyRunTable.ReplaceAllString(statement, "_"+strings.ReplaceAll(goldenRun, "-", ""))
	statement = anyUUID.ReplaceAllString(statement, goldenRun)
	statement = anyTime.ReplaceAllString(statement, goldenTime)
	statement = anyDatabase.ReplaceAllString(statement, "`dealhouse`")
	return anyList.ReplaceAllString(statement, "('', 'a', 'b')")
}

// shape returns a statement without what differs from run to run, and without its line breaks.
func shape(statement string) string { return strings.Join(strings.Fields(constant(statement)), " ") }

// everything makes a warehouse do all that it can, for each stream, and returns what it sent.
func everything(t *testing.T) []statement {
	t.Helper()
	all := &sent{}
	w, err := Open(t.Context(), Options{
		DSN: enginetest.DSN(), Database: "test_1000000", // one that was never migrated
		Wrap: func(c driver.Conn) driver.Conn { return recorder{c, all} },
	})
	must(t, err)
	aside, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database}) // for statements of the test
	must(t, err)
	t.Cleanup(func() {
		must(t, aside.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+w.database+" SYNC"), aside.Close(),
			w.Close())
	})
	_, err = w.Migrate(t.Context())
	must(t, err, w.CheckSchema(t.Context()))
	must(t, aside.exec(t.Context(), "ALTER TABLE products_staging MODIFY COLUMN _hash FixedString(16) DEFAULT sipHash128(url) COMMENT 'an earlier one'"),
		aside.exec(t.Context(), "ALTER TABLE products_staging DROP COLUMN brand_name"))
	_, err = w.Migrate(t.Context())
	must(t, err)
	t.Run("streams", func(t *testing.T) {
		for _, s := range catalog.All() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				everyStep(t, w, aside, s)
			})
		}
	})
	everyQuestion(t, w)
	return all.each
}

// records returns pages of a stream: what the first run reads, and what the second finds changed, new and gone.
func records(s *catalog.Stream) (first, second string) {
	id := func(n int) string {
		switch {
		case s.DerivedKey:
			return fmt.Sprintf(`"url":"https://shop.test/%d"`, n)
		case s.KeyType() == catalog.Int:
			return fmt.Sprintf(`"id":%d`, n)
		}
		return fmt.Sprintf(`"id":"00000000-0000-4000-8000-%012d"`, n)
	}
	record := func(n int, at, more string) string { return "{" + id(n) + `,"updatedAt":"` + at + `"` + more + "}" }
	history := ""
	if s.Child != nil {
		history = `,"history":[{"yearMonthDay":"2026-01-01","price":1,"views":1}]`
	}
	first = "[" + record(1, "2026-01-01T00:00:00Z", history) + "," + record(2, "2026-01-01T00:00:00Z", "") + "," +
		record(3, "2026-01-01T00:00:00Z", "") + "]"
	changed := `,"payoutId":7,"status":"CONFIRMED","description":"changed","totalGmv":1,"name":"changed","brand":"changed"`
	return first, "[" + record(1, "2026-01-02T00:00:00Z", changed) + "," + record(4, "2299-01-01T00:00:00Z", changed) +
		"," + record(4, "2026-01-02T00:00:00Z", "") + "]"
}

// everyStep loads a stream in each way. The statements of all streams are made alike, so streams without a golden file
// get only two runs.
func everyStep(t *testing.T, w, aside *Warehouse, s *catalog.Stream) {
	t.Helper()
	ctx := t.Context()
	first, second := records(s)
	loadStream(t, w, s, Whole, first, func(x *Writer, _ Changes) {
		reject := decode.Reject{Page: 1, Key: "1", Field: "description", Reason: "test", Raw: "1",
			Fetched: x.StartedAt.UnixMicro() + 1000}
		must(t, x.Reject(ctx, []decode.Reject{reject}), x.SaveCheckpoint(ctx, Checkpoint{RunID: x.ID}),
			x.ClearCheckpoint(ctx), x.SaveBackfill(ctx, BackfillPrefix+"x", ""))
		_, err := x.StagedKeys(ctx)
		must(t, err)
	})
	everyRetry(t, aside, w.Writer(Run{ID: uuid.New(), Account: "acme", Stream: s}))
	loadStream(t, w, s, Whole, second, func(x *Writer, c Changes) {
		if c.Deleted == 0 || c.Updated == 0 || c.Ahead == 0 && s.VersionField() >= 0 {
			t.Errorf("the second list of %s leaves statements out: %+v", s.Name, c)
		}
		_, err := x.PlannedKeys(ctx, c)
		must(t, err)
		_, err = x.PlannedDeletes(ctx, goldenLimit)
		must(t, err)
		_, err = x.KeepUntilAbsent(ctx, 1, true)
		must(t, err)
		must(t, x.KeepUnconfirmed(ctx, []string{"00000000-0000-4000-8000-000000000002", "2"}))
	})
	if !slices.Contains(goldenStreams, s.Name) {
		return
	}
	for _, scope := range []Scope{Part, Unlisted} {
		loadStream(t, w, s, scope, first, func(*Writer, Changes) {})
	}
	everyRecovery(t, w, s, first)
}

// stageAll begins a run, stages a page and plans.
func stageAll(t *testing.T, w *Warehouse, s *catalog.Stream, scope Scope, page string) (*Lease, *Writer, Changes) {
	t.Helper()
	ctx := t.Context()
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: s}
	l, err := w.Acquire(ctx, r)
	must(t, err)
	r.StartedAt = l.Begun()
	x := w.Writer(r)
	_, err = x.Recover(ctx, l, r.ID)
	must(t, err)
	b := decode.NewBatch(s)
	must(t, decode.New(s).Page(b, []byte(page), 1, r.StartedAt.UnixMicro()))
	_, err = x.Stage(ctx, 1, b)
	must(t, err)
	n, err := x.CountStaged(ctx)
	must(t, err)
	c, err := x.Plan(ctx, scope, n)
	must(t, err)
	return l, x, c
}

func loadStream(t *testing.T, w *Warehouse, s *catalog.Stream, scope Scope, page string,
	between func(*Writer, Changes)) {
	t.Helper()
	ctx := t.Context()
	l, x, c := stageAll(t, w, s, scope, page)
	between(x, c)
	c.Inserted, c.Updated, c.Deleted, c.Older = 0, 0, 0, 0
	must(t, x.count(ctx, &c)) // steps in between may take some of it back
	now, err := w.Now(ctx)
	must(t, err)
	prepared, err := x.Prepare(ctx, c, now)
	must(t, err)
	record := RunRecord{Account: x.Account, Stream: s.Name, RunID: x.ID, Mode: "full", StartedAt: x.StartedAt,
		FinishedAt: now, Outcome: OutcomeSuccess, Changes: c}
	must(t, x.Publish(ctx, l, Intent{RunID: x.ID, MergedAt: now, Record: record, Prepared: prepared}), l.Release(ctx))
}

// everyRetry retries rejected records, and remembers those that do not exist.
func everyRetry(t *testing.T, aside *Warehouse, x *Writer) {
	t.Helper()
	ctx := t.Context()
	var settled []Settled
	for _, f := range []RejectFilter{{}, {Reason: "test"}} {
		must(t, x.Candidates(ctx, f, func(c Candidate) error {
			settled = append(settled, Settled{c.Brief(), RejectLoaded})
			return nil
		}))
	}
	if len(settled) == 0 {
		t.Errorf("%s has no rejects to settle", x.Stream.Name)
	}
	must(t, x.Settle(ctx, settled))
	must(t, aside.exec(ctx, "INSERT INTO reference_misses_log (account, stream, id, reason, asked_at) SELECT 'acme', '"+
		x.Stream.Name+"', generateUUIDv4(), 'not_found', now64(3) + toIntervalDay(1)"))
	must(t, x.SaveMisses(ctx, []Miss{{uuid.New(), MissNotFound}}))
}

// everyRecovery finishes, gives up and removes what dead runs left behind.
func everyRecovery(t *testing.T, w *Warehouse, s *catalog.Stream, page string) {
	t.Helper()
	ctx := t.Context()
	for _, dropped := range []bool{false, true} {
		l, x, c := stageAll(t, w, s, Whole, page)
		if !dropped {
			_, err := x.Prepare(ctx, c, x.StartedAt)
			must(t, err)
		}
		c.Inserted++ // so that there is something to attach
		record := RunRecord{Account: x.Account, Stream: s.Name, RunID: x.ID, StartedAt: x.StartedAt, Outcome: OutcomeSuccess,
			Changes: c}
		must(t, w.saveJSON(ctx, x.Run, intentName(x.ID), Intent{RunID: x.ID, Record: record}))
		must(t, l.Expire(ctx)) // the next holder recovers
	}
	var states, cleared []stateRow
	for i := range 2 * keptCleared {
		name := fmt.Sprintf("%s%d", BackfillPrefix, i)
		states, cleared = append(states, stateRow{name, "1", uint64(i + 1)}), append(cleared,
			stateRow{name, "", uint64(i + 1000)})
	}
	must(t, w.saveStates(ctx, "acme", s.Name, states...), w.saveStates(ctx, "acme", s.Name, cleared...))
	must(t, w.saveStates(ctx, "acme", s.Name,
		stateRow{BackfillPrefix + "old", `{"run_id":"` + uuid.NewString() + `"}`, 1}))
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: s}
	l, err := w.Acquire(ctx, r)
	must(t, err)
	l.AssumeUnclean()
	_, err = w.Writer(r).Recover(ctx, l, r.ID)
	must(t, err, l.Release(ctx))
}

// everyLedgerQuestion makes all queries about forecasts, settlements and packets.
func everyLedgerQuestion(t *testing.T, w *Warehouse) {
	t.Helper()
	ctx := t.Context()
	_, err := w.UnpaidCohorts(ctx, "acme", time.UnixMilli(0), time.UnixMilli(1), goldenHorizon)
	must(t, err)
	_, err = w.LoadedDays(ctx, "acme")
	must(t, err)
	must(t, w.EachDueTransaction(ctx, "acme", time.UnixMilli(1), nil, func(DueTransaction) error { return nil }))
	must(t, w.AddSettlements(ctx, []SettlementRevision{{Account: "acme", Reference: "a", Revision: 1,
		ReceivedOn: time.UnixMilli(0).UTC(), Payouts: []int64{1}}}))
	_, err = w.SettlementRevisions(ctx, "acme")
	must(t, err)
	_, err = w.Settlements(ctx, "acme")
	must(t, err)
	_, err = w.ThreeWays(ctx, "acme")
	must(t, err)
	_, err = w.ThreeWaysOfPayout(ctx, "acme", 1)
	must(t, err)
	_, err = w.SettlementsOfPayout(ctx, "acme", 1)
	must(t, err)
	_, err = w.RevisionsOfSettlements(ctx, "acme", []string{"a"})
	must(t, err)
	_, err = w.CountSettlements(ctx, "acme")
	must(t, err)
	_, err = w.PayoutsDue(ctx, "acme")
	must(t, err)
	_, err = w.PayoutsReadAt(ctx, "acme")
	must(t, err)
	must(t, w.AddSettlementMatches(ctx, "acme", []SettlementMatch{{Account: "acme", Reference: "a", Revision: 1}}))
	_, err = w.SettlementMatches(ctx, "acme")
	must(t, err)
	_, err = w.ReadTextTable(ctx, "settlement_revisions")
	must(t, err)
	_, err = w.RecordVersions(ctx, catalog.Payouts(), "acme", []string{"1"})
	must(t, err)
}

// everyQuestion makes all queries that do not belong to a run.
func everyQuestion(t *testing.T, w *Warehouse) {
	t.Helper()
	ctx := t.Context()
	transactions, err := catalog.Find("transactions")
	must(t, err)
	_, err = w.RecoverAll(ctx)
	must(t, err)
	_, err = w.HasAccount(ctx, "acme")
	must(t, err)
	_, err = w.HasFindings(ctx, "acme")
	must(t, err)
	_, err = w.RecordFindings(ctx, "acme", []Finding{{"acme", "missing", "1", "test"}})
	must(t, err)
	_, err = w.PayoutExceptions(ctx, PayoutsToRead{Account: "acme", Payouts: []int64{1, 2, 3}, Unseen: []int64{2, 3}})
	must(t, err)
	_, err = w.PayoutCurrencies(ctx, "acme", []int64{1})
	must(t, err, w.Acknowledge(ctx, "acme",
		[]Acknowledgement{{Payout: 1, Kind: "altered", Entries: []string{"a"}, Amounts: make([]decimal.Decimal, 1)}}))
	_, err = w.Acknowledgements(ctx, "acme")
	must(t, err, w.CloseMonth(ctx, &Close{Account: "acme", Month: time.UnixMilli(0).UTC()}))
	_, err = w.Closes(ctx, "acme")
	must(t, err)
	closed := []Close{{Month: time.UnixMilli(0).UTC(), SeenTo: time.UnixMilli(1)}}
	_, err = w.ChangeSums(ctx, "acme", time.UnixMilli(0), time.UnixMilli(1), closed)
	must(t, err)
	_, err = w.Changes(ctx, "acme", time.UnixMilli(0), time.UnixMilli(1), nil)
	must(t, err)
	_, err = w.PaidBefore(ctx, "acme", []int64{1}, time.UnixMilli(1), nil)
	must(t, err)
	_, err = w.PayoutsOf(ctx, "acme", time.UnixMilli(0), time.UnixMilli(1), nil)
	must(t, err)
	must(t, w.EachChange(ctx, "acme", time.UnixMilli(0), time.UnixMilli(1), nil, func(Change) error { return nil }))
	_, _, err = w.SeenTo(ctx, "acme")
	must(t, err)
	everyLedgerQuestion(t, w)
	one := int64(1)
	for _, f := range []PayoutFilter{{}, {Account: "acme", Since: time.UnixMilli(1), Payout: &one}} {
		_, err = w.Payouts(ctx, f)
		must(t, err)
		_, err = w.PayoutTransactions(ctx, f)
		must(t, err)
		_, err = w.PayoutOrphans(ctx, f)
		must(t, err)
		_, err = w.PayoutOverdue(ctx, f, time.Hour)
		must(t, err)
	}
	for _, f := range []RunFilter{{}, {PerStream: 1}, {WholeLooks: true}, {PerStream: 1, WholeLooks: true},
		{PerStream: 1, WholeLooks: true, Brief: true}} {
		_, err = w.Runs(ctx, f)
		must(t, err)
	}
	for _, unsettled := range []bool{false, true} {
		_, err = w.RejectedRecords(ctx, RejectFilter{Unsettled: unsettled})
		must(t, err)
	}
	_, err = w.CountOpenRejects(ctx, RejectFilter{})
	must(t, err)
	_, err = w.UnknownReferences(ctx, "acme", transactions, catalog.All(), time.Hour, goldenLimit)
	must(t, err)
	_, err = w.Status(ctx)
	must(t, err)
	_, err = w.LatestChecks(ctx)
	must(t, err)
	_, err = w.RecordAction(ctx, Action{Action: ActionPause, Key: "test"})
	must(t, err)
	_, err = w.EarlierAction(ctx, Action{Action: ActionPause, Key: "test"})
	must(t, err)
	_, err = w.Actions(ctx, goldenLimit)
	must(t, err)
	_, err = w.Directives(ctx)
	must(t, err)
	_, err = w.UnknownFields(ctx)
	must(t, err)
	_, err = w.NoteUnknownFields(ctx, StreamID{Account: "acme", Stream: transactions.Name}, []string{"test"})
	must(t, err)
	_, err = w.VanishedFields(ctx)
	must(t, err)
	_, err = w.OpenFindings(ctx)
	must(t, err)
	_, err = w.GuardedRuns(ctx)
	must(t, err)
	_, err = w.Openings(ctx)
	must(t, err)
	_, err = w.Storage(ctx)
	must(t, err)
	_, err = w.Dictionary(ctx)
	must(t, err)
	_, err = w.Ping(ctx)
	must(t, err)
	for _, s := range catalog.All() {
		everyCheck(t, w, s)
		id := StreamID{"acme", s.Name}
		_, err = w.ChangesByDay(ctx, id, 3)
		must(t, err)
		_, err = w.RejectGroups(ctx, id, 3)
		must(t, err)
		if _, err = w.RowsByDay(ctx, id, 3); HasDays(s.Name) {
			must(t, err)
		}
	}
}

// everyCheck checks a stream after a small run and after a large one that knows the service's time.
func everyCheck(t *testing.T, w *Warehouse, s *catalog.Stream) {
	t.Helper()
	now, err := w.Now(t.Context())
	must(t, err)
	small := RunRecord{Account: "acme", Stream: s.Name, RunID: uuid.New(), Mode: "full", StartedAt: now,
		FinishedAt: now.Add(time.Hour), Outcome: OutcomeSuccess, Changes: Changes{Inserted: 1}}
	must(t, w.SaveRun(t.Context(), small))
	large := small
	large.ServerTime, large.Changes.Inserted = now, largeJoin
	for _, run := range []RunRecord{small, large} {
		_, err := w.CheckQuality(t.Context(), run)
		must(t, err)
	}
}
