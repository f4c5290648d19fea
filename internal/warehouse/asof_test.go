package warehouse

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// TestAsOf loads lists that change at random, in two accounts that have rows with the same ids, and keeps what
// the views showed after each run. At the end the view as of each of these moments must show exactly that, and so
// must the history.
func TestAsOf(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	streams := []string{"transactions", "coupons"}
	type moment struct{ at, rows string }
	shown := map[string][]moment{}
	look := func(from string) string {
		return strings.Join(text(t, w, "SELECT toString(tuple(*)) AS row FROM "+from+" ORDER BY row"), "\n")
	}
	for step := range enginetest.Sample(4, 50) {
		stream, scope := streams[random.IntN(2)], []Scope{Part, Whole}[random.IntN(2)]
		r := begin(t, w, stream)
		r.Account = []string{"acme", "globex"}[random.IntN(2)]
		stage(t, w, r, "["+strings.Join(changedAtRandom(random, stream, step), ",")+"]")
		publish(t, w, r, scope)
		if random.IntN(4) == 0 {
			must(t, w.exec(t.Context(), "OPTIMIZE TABLE "+stream+"_latest FINAL"))
		}
		at := text(t, w, "SELECT toString(now64(3, 'UTC'))")[0]
		shown[stream] = append(shown[stream], moment{at, look(stream)})
	}
	compare := func(newest int) { // with what was shown after each of the newest runs
		t.Helper()
		for _, stream := range streams {
			for i, m := range shown[stream] {
				if i < len(shown[stream])-newest {
					continue
				}
				if d := cmp.Diff(m.rows, look(fmt.Sprintf("%s_as_of(at = '%s')", stream, m.at))); d != "" {
					t.Errorf("%s after run %d of %d: %s", stream, i+1, len(shown[stream]), d)
				}
			}
			if newest == 1 && !enginetest.Wide() {
				continue
			}
			if rows := look(stream + "_as_of(at = '2020-01-01 00:00:00')"); rows != "" {
				t.Errorf("%s had rows before the first run: %s", stream, rows)
			}
		}
	}
	compare(len(shown["coupons"]) + len(shown["transactions"]))
	for _, stream := range streams {
		for i, m := range enginetest.Spread(shown[stream], 1) {
			where := fmt.Sprintf(" WHERE valid_from <= '%[1]s' AND ifNull(valid_to > '%[1]s', true)", m.at)
			from := "(SELECT * EXCEPT (valid_from, valid_to, synced_at) FROM " + stream + "_history" + where + ")"
			asOf := fmt.Sprintf("(SELECT * EXCEPT synced_at FROM %s_as_of(at = '%s'))", stream, m.at)
			if d := cmp.Diff(look(asOf), look(from)); d != "" {
				t.Errorf("the history of %s after run %d: %s", stream, i+1, d)
			}
		}
	}
	for _, stream := range streams { // a run that was finished by another worker may have been attached twice
		must(t, w.exec(t.Context(), fmt.Sprintf("INSERT INTO %[1]s_versions SELECT * FROM %[1]s_versions", stream)))
	}
	// The clock was set back after a sale had moved: the mark at its earlier position is newer than the sale.
	must(t, w.exec(t.Context(), "INSERT INTO transactions_latest (account, id, sold_at, _version, _deleted, synced_at) "+
		"SELECT account, id, '2025-01-01 00:00:00', 1, 2, '2090-01-01 00:00:00' FROM transactions"))
	compare(2)
	for i, order := range [][2]string{{"_versions", "_latest"}, {"_latest", "_versions"}} {
		for j, stream := range streams {
			if i != j && !enginetest.Wide() {
				continue
			}
			halfPublished(t, w, stream, order, "["+strings.Join(changedAtRandom(random, stream, 200+i), ",")+"]", func() {
				compare(1)
				now := look(stream + "_as_of(at = '2100-01-01 00:00:00')")
				if d := cmp.Diff(look(stream), now); d != "" {
					t.Errorf("%s, half published: %s", stream, d)
				}
			})
		}
	}
}

// halfPublished publishes a run to the two tables of a stream by hand, and calls look after each.
func halfPublished(t *testing.T, w *Warehouse, stream string, order [2]string, page string, look func()) {
	t.Helper()
	r := begin(t, w, stream)
	stage(t, w, r, page)
	writer := w.Writer(r)
	c, err := writer.Plan(t.Context(), Part, staged(t, w, r))
	must(t, err)
	now, err := w.Now(t.Context())
	must(t, err)
	_, err = writer.Prepare(t.Context(), c, now)
	must(t, err)
	if !c.Any() {
		t.Fatal("the run changes nothing")
	}
	for _, table := range order {
		delta := r.delta()
		if table == "_latest" && c.Moved > 0 {
			delta = r.moves()
		}
		must(t, w.exec(t.Context(), w.dialect.attachDelta(r.Stream, stream+table, delta)))
		look()
	}
	must(t, writer.Discard(t.Context()))
}

// changedAtRandom returns some records of a list, each in another state than before; some sales are on another day.
func changedAtRandom(random *rand.Rand, stream string, step int) (records []string) {
	updated := fmt.Sprintf("2026-02-01T00:00:%02d.%03dZ", step/1000, step%1000)
	for _, id := range []string{idA, idB, idC} {
		switch {
		case random.IntN(3) == 0:
		case stream == "coupons":
			records = append(records, coupon(id, fmt.Sprint("code-", random.IntN(4)), updated))
		default:
			day := []string{"", "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"}[random.IntN(3)]
			records = append(records, saleAt(id, day, []string{"PENDING", "CONFIRMED"}[random.IntN(2)], updated))
		}
	}
	return records
}
