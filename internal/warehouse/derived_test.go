package warehouse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// referenceViews are the views that read derived tables; reference_<view> reads the rows of the stream alone.
var referenceViews = []string{"payout_transactions", "payout_sums", "daily_cashback", "daily_sales", "retailers"}

func makeReferences(t *testing.T, w *Warehouse) {
	t.Helper()
	text, err := os.ReadFile("testdata/reference/views.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range splitStatements(string(text)) {
		if err := w.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// compareReferences compares each view with its reference, column by column.
func compareReferences(t *testing.T, w *Warehouse, when string) {
	t.Helper()
	for _, view := range referenceViews {
		rows := func(from string) []string {
			columns := text(t, w, "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {view:String} ORDER BY position", named("view", view))
			return text(t, w, "SELECT toString(tuple("+strings.Join(columns, ", ")+")) AS r FROM "+from+" ORDER BY r")
		}
		if d := cmp.Diff(rows("reference_"+view), rows(view)); d != "" {
			t.Fatalf("%s: %s is not what the rows of the stream say:\n%s", when, view, d)
		}
	}
}

// sales writes random histories of sales, of which each changes in any way that it may.
type sales struct {
	*rand.Rand
	at   time.Time
	last map[string]string // updatedAt of each sale
}

func (s *sales) pick(from ...string) string { return from[s.IntN(len(from))] }

func (s *sales) page(some float64) string {
	var records []string
	for i := range 14 {
		if s.Float64() > some {
			continue
		}
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		s.at = s.at.Add(7 * time.Minute)
		updated := s.at.Format("2006-01-02T15:04:05.000Z")
		if s.IntN(5) == 0 && s.last[id] != "" {
			updated = s.last[id] // what could not be read before comes again
		}
		s.last[id] = updated
		record := `{"id":"` + id + `"` +
			s.pick("", "", "", `,"status":"PENDING"`, `,"status":"CONFIRMED"`, `,"status":"CONFIRMED"`, `,"status":"DECLINED"`, `,"status":"ODD"`) +
			s.pick("", `,"payoutId":1`, `,"payoutId":1`, `,"payoutId":2`, `,"payoutId":-3`) +
			s.pick("", `,"currencyCode":"EUR"`, `,"currencyCode":"EUR"`, `,"currencyCode":"USD"`) +
			s.pick("", `,"cashback":"oops"`, `,"cashback":0`, `,"cashback":1.0001`, `,"cashback":1.0001`, `,"cashback":-2.5`) +
			s.pick("", `,"orderValue":"oops"`, `,"orderValue":10`, `,"orderValue":10`, `,"orderValue":0.0003`, `,"orderValue":99999999999999.9999`) +
			s.pick("", `,"soldAt":"1969-12-31T23:59:59.999Z"`, `,"soldAt":"1970-01-01T00:00:00Z"`, `,"soldAt":"2026-01-01T10:00:00Z"`, `,"soldAt":"2026-01-01T11:00:00Z"`, `,"soldAt":"2026-01-02T10:00:00Z"`, `,"soldAt":"never"`) +
			s.pick("", `,"retailerId":"`+retailerA+`"`, `,"retailerId":"00000000-0000-0000-0000-000000000000"`, `,"retailerId":"shop-7"`) +
			s.pick("", `,"retailerName":"Shop"`, `,"retailerName":"Shop"`, `,"retailerName":"Other"`) + s.pick("", "", `,"retailerLogo":"a"`, `,"retailerLogo":"b"`) +
			s.pick("", `,"country":"DE"`, `,"country":"FR"`)
		if s.IntN(12) > 0 {
			record += `,"updatedAt":"` + updated + `"`
		}
		records = append(records, record+"}")
	}
	return "[" + strings.Join(records, ",") + "]"
}

// TestDerivedTablesFollow changes, moves, stamps, deletes and brings back sales of two accounts at random. After each
// run the views show what the rows of the stream say, and a comparison finds nothing.
func TestDerivedTablesFollow(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	for i := range enginetest.Sample(1, 8) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed+uint64(i))
			w := open(t)
			makeReferences(t, w)
			accounts := map[string]*sales{}
			for n, account := range []string{"acme", "globex"} {
				accounts[account] = &sales{rand.New(rand.NewPCG(seed, uint64(2*i+n))), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), map[string]string{}}
			}
			for run := range enginetest.Sample(14, 60) {
				account := []string{"acme", "acme", "globex"}[run%3]
				s := accounts[account]
				scope, some := Part, 0.4
				switch s.IntN(5) {
				case 0:
					scope, some = Whole, 0.8
				case 1:
					scope, some = Unlisted, 0.8
				}
				r := begin(t, w, "transactions")
				r.Account = account
				stage(t, w, r, s.page(some))
				c := publish(t, w, r, scope)
				compareReferences(t, w, fmt.Sprintf("run %d of %s (%+v)", run, account, c))
			}
			found, err := w.Rebuild(t.Context(), "", true)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if f.Rows > 0 {
					t.Errorf("%+v", f)
				}
			}
			if len(found) != 2*len(derivedNames(begin(t, w, "transactions").Stream)) {
				t.Errorf("compared %v", found)
			}
		})
	}
}

