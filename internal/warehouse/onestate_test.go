package warehouse

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// ofPayouts matches the views that have rows of transactions or of payouts.
var ofPayouts = regexp.MustCompile(`^(payout|transaction|confirmation_funnel|daily_|retailers|reference_misses)`)

// fingerprints reads the row sets of the views over transactions and payouts, by view, each time it is called.
func fingerprints(t *testing.T, w *Warehouse) func() map[string]string {
	t.Helper()
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	views = slices.DeleteFunc(views, func(v View) bool { return !ofPayouts.MatchString(v.Name) })
	return func() map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, v := range views {
			columns := map[string]string{"": "*"}
			if v.Name == "confirmation_funnel" { // its decisions come from another table than its counts
				const decided = "'_seen$|_days_to_'"
				columns = map[string]string{" without decisions": "* EXCEPT " + decided,
					" of decisions": "account, month, retailer_id, currency_code, COLUMNS(" + decided + ")"}
			}
			for part, list := range columns {
				all[v.Name+part] = text(t, w, "SELECT count(), sum(cityHash64(toString(tuple("+list+")))) FROM "+asked(t, v))[0]
			}
		}
		return all
	}
}

const (
	idD = "44444444-4444-4444-8444-444444444444"
	idE = "55555555-5555-4555-8555-555555555555"
	idF = "66666666-6666-4666-8666-666666666666"
)

// paid loads transactions in every state that the next run changes: A unpaid, B and C and D in payout 1, E in payout 2.
func paid(t *testing.T, w *Warehouse) {
	t.Helper()
	load(t, w, "transactions", Part, "["+transaction(idA, "PENDING", "1", day1, "")+","+
		transaction(idB, "CONFIRMED", "2", day1, "")+","+transaction(idC, "CONFIRMED", "4", day1, `,"payoutId":1`)+","+
		transaction(idD, "CONFIRMED", "8", day1, `,"payoutId":1`)+","+
		transaction(idE, "CONFIRMED", "16", day1, `,"payoutId":2`)+"]")
	load(t, w, "transactions", Part, "["+transaction(idB, "CONFIRMED", "2", "2026-01-01T01:00:00Z", `,"payoutId":1`)+"]")
	load(t, w, "payouts", Whole, "["+payout(1, 3, 14)+","+payout(2, 1, 16)+"]")
}

// changed returns a list that puts A into a payout, declines B, moves C to payout 2, takes D out of its payout, no
// longer has E, and has F for the first time.
func changed() string {
	return "[" + transaction(idA, "CONFIRMED", "1", day2, `,"payoutId":1`) + "," +
		transaction(idB, "DECLINED", "2", day2, `,"payoutId":1`) + "," +
		transaction(idC, "CONFIRMED", "4", day2, `,"payoutId":2`) + "," + transaction(idD, "CONFIRMED", "8", day2, "") + "," +
		transaction(idF, "PENDING", "32", day2, `,"payoutId":2`) + "]"
}

func payout(id, transactions, cashback int) string {
	return strings.NewReplacer("ID", strconv.Itoa(id), "GMV", strconv.Itoa(10*transactions), "N",
		strconv.Itoa(transactions), "C", strconv.Itoa(cashback)).Replace(
		`{"id":ID,"totalTransactions":N,"totalGmv":GMV,"aov":10,"totalCashback":C,"confirmedTransactions":N,"declinedTransactions":0,"pendingTransactions":0,` +
			`"confirmedGmv":GMV,"declinedGmv":0,"pendingGmv":0,"confirmedCashback":C,"declinedCashback":0,"pendingCashback":0}`)
}

