package warehouse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// saleAt returns a transaction; without a time of sale if sold is "".
func saleAt(id, sold, status, updated string) string {
	at := ""
	if sold != "" {
		at = fmt.Sprintf(`"soldAt":%q,`, sold)
	}
	return fmt.Sprintf(`{"id":%q,%s"status":%q,"updatedAt":%q,"cashback":1.5,"orderValue":10,"currencyCode":"EUR","passbackUid":"u1"}`, id, at, status, updated)
}

func sales(rows ...string) string { return "[" + strings.Join(rows, ",") + "]" }

// derivedHold checks that every derived table of the transactions is as if it had just been rebuilt.
func derivedHold(t *testing.T, w *Warehouse) {
	t.Helper()
	wrong, err := w.CheckDerived(t.Context(), StreamID{"acme", "transactions"})
	if err != nil || len(wrong) > 0 {
		t.Errorf("not as if they were made anew: %v %v", wrong, err)
	}
	if kept := text(t, w, `SELECT account FROM (SELECT account, toInt64(rows) AS n FROM stream_counts WHERE stream = 'transactions'
UNION ALL SELECT account, -toInt64(count()) AS n FROM transactions GROUP BY account) GROUP BY account HAVING sum(n) != 0`); len(kept) > 0 {
		t.Errorf("stream_counts is wrong for %v", kept)
	}
}

