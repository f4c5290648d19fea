package warehouse

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// partitionsOf returns the partitions of a table with the number of their parts, and "!" if one was never merged.
func partitionsOf(t *testing.T, w *Warehouse, table string) []string {
	t.Helper()
	return text(t, w, fmt.Sprintf(`SELECT concat(partition_id, ' ', toString(count()), if(min(p.level) = 0, '!', '')) FROM system.parts AS p
WHERE active AND database = currentDatabase() AND table = '%s' GROUP BY partition_id ORDER BY partition_id`, table))
}

const soldAndStatus = "SELECT concat(toString(id), ' ', toString(ifNull(toString(sold_at), 'never')), ' ', status) FROM transactions ORDER BY id"

// TestMonths loads sales of many months, of no time and of times that make no sense, moves them about, and folds the
// months. Readers see the same rows before and after.
func TestMonths(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const jan, feb, early, late = "2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00Z", "1931-05-05T00:00:00Z", "2255-01-01T00:00:00Z"
	updated := func(day int) string { return fmt.Sprintf("2026-03-%02dT00:00:00Z", day) }
	load(t, w, "transactions", Part, sales(saleAt(idA, jan, "PENDING", updated(1)), saleAt(idB, feb, "PENDING", updated(1)),
		saleAt(idC, "", "PENDING", updated(1)), saleAt(idD, early, "PENDING", updated(1)), saleAt(idE, late, "PENDING", updated(1))))
	want := []string{"199912 1", "202601 1", "202602 1", "204001 1"}
	for _, table := range []string{"transactions_latest", "transactions_versions"} {
		got := strings.ReplaceAll(strings.Join(partitionsOf(t, w, table), ", "), "!", "")
		if got != strings.Join(want, ", ") {
			t.Errorf("%s: %s", table, got)
		}
	}
	moves := []string{"", late, early, jan, feb}
	for i, at := range moves[len(moves)-enginetest.Sample(2, len(moves)):] {
		c := load(t, w, "transactions", Part, sales(saleAt(idA, at, "PENDING", updated(2+i)), saleAt(idB, jan, "CONFIRMED", updated(2+i))))
		if c.Moved == 0 || c.Updated == 0 {
			t.Errorf("to %q: %+v", at, c)
		}
		if enginetest.Wide() {
			derivedHold(t, w)
		}
	}
	seen := func() []string {
		return append(text(t, w, soldAndStatus), text(t, w, "SELECT toString(count()) FROM transactions_history")...)
	}
	before := seen()
	if len(before) != 6 || !strings.Contains(before[0], "2026-02-01 00:00:00.000") || !strings.Contains(before[1], "2026-01-31 23:59:59.999 CONFIRMED") {
		t.Fatal(before)
	}
	if folded, err := w.Fold(t.Context(), 0); err != nil || folded != 0 {
		t.Errorf("without any time %d months were folded: %v", folded, err)
	}
	if folded, err := w.Fold(t.Context(), time.Minute); err != nil || folded == 0 {
		t.Errorf("%d months were folded: %v", folded, err)
	}
	for _, partition := range partitionsOf(t, w, "transactions_latest") {
		if !strings.HasSuffix(partition, " 1") {
			t.Errorf("not folded: %s", partition)
		}
	}
	if d := cmp.Diff(before, seen()); d != "" {
		t.Error(d)
	}
	if folded, err := w.Fold(t.Context(), time.Minute); err != nil || folded != 0 {
		t.Errorf("%d months were folded again: %v", folded, err)
	}
	derivedHold(t, w)
}