// TestHalfPublishedByHand attaches the deltas of a run to one table after the other, in both orders of the first two.
// Every view must show either what it showed before the run or what it shows after it. Runs attach to the versions
// first; the other order is for wide samples, and so is reading after each of the derived tables and not after every
// third. For wide samples: TestViewsReadOneTableOfAStream holds for each view what makes it so.
func TestHalfPublishedByHand(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	orders := [][2]string{{"_versions", "_latest"}, {"_latest", "_versions"}}
	for _, order := range orders[:enginetest.Sample(1, 2)] {
		t.Run(order[0]+" first", func(t *testing.T) {
			t.Parallel()
			w := open(t)
			paid(t, w)
			look := fingerprints(t, w)
			moved, before := 0, look()
			for _, list := range []struct{ stream, page string }{{"transactions", changed()},
				{"payouts", "[" + payout(1, 4, 15) + "," + payout(3, 1, 1) + "]"}} {
				r := begin(t, w, list.stream)
				stage(t, w, r, list.page)
				c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Writer(r).Prepare(t.Context(), c, r.StartedAt); err != nil {
					t.Fatal(err)
				}
				attach := func(table string) {
					statement := w.dialect.attachDelta(r.Stream, table, r.delta())
					if slices.Contains(derivedNames(r.Stream), table) {
						statement = attachDerived(table, r.derivedDelta(table), r.Account)
					}
					if err := w.exec(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				tables := append([]string{r.Stream.Name + order[0], r.Stream.Name + order[1]}, derivedNames(r.Stream)...)
				var halves []map[string]string
				for i, table := range tables {
					attach(table)
					if i < 2 || i%3 == 0 || i == len(tables)-1 || enginetest.Wide() {
						halves = append(halves, look())
					}
				}
				after := halves[len(halves)-1]
				for _, half := range halves {
					for view, rows := range half {
						if rows != before[view] && rows != after[view] {
							t.Errorf("%s shows what it showed neither before nor after the run of %s: %s, not %s or %s", view, list.stream,
								rows, before[view], after[view])
						}
					}
				}
				for view := range after {
					if before[view] != after[view] {
						moved++
					}
				}
				before = after
			}
			if moved < 15 {
				t.Errorf("the runs change %d views: too few to tell", moved)
			}
		})
	}
}

// atLatest calls pause each time when a run has been attached to transactions_versions and not yet to
// transactions_latest.
type atLatest struct {
	driver.Conn
	pause func()
}

func (c atLatest) Exec(ctx context.Context, query string, args ...any) error {
	if strings.HasPrefix(query, "ALTER TABLE transactions_latest ATTACH") {
		c.pause()
	}
	return c.Conn.Exec(ctx, query, args...)
}

// TestReadersDuringPublications reads the views of payouts all the time while runs are published, and always once
// between the two attachments of each. Whatever is read must be the state before or after one of the runs.
// TestHalfPublishedByHand reads every view between two attachments.
func TestReadersDuringPublications(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	paid(t, w)
	views := []string{"payout_transactions", "payout_reconciliation", "payout_sums", "daily_sales", "retailers"}
	read := func() string {
		var all []string
		for _, v := range views {
			all = append(all, v+" "+text(t, w, "SELECT count(), sum(cityHash64(toString(tuple(*)))) FROM "+v)[0])
		}
		return strings.Join(all, ", ")
	}
	var between []string
	pausing, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database,
		Wrap: func(c driver.Conn) driver.Conn {
			return atLatest{c, func() { between = append(between, read()) }}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer pausing.Close() //nolint:errcheck // the test is over
	stop, seen := make(chan struct{}), make(chan []string)
	go func() {
		var all []string
		for {
			select {
			case <-stop:
				seen <- all
				return
			default:
				var rows string
				query := "SELECT toString((count(), sum(cityHash64(toString(tuple(*)))))) FROM payout_reconciliation"
				if err := w.readOnly.QueryRow(t.Context(), query).Scan(&rows); err != nil {
					all = append(all, err.Error())
				}
				all = append(all, rows)
			}
		}
	}()
	states, totals := []string{read()}, []string{text(t, w,
		"SELECT (count(), sum(cityHash64(toString(tuple(*))))) FROM payout_reconciliation")[0]}
	pages := []string{
		changed(), "[" + transaction(idA, "DECLINED", "1", "2026-01-03T00:00:00Z", `,"payoutId":1`) + "," +
			transaction(idD, "CONFIRMED", "8", "2026-01-03T00:00:00Z", `,"payoutId":2`) + "]",
		"[" + transaction(idC, "CONFIRMED", "4", "2026-01-04T00:00:00Z", "") + "," +
			transaction(idE, "PENDING", "1", "2026-01-04T00:00:00Z", `,"payoutId":1`) + "]", changed(),
	}
	for _, page := range pages {
		load(t, pausing, "transactions", Whole, page)
		states = append(states, read())
		totals = append(totals, text(t, w, "SELECT (count(), sum(cityHash64(toString(tuple(*))))) FROM payout_reconciliation")[0])
	}
	close(stop)
	for _, rows := range <-seen {
		if !slices.Contains(totals, rows) {
			t.Errorf("payout_reconciliation was read as %s, which it was at no time", rows)
		}
	}
	if len(between) != len(pages) {
		t.Errorf("read between the attachments of %d runs", len(between))
	}
	for i, rows := range between {
		if rows != states[i] && rows != states[i+1] {
			t.Errorf("run %d, half published: %s", i, cmp.Diff(states[i], rows))
		}
	}
}

var readsTable = regexp.MustCompile(`ReadFrom\w+ \(\w+\.(\w+_(?:latest|versions))\)`)

// TestViewsReadOneTableOfAStream checks warehouse-12 for each view.
func TestViewsReadOneTableOfAStream(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_(latest|versions)$')") {
		if err := w.exec(t.Context(), "INSERT INTO "+table+
			" (account) VALUES ('acme')"); err != nil { // the plan of an empty table says nothing
			t.Fatal(err)
		}
	}
	some := 0
	for _, v := range views {
		from := asked(t, v)
		rows, err := w.conn.Query(t.Context(), "EXPLAIN SELECT * FROM "+from)
		plan, err := scanned(rows, err, only[string])
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]bool{}
		for _, line := range plan {
			for _, m := range readsTable.FindAllStringSubmatch(line, -1) {
				read[m[1]] = true
			}
		}
		some += len(read)
		for _, s := range catalog.All() {
			var ofStream []string
			for _, table := range append(derivedNames(s), s.Name+"_latest", s.Name+"_versions") {
				if read[table] {
					ofStream = append(ofStream, table)
				}
			}
			asOf := strings.HasSuffix(v.Name, "_as_of")                        // see TestAsOf
			if len(ofStream) > 1 && v.Name != "confirmation_funnel" && !asOf { // see fingerprints
				t.Errorf("%s reads %v", v.Name, ofStream)
			}
		}
	}
	if some < 20 {
		t.Errorf("the plans name %d tables: they were not understood", some)
	}
}