// TestMovedSale changes the time of a sale, there and back, also to none, and makes the sale vanish and come back.
// Without a wide sample, it is changed there and back, and the derived tables are compared after every fourth run only.
func TestMovedSale(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const day1, day2, day3 = "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z", "2026-01-03T10:00:00Z"
	updated := func(n int) string { return fmt.Sprintf("2026-02-%02dT00:00:00Z", n) }
	load(t, w, "transactions", Whole, sales(saleAt(idA, day1, "PENDING", updated(1)),
		saleAt(idB, day1, "PENDING", updated(1)), saleAt(idC, "", "PENDING", updated(1))))
	type want struct {
		changes Changes
		sold    string // of A, as the view shows it; "gone" if it does not
		history int    // versions of A
	}
	other := saleAt(idB, day1, "PENDING", updated(1)) + "," + saleAt(idC, "", "PENDING", updated(1))
	for i, test := range []struct {
		name  string
		scope Scope
		rows  string
		want  want
	}{
		{"to another day", Part, saleAt(idA, day2, "PENDING", updated(2)),
			want{Changes{Updated: 1, Moved: 1, Distinct: 1, Staged: 1, Live: 3}, day2, 2}},
		{"back", Part, saleAt(idA, day1, "PENDING", updated(3)),
			want{Changes{Updated: 1, Moved: 1, Distinct: 1, Staged: 1, Live: 3}, day1, 3}},
		{"there again", Part, saleAt(idA, day2, "PENDING", updated(4)),
			want{Changes{Updated: 1, Moved: 1, Distinct: 1, Staged: 1, Live: 3}, day2, 4}},
		{"where it is", Part, saleAt(idA, day2, "CONFIRMED", updated(5)),
			want{Changes{Updated: 1, Distinct: 1, Staged: 1, Live: 3}, day2, 5}},
		{"an older state, elsewhere", Part, saleAt(idA, day1, "PENDING", updated(3)),
			want{Changes{Older: 1, Distinct: 1, Staged: 1, Live: 3}, day2, 5}},
		{"the same again", Part, saleAt(idA, day2, "CONFIRMED", updated(5)),
			want{Changes{Unchanged: 1, Distinct: 1, Staged: 1, Live: 3, Same: true}, day2, 5}},
		{"to no time", Part, saleAt(idA, "", "CONFIRMED", updated(6)),
			want{Changes{Updated: 1, Moved: 1, Distinct: 1, Staged: 1, Live: 3}, "", 6}},
		{"from none", Part, saleAt(idA, day3, "CONFIRMED", updated(7)),
			want{Changes{Updated: 1, Moved: 1, Distinct: 1, Staged: 1, Live: 3}, day3, 7}},
		{"gone", Whole, other, want{Changes{Deleted: 1, Unchanged: 2, Distinct: 2, Staged: 2, Live: 3}, "gone", 7}},
		{"still gone", Whole, other, want{Changes{Unchanged: 2, Distinct: 2, Staged: 2, Live: 2, Same: true}, "gone", 7}},
		{"back on another day", Part, saleAt(idA, day1, "CONFIRMED", updated(8)),
			want{Changes{Inserted: 1, Moved: 1, Distinct: 1, Staged: 1, Live: 2}, day1, 8}},
		{"set back, by the whole list", Whole, other + "," + saleAt(idA, day2, "PENDING", updated(2)),
			want{Changes{Updated: 1, Moved: 1, Unchanged: 2, Distinct: 3, Staged: 3, Live: 3}, day2, 9}},
		{"all move at once", Whole, saleAt(idA, day3, "PENDING", updated(9)) + "," + saleAt(idB, "", "PENDING", updated(9)) +
			"," + saleAt(idC, day3, "PENDING", updated(9)),
			want{Changes{Updated: 3, Moved: 3, Distinct: 3, Staged: 3, Live: 3}, day3, 10}},
	} {
		if i == enginetest.Sample(3, 1000) {
			break
		}
		if d := cmp.Diff(test.want.changes, load(t, w, "transactions", test.scope, sales(test.rows)), anySum); d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
		if i%2 == 1 { // as merges leave it, or before they run
			must(t, w.exec(t.Context(), "OPTIMIZE TABLE transactions_latest FINAL"))
		}
		if i%4 == 0 || enginetest.Wide() {
			derivedHold(t, w)
		}
		shown := strings.Join(text(t, w, "SELECT ifNull(formatDateTime(sold_at, '%Y-%m-%dT%H:%i:%SZ'), '') FROM transactions WHERE id = '"+idA+"'"), ",")
		if want := strings.TrimSuffix(test.want.sold, "gone"); shown != want ||
			(test.want.sold == "gone") != (len(text(t, w, "SELECT id FROM transactions WHERE id = '"+idA+"'")) == 0) {
			t.Errorf("%s: shown as sold at %q", test.name, shown)
		}
		if n := text(t, w, "SELECT count() FROM transactions_history WHERE id = '"+idA+
			"'"); n[0] != fmt.Sprint(test.want.history) {
			t.Errorf("%s: %s versions", test.name, n[0])
		}
		// Each key must have one row in the storage, apart from the marks.
		if bad := text(t, w, "SELECT id FROM transactions_latest FINAL WHERE _deleted != 2 GROUP BY id HAVING count() != 1"); len(bad) > 0 {
			t.Errorf("%s: rows at two positions: %v", test.name, bad)
		}
		if bad := text(t, w, "SELECT id FROM transactions_versions WHERE _deleted = 2"); len(bad) > 0 {
			t.Errorf("%s: marks among the versions: %v", test.name, bad)
		}
		if bad := text(t, w, "SELECT account FROM (SELECT account, sum(transactions) AS n FROM daily_cashback GROUP BY account) WHERE n != (SELECT count() FROM transactions)"); len(bad) > 0 {
			t.Errorf("%s: the days do not add up", test.name)
		}
	}
}