// TestMonthsHalfAttached stops a run after an engine that was killed came back with some months of it, in one table or
// in both. A command that only reads finishes the run before it reads, and nothing is there twice.
func TestMonthsHalfAttached(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const updated = "2026-03-01T00:00:00Z"
	load(t, w, "transactions", Part, sales(saleAt(idA, "2026-01-01T10:00:00Z", "PENDING", updated), saleAt(idB, "2025-01-01T10:00:00Z", "PENDING", updated)))
	for n, half := range []struct{ versions, latest []string }{
		{[]string{"202501"}, nil},
		{[]string{"202501", "202601", "202602", "202512"}, []string{"202602", "202601"}},
		{[]string{"202501", "202601", "202602", "202512"}, []string{"202501", "202601", "202602", "202512"}},
	} {
		day := fmt.Sprintf("2026-03-%02dT00:00:00Z", n+2)
		r := begin(t, w, "transactions")
		move := []string{"2026-02-01T00:00:00Z", "2026-01-01T10:00:00Z"}[n%2]
		stage(t, w, r, sales(saleAt(idA, move, "CONFIRMED", day), saleAt(idB, "2025-01-01T10:00:00Z", "CONFIRMED", day),
			saleAt(fmt.Sprintf("0000000%d-0000-4000-8000-00000000000d", n+1), "2025-12-01T00:00:00Z", "PENDING", day)))
		writer := w.Writer(r)
		c, err := writer.Plan(t.Context(), Part, staged(t, w, r))
		must(t, err)
		prepared, err := writer.Prepare(t.Context(), c, r.StartedAt)
		must(t, err)
		in := Intent{RunID: r.ID, MergedAt: r.StartedAt, Prepared: prepared, Record: RunRecord{Account: "acme", Stream: "transactions",
			RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: r.StartedAt, Outcome: OutcomeSuccess, Changes: c}}
		in.divide(derivedNames(r.Stream))
		must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
		for i, to := range (publication{Writer: writer, intent: in}).targets()[:2] {
			months := [][]string{half.versions, half.latest}[i]
			for _, month := range months {
				must(t, w.exec(t.Context(), attachMonth(to, month)))
			}
		}
		must(t, w.FinishInterrupted(t.Context()))
		if left := text(t, w, "SELECT name FROM sync_state WHERE startsWith(name, 'intent')"); len(left) > 0 {
			t.Errorf("%d: left: %v", n, left)
		}
		if twice := text(t, w, "SELECT id FROM transactions_versions GROUP BY id, _version HAVING count() > 1"); len(twice) > 0 {
			t.Errorf("%d: there twice: %v", n, twice)
		}
		wantRows(t, w, fmt.Sprintf("SELECT count() FROM transactions WHERE updated_at = '%s'", strings.TrimSuffix(strings.Replace(day, "T", " ", 1), "Z")), "3")
		derivedHold(t, w)
	}
}

// TestReadersDuringFolding reads while runs move sales over many months and the months are folded: a reader sees the
// sums of one run, and no sale twice.
func TestReadersDuringFolding(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	n := enginetest.Sample(12, 36)
	page := func(round int) string {
		rows := make([]string, n)
		for i := range rows {
			month := (i*7 + round*5) % n
			rows[i] = saleAt(fmt.Sprintf("%08d-0000-4000-8000-00000000000d", i), fmt.Sprintf("%d-%02d-03T00:00:00Z", 2023+month/12, 1+month%12),
				fmt.Sprintf("ROUND%d", round), fmt.Sprintf("2026-03-%02dT00:00:00Z", 1+round))
		}
		return sales(rows...)
	}
	load(t, w, "transactions", Part, page(0))
	var over atomic.Bool
	read := make(chan error)
	go func() {
		var looks int
		for !over.Load() {
			var rows, ids, rounds uint64
			if err := w.conn.QueryRow(t.Context(), "SELECT count(), uniqExact(id), uniqExact(status) FROM transactions").Scan(&rows, &ids, &rounds); err != nil {
				read <- err
				return
			}
			if rows != uint64(n) || ids != uint64(n) || rounds != 1 {
				read <- fmt.Errorf("a reader saw %d rows of %d sales, of %d runs", rows, ids, rounds)
				return
			}
			looks++
		}
		if looks == 0 {
			read <- fmt.Errorf("nothing was read")
			return
		}
		read <- nil
	}()
	for round := 1; round <= enginetest.Sample(2, 20); round++ {
		load(t, w, "transactions", Part, page(round))
		if _, err := w.Fold(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
	}
	over.Store(true)
	if err := <-read; err != nil {
		t.Error(err)
	}
	derivedHold(t, w)
}

// TestTidy waits until the files that a merge has replaced are gone, which takes seconds and not half a minute.
func TestTidy(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 3 {
		must(t, w.exec(t.Context(), fmt.Sprintf("INSERT INTO retention_log (at, what) VALUES (now64(3), 'runs%d')", i)))
	}
	must(t, w.exec(t.Context(), "OPTIMIZE TABLE retention_log FINAL"))
	begun := time.Now()
	_, err := w.Tidy(t.Context(), 0, time.Minute)
	must(t, err)
	if left := text(t, w, "SELECT count() FROM system.parts WHERE NOT active AND database = currentDatabase()"); left[0] != "0" {
		t.Errorf("%s are left after %s", left[0], time.Since(begun))
	}
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("it took %s", took)
	}
}
