package syncer

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// workerRole makes the test binary a worker on a warehouse of its own, which the test kills.
const workerRole = "worker"

const (
	childFolder = "DEALHOUSE_TEST_CHILD_FOLDER"
	childURL    = "DEALHOUSE_TEST_CHILD_URL"
	childKey    = "DEALHOUSE_TEST_CHILD_KEY"
	childRange  = "DEALHOUSE_TEST_CHILD_RANGE" // from/to: a backfill instead of a sync
)

// child syncs once, says what it does, and prints what the views hold.
func child(ctx context.Context) error {
	w, err := warehouse.Open(ctx, warehouse.Options{DSN: warehouse.EmbeddedScheme + os.Getenv(childFolder)})
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // the process ends
	if _, err := w.Migrate(ctx); err != nil {
		return err
	}
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: os.Getenv(childURL), Key: os.Getenv(childKey)})
	if err != nil {
		return err
	}
	s, err := New(Options{Warehouse: w, Grace: patience, Progress: func(p Progress) { fmt.Fprintln(os.Stdout, p.Stream, p.Phase) }})
	if err != nil {
		return err
	}
	if text := os.Getenv(childRange); text != "" {
		return childBackfill(ctx, w, client, text)
	}
	var jobs []Job
	for _, name := range catalog.Names() {
		stream, err := catalog.Find(name)
		if err != nil {
			return err
		}
		jobs = append(jobs, NewJob("acme", stream, client))
	}
	for _, r := range s.All(ctx, jobs) {
		if r.Err != nil {
			return r.Err
		}
	}
	sums, err := digest(ctx, w)
	fmt.Fprintln(os.Stdout, "digest "+sums)
	return err
}

// digest returns one line that tells two warehouses apart: rows and content of all views, the histories by their
// content. Rows are hashed as text, since the hash of a NULL is NULL, which a sum leaves out.
func digest(ctx context.Context, w *warehouse.Warehouse) (string, error) {
	var parts []string
	for _, s := range catalog.All() {
		queries := []string{"SELECT toString((count(), uniqExact(" + s.KeyColumn() +
			"), sum(sipHash64(toString(tuple(* EXCEPT synced_at)))))) FROM " + s.Name}
		if s.History {
			// Where nothing changed between two loads, every row has one version; a killed run must not have made another.
			queries = append(queries, "SELECT toString((count(), uniqExact("+s.KeyColumn()+
				"), sum(sipHash64(toString(tuple(* EXCEPT (synced_at, valid_from, valid_to))))))) FROM "+s.Name+"_history")
		}
		if s.Child != nil {
			queries = append(queries, "SELECT toString((count(), sum(sipHash64(toString(tuple(* EXCEPT synced_at)))))) FROM "+
				s.Child.Table)
		}
		for _, q := range queries {
			var text string
			if err := w.Conn().QueryRow(ctx, q).Scan(&text); err != nil {
				return "", err
			}
			parts = append(parts, s.Name+text)
		}
	}
	return strings.Join(parts, " "), nil
}

// startChild runs the child and returns its output line by line.
func startChild(t *testing.T, folder string, x *world, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	key, _ := x.Keys("acme")
	cmd := enginetest.Role(t.Context(), workerRole,
		append(env, childFolder+"="+folder, childURL+"="+x.url, childKey+"="+key)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestKilledWhilePublishing kills the worker a little later each time after it began to publish, and then lets one run
// end: the views equal those of a warehouse that was never disturbed, and so do the histories. TestKillMatrix kills at
// places that it chooses.
func TestKilledWhilePublishing(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x := serve(t, smallWorld())
	folder := t.TempDir()
	killed := 0
	kills, step := 4, 12
	if os.Getenv(wholeMatrix) != "" {
		kills, step = 8, 4
	}
	for i := range kills {
		cmd, lines := startChild(t, folder, x)
		for lines.Scan() {
			if strings.HasSuffix(lines.Text(), string(PhaseMerging)) {
				timer := time.NewTimer(time.Duration(i*i*step) * time.Millisecond)
				<-timer.C
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // output that is still on its way, so that Wait does not cut it off
		}
		if err := cmd.Wait(); err != nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("no child was killed before it had ended")
	}
	cmd, lines := startChild(t, folder, x)
	got := ""
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "digest "); ok {
			got = text
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	w := open(t)
	syncAll(t, w, x.jobs(t, "acme"))
	want, err := digest(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("after %d kills:\n%s\nundisturbed:\n%s", killed, got, want)
	}
}