// TestMovedSaleIsRecovered makes a run that moves a sale die between its attachments: after each in a wide sample, else
// after that to the versions and that to the keys. For wide samples: TestRecover has a run that dies between its
// attachments, TestMovedSale sales that move.
func TestMovedSaleIsRecovered(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	const day1, day2 = "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"
	for stop, name := range []string{"intent", "versions", "latest", "keys"} {
		if stop%2 == 0 && !enginetest.Wide() {
			continue
		}
		at, to := day1, day2
		if stop%2 == 1 {
			at, to = to, at
		}
		load(t, w, "transactions", Part, sales(saleAt(idA, at, "PENDING", fmt.Sprintf("2026-02-%02dT00:00:00Z", 2*stop+1))))
		r := begin(t, w, "transactions")
		stage(t, w, r, sales(saleAt(idA, to, "CONFIRMED", fmt.Sprintf("2026-02-%02dT00:00:00Z", 2*stop+2))))
		writer := w.Writer(r)
		c, err := writer.Plan(t.Context(), Part, staged(t, w, r))
		must(t, err)
		prepared, err := writer.Prepare(t.Context(), c, r.StartedAt)
		must(t, err)
		in := Intent{RunID: r.ID, MergedAt: r.StartedAt, Prepared: prepared,
			Record: RunRecord{Account: "acme", Stream: "transactions", RunID: r.ID,
				StartedAt: r.StartedAt, FinishedAt: r.StartedAt, Outcome: OutcomeSuccess, Changes: c}}
		in.divide(derivedNames(r.Stream))
		must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
		p := publication{Writer: writer, intent: in}
		for _, to := range p.targets()[:stop] {
			must(t, p.attach(t.Context(), to))
		}
		if shown := text(t, w, "SELECT count() FROM transactions"); shown[0] != "1" {
			t.Errorf("dead after %s: readers see %s rows", name, shown[0])
		}
		takeOver(t, w, begin(t, w, "transactions"))
		derivedHold(t, w)
		if d := cmp.Diff([]string{"CONFIRMED " + strings.NewReplacer("T", " ", "Z", ".000").Replace(to)},
			text(t, w, "SELECT status, sold_at FROM transactions")); d != "" {
			t.Errorf("dead after %s: %s", name, d)
		}
		if left := text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_(delta|changes|changed|moves)_[0-9a-f]{32}')"); len(left) > 0 {
			t.Errorf("dead after %s: left behind: %v", name, left)
		}
	}
}