// TestRebuild fills empty derived tables, and repairs one in which rows are wrong, missing and too many.
func TestRebuild(t *testing.T) {
	t.Parallel()
	w := open(t)
	makeReferences(t, w)
	s := &sales{rand.New(rand.NewPCG(1, 2)), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), map[string]string{}}
	for range 6 {
		load(t, w, "transactions", Part, s.page(0.5))
	}
	tables := derivedNames(begin(t, w, "transactions").Stream)
	empty := func(tables ...string) {
		for _, table := range tables {
			if err := w.exec(t.Context(), "TRUNCATE TABLE "+table); err != nil {
				t.Fatal(err)
			}
		}
	}
	rebuild := func(check bool) (rows []uint64) {
		found, err := w.Rebuild(t.Context(), "", check)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rows = append(rows, f.Rows)
		}
		return rows
	}
	none := make([]uint64, len(tables))
	empty(tables...)
	if found := rebuild(true); slices.Equal(found, none) {
		t.Errorf("empty tables lack nothing: %v", found)
	}
	wantRows(t, w, "SELECT count() FROM daily_sales", "0")
	if found := rebuild(false); slices.Contains(found, 0) {
		t.Errorf("not every table was filled: %v", found)
	}
	compareReferences(t, w, "filled")
	if found := rebuild(false); !slices.Equal(found, none) {
		t.Errorf("after it was filled: %v", found)
	}
	for _, statement := range []string{
		"INSERT INTO sales_latest SELECT * REPLACE (7 AS transactions, _version + 1000000000000 AS _version) FROM sales_latest FINAL LIMIT 1",
		"INSERT INTO sales_latest SELECT * REPLACE ('XXX' AS currency_code) FROM sales_latest FINAL LIMIT 2",
		"INSERT INTO payout_transactions_latest SELECT * REPLACE ('' AS state, _version + 1 AS _version) FROM payout_transactions_latest FINAL LIMIT 1",
		"INSERT INTO payout_transactions_latest SELECT * REPLACE (77 AS payout_id) FROM payout_transactions_latest FINAL LIMIT 1",
		"INSERT INTO payout_transactions_latest SELECT * REPLACE (NULL AS stamped_cashback, _version + 1 AS _version) FROM payout_transactions_latest FINAL WHERE stamped_cashback > 0 LIMIT 1",
	} {
		if err := w.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	found := rebuild(true)
	if found[0] < 3 || found[2] < 2 {
		t.Errorf("what is wrong is not found: %v", found)
	}
	rebuild(false)
	compareReferences(t, w, "repaired")
	if found := rebuild(true); !slices.Equal(found, none) {
		t.Errorf("after the repair: %v", found)
	}
	load(t, w, "transactions", Part, s.page(0.9))
	compareReferences(t, w, "a run after the repair")
	if left := text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_(before|delta)_')"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
