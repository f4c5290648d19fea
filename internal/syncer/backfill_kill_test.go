package syncer

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// childBackfill is a child that makes a backfill, and says how many windows are read.
func childBackfill(ctx context.Context, w *warehouse.Warehouse, client *dealapi.Client, text string) error {
	var asked Range
	parts := strings.Split(text, "/")
	from, to := parts[0], parts[1]
	asked.Window, _ = time.ParseDuration(parts[2])
	for text, at := range map[string]*time.Time{from: &asked.From, to: &asked.To} {
		var err error
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return err
		}
	}
	stream, err := catalog.Find("transactions")
	if err != nil {
		return err
	}
	s, err := New(Options{Warehouse: w, Grace: patience, Progress: func(p Progress) { fmt.Fprintln(os.Stdout, "windows", p.Windows.Done) }})
	if err != nil {
		return err
	}
	if _, err := s.Backfill(ctx, NewJob("acme", stream, client), asked); err != nil {
		return err
	}
	sums, err := digest(ctx, w)
	fmt.Fprintln(os.Stdout, "digest "+sums)
	return err
}

// TestKilledBackfill kills a backfill three times on its way. Little is read again: what was in memory, which is less
// than 15 % of all pages where the windows are days, and a few tasks of each reader where they fit what they hold. In
// the end the warehouse is that of a backfill that was never disturbed. TestBackfillGoesOn breaks one without killing
// it.
func TestKilledBackfill(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	for _, window := range []time.Duration{24 * time.Hour, 0} {
		t.Run(window.String(), func(t *testing.T) { killedBackfill(t, window) })
	}
}

func killedBackfill(t *testing.T, window time.Duration) {
	t.Helper()
	x := serve(t, pastWorld(4_000, 100))
	asked := everything(x, window, DefaultParallel)
	w := open(t)
	record := backfillAll(t, w, x.jobs(t, "acme", "transactions")[0], asked)
	checkTruth(t, w, x, "acme", "transactions")
	want, err := digest(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	undisturbed := x.Requests(transactionsPath)
	x.ResetLog()
	folder := t.TempDir()
	env := childRange + "=" + asked.From.Format(time.RFC3339) + "/" + asked.To.Format(time.RFC3339) + "/" + window.String()
	const kills = 3
	// The last window is not answered before the last kill: no child ends, however late it is killed.
	last := asked.To.UTC().Format(dealapi.TimeLayout)
	x.SetBefore(func(r *http.Request) {
		if r.URL.Query().Get("updatedBefore") == last {
			<-r.Context().Done()
		}
	})
	for kill := range kills {
		cmd, lines := startChild(t, folder, x, env)
		for done := 0; lines.Scan(); {
			if _, err := fmt.Sscanf(lines.Text(), "windows %d", &done); err == nil && done > (kill+1)*record.Windows/4 {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // output that is still on its way, so that Wait does not cut it off
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("child %d had ended before it was killed", kill)
		}
	}
	x.SetBefore(nil)
	cmd, lines := startChild(t, folder, x, env)
	got := ""
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "digest "); ok {
			got = text
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("after %d kills:\n%s\nundisturbed:\n%s", kills, got, want)
	}
	again := x.Requests(transactionsPath) - undisturbed
	t.Logf("%d of %d pages were read again", again, undisturbed)
	most := 15 * undisturbed / 100
	if window == 0 {
		most = kills * DefaultParallel * taskPages
	}
	if again >= most { // pages
		t.Errorf("%d of %d pages were read again", again, undisturbed)
	}
}