// TestDerivedOutOfDate publishes a run whose intent names no derived table, as that of an older binary. The next holder
// of the lease notices that, and rebuilds them. For wide samples: TestRebuild mends tables that are wrong.
func TestDerivedOutOfDate(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	id := StreamID{"acme", "transactions"}
	publishOld := func(named bool, rows ...string) Run {
		r := begin(t, w, "transactions")
		stage(t, w, r, sales(rows...))
		c, err := w.Writer(r).Plan(t.Context(), Part, staged(t, w, r))
		must(t, err)
		prepared, err := w.Writer(r).Prepare(t.Context(), c, r.StartedAt)
		must(t, err)
		in := Intent{RunID: r.ID, MergedAt: r.StartedAt, Prepared: prepared,
			Record: RunRecord{Account: "acme", Stream: "transactions",
				RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: r.StartedAt, Outcome: OutcomeSuccess, Changes: c}}
		if named {
			in.divide(derivedNames(r.Stream))
		}
		must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
		return r
	}
	load(t, w, "transactions", Part, sales(saleAt(idA, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z")))
	upToDate := func() {
		t.Helper()
		if fresh := text(t, w, "SELECT value FROM sync_state WHERE name = 'derived'"); len(fresh) != 1 ||
			fresh[0] != strings.Join(derivedNames(catalog.Transactions()), " ") {
			t.Errorf("up to date: %q", fresh)
		}
		derivedHold(t, w)
	}
	upToDate()
	load(t, w, "transactions", Part, sales(saleAt(idA, "2026-01-01T10:00:00Z", "CONFIRMED",
		"2026-02-01T01:00:00Z"))) // it leaves most of them unchanged
	upToDate()
	// The newer of two intents names them all, and is carried out second.
	publishOld(false, saleAt(idB, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z"))
	publishOld(true, saleAt(idC, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z"))
	wrong, err := w.CheckDerived(t.Context(), id) // finishes both, and repairs nothing
	if err != nil || len(wrong) == 0 {
		t.Errorf("a run that left the derived tables out is not noticed: %v %v", wrong, err)
	}
	takeOver(t, w, begin(t, w, "transactions"))
	derivedHold(t, w)
	if got := load(t, w, "transactions", Part,
		sales(saleAt(idB, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z"))); got.Unchanged != 1 || got.Live != 3 {
		t.Errorf("%+v", got)
	}

	// What is wrong for any other reason is found by a run that reads everything, and repaired on demand.
	for _, mend := range []func(){
		func() {
			load(t, w, "transactions", Whole, sales(saleAt(idA, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z"),
				saleAt(idB, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z"),
				saleAt(idC, "2026-01-01T10:00:00Z", "PENDING", "2026-02-01T00:00:00Z")))
		},
		func() { must(t, w.RebuildDerived(t.Context(), id)) },
	} {
		must(t, w.saveStates(t.Context(), "acme", "transactions", stateRow{stateLive, "7", 0}))
		must(t, w.exec(t.Context(), "ALTER TABLE transactions_keys DELETE WHERE true SETTINGS mutations_sync = 2"))
		if wrong, err := w.CheckDerived(t.Context(), id); err != nil || len(wrong) != 1 || wrong[0] != "transactions_keys" {
			t.Errorf("%v %v", wrong, err)
		}
		mend()
		derivedHold(t, w)
	}
}

// TestDayReadsLittle checks that the public view passes conditions on the time of sale and on the id to the order and
// the indices of the storage, also while there are many small parts beside a large one.
func TestDayReadsLittle(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for i := range 4 {
		must(t, w.exec(t.Context(), fmt.Sprintf(`INSERT INTO transactions_latest (account, id, sold_at, passback_uid, _version)
SELECT 'acme', reinterpretAsUUID(sipHash128(number)), if(number %% 500 = 0, NULL, toDateTime64('2025-01-01 00:00:00', 3, 'UTC') + toIntervalMinute(number * 5)), toString(number %% 50000), %d
FROM numbers(100000) WHERE %d = 0 OR cityHash64(number, %d) %% 1000 = 0`, i+1, i, i)))
	}
	all := granules(t, w, "SELECT cashback FROM transactions")
	if all < 12 {
		t.Fatalf("%d granules: too few to tell", all)
	}
	for condition, most := range map[string]int{
		"sold_at >= toDateTime64('2025-12-01 00:00:00', 3, 'UTC')":                                     all/3 + 3,
		"sold_at >= toDateTime('2025-05-01 00:00:00') AND sold_at < toDateTime('2025-05-02 00:00:00')": 2 + 3,
		"toStartOfDay(sold_at) = '2025-05-01 00:00:00'":                                                2 + 3,
		"date_trunc('day', sold_at) = '2025-05-01'":                                                    2 + 3,
		"toYYYYMMDD(sold_at) BETWEEN 20250501 AND 20250502":                                            2 + 3,
		"toStartOfMonth(sold_at) = '2025-05-01' AND account = 'acme'":                                  all/3 + 3,
		"id = '" + text(t, w, "SELECT id FROM transactions LIMIT 1")[0] + "'":                          2,
	} {
		if n := granules(t, w, "SELECT cashback FROM transactions WHERE "+condition); n > most {
			t.Errorf("%s reads %d of %d granules, want at most %d", condition, n, all, most)
		}
	}
	// A user has two sales.
	if n := granules(t, w, "SELECT cashback FROM transactions_by_passback_uid(passback_uid = '777')"); n == 0 || n > 2+1 {
		t.Errorf("the sales of a user are in %d of %d granules", n, all)
	}
}

// granules returns how many granules a query reads.
func granules(t *testing.T, w *Warehouse, query string) (sum int) {
	t.Helper()
	rows, err := w.conn.Query(t.Context(), "EXPLAIN ESTIMATE "+query)
	if err != nil {
		t.Fatal(err)
	}
	type estimate struct {
		database, table    string
		parts, rows, marks uint64
	}
	all, err := scanned(rows, err, func(e *estimate) []any {
		return []any{&e.database, &e.table, &e.parts, &e.rows,
			&e.marks}
	})
	must(t, err)
	for _, e := range all {
		sum += int(e.marks)
	}
	return sum
}

// TestRowsOfNoListAreNotCounted reads a sale by its address that is in no list: no view has it, and it is not counted.
// For wide samples: TestUnlisted reads a row by its address.
func TestRowsOfNoListAreNotCounted(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	const day1 = "2026-01-01T10:00:00Z"
	load(t, w, "transactions", Part, sales(saleAt(idA, day1, "PENDING", day1)))
	load(t, w, "transactions", Unlisted, sales(saleAt(idB, day1, "PENDING", day1)))
	derivedHold(t, w)
}
