package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// fields returns the names in a JSON object, sorted.
func fields(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(object))
}

// TestStatusAPI reads the status of streams in every state. The names are promised.
func TestStatusAPI(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.mustSync(t, "acme")
	b.fail(t, "acme", "coupons")
	b.change("acme", "payouts", func(s *Stream) {
		s.StaleAfter = time.Nanosecond // late at once
	})
	b.change("globex", "products", func(s *Stream) { s.Enabled, s.Schedule, s.Next = false, "", time.Time{} })
	since := time.Now().Add(-5 * time.Second)
	b.change("globex", "transactions", func(s *Stream) {
		s.Since, s.LastError = since, "the first attempt failed before it began"
		s.Running = &syncer.Progress{Phase: syncer.PhaseReading,
			Totals:  warehouse.Totals{Pages: 3, Read: 60, Bytes: 9000, Retries: 1, Rejected: 2},
			Windows: syncer.Windows{Total: 10, Done: 4}}
	})
	b.streams = append(b.streams[:5:5], b.streams[6:]...) // acme's products are no longer configured
	x := b.serve(t, nil)

	var raw struct {
		Streams []json.RawMessage
	}
	x.json(t, "/api/v1/status", &raw)
	want := []string{"account", "enabled", "failed_checks", "failed_runs", "failing_since", "guarded", "lag_seconds",
		"last_attempt_error", "last_error", "last_outcome", "last_run", "last_success",
		"last_success_age_seconds", "loaded_scope", "next_run", "paused", "rows", "running", "schedule", "scope",
		"stale_after_seconds", "state", "stream", "waiting", "watermark"}
	if d := cmp.Diff(want, fields(t, raw.Streams[0])); d != "" {
		t.Errorf("names of a stream: %s", d)
	}
	text := x.page(t, "/api/v1/status")
	if d := cmp.Diff([]string{"generated_at", "state", "streams", "summary", "warehouse"},
		fields(t, json.RawMessage(text))); d != "" {
		t.Errorf("names of the status: %s", d)
	}
	var status statusJSON
	x.json(t, "/api/v1/status", &status)
	if status.State != stateFailing || !status.Warehouse.Reachable || status.Warehouse.Error != "" ||
		status.Warehouse.ReadAt == nil {
		t.Errorf("%s %q %+v", status.State, status.Summary, status.Warehouse)
	}
	states := map[string]state{}
	streams := map[string]streamJSON{}
	for _, s := range status.Streams {
		states[s.Account+"/"+s.Stream], streams[s.Account+"/"+s.Stream] = s.State, s
	}
	wantStates := map[string]state{}
	for _, name := range catalog.Names() {
		wantStates["acme/"+name], wantStates["globex/"+name] = stateFine, stateWaiting
	}
	wantStates["acme/coupons"], wantStates["acme/payouts"], wantStates["acme/products"] = stateFailing, stateLate, stateRemoved
	wantStates["globex/transactions"], wantStates["globex/products"] = stateFailing, stateDisabled
	if d := cmp.Diff(wantStates, states); d != "" {
		t.Error(d)
	}
	coupons := streams["acme/coupons"]
	if coupons.FailedRuns != 1 || coupons.FailingSince == nil || *coupons.LastOutcome != "failed" ||
		!strings.Contains(coupons.LastError, "503") || *coupons.Rows != b.loaded("acme", "coupons") ||
		coupons.LastSuccess == nil || *coupons.LastSuccessAge < 0 || coupons.Watermark != nil || *coupons.StaleAfter != 15*3600 ||
		coupons.NextRun == nil {
		t.Errorf("%+v", coupons)
	}
	if mark := streams["acme/transactions"].Watermark; mark == nil || !strings.HasSuffix(*mark, "Z") {
		t.Errorf("watermark %v", mark)
	}
	running := streams["globex/transactions"]
	if d := cmp.Diff(&runningJSON{Phase: "reading", Since: rfc3339(since), Pages: 3, RowsRead: 60, Rejected: 2,
		Bytes: 9000, Retries: 1, WindowsDone: 4, WindowsTotal: 10}, running.Running); d != "" {
		t.Error(d)
	}
	if running.LastAttemptError == "" || running.LastSuccess != nil || running.Lag != nil {
		t.Errorf("%+v", running)
	}
	if off := streams["globex/products"]; off.NextRun != nil || off.Enabled || off.Running != nil {
		t.Errorf("%+v", off)
	}
}

func TestRunsAPI(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.mustSync(t, "acme", "coupons", "transactions")
	b.mustSync(t, "acme", "coupons")
	b.fail(t, "acme", "coupons")
	b.mustSync(t, "globex", "coupons")
	x := b.serve(t, nil)
	list := func(query string) (all []runJSON) {
		t.Helper()
		var answer struct{ Runs []runJSON }
		x.json(t, "/api/v1/runs"+query, &answer)
		return answer.Runs
	}
	for query, want := range map[string]int{
		"": 5, "?account=acme": 4, "?account=acme&stream=coupons": 3, "?stream=coupons": 4, "?limit=2": 2, "?limit=1000": 5,
		"?account=globex&stream=products": 0,
	} {
		if got := list(query); len(got) != want {
			t.Errorf("%q: %d runs, want %d", query, len(got), want)
		}
	}
	runs, coupons := list("?account=acme&stream=coupons"), b.loaded("acme", "coupons")
	if failed, good := runs[0], runs[2]; failed.Outcome != "failed" || !strings.Contains(failed.Error, "503") ||
		good.Outcome != "success" || good.RowsRead != coupons || good.Inserted != coupons ||
		good.Mode != "snapshot" || *good.Duration <= 0 || good.FinishedAt == nil || good.RequestedAfter != nil ||
		good.Warnings == nil {
		t.Errorf("%+v\n%+v", failed, good)
	}
	if runs[1].Unchanged != coupons || runs[0].StartedAt < runs[1].StartedAt || runs[1].StartedAt < runs[2].StartedAt {
		t.Errorf("%+v", runs)
	}

	// The names are the columns of the view, and the duration.
	var raw struct{ Runs []json.RawMessage }
	x.json(t, "/api/v1/runs?limit=1", &raw)
	var columns []string
	if err := b.w.Conn().QueryRow(t.Context(),
		"SELECT arraySort(arrayPushBack(groupArray(name), 'duration_seconds')) FROM system.columns WHERE database = currentDatabase() AND table = 'sync_runs'").Scan(&columns); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(columns, fields(t, raw.Runs[0])); d != "" {
		t.Error(d)
	}

	for _, query := range []string{"?limit=0", "?limit=1001", "?limit=-1", "?limit=x", "?limit=", "?limit=1e2",
		"?limit=1&limit=2", "?stream=coupon", "?stream=coupons&stream=payouts", "?acount=acme", "?account=nobody",
		"?account=%27%20OR%201", "?%zz"} {
		answer, body := x.get(t, "/api/v1/runs"+query)
		var problem map[string]string
		if err := json.Unmarshal([]byte(body), &problem); err != nil || answer.StatusCode != http.StatusBadRequest ||
			problem["error"] == "" {
			t.Errorf("%s: %s: %s", query, answer.Status, body)
		}
	}
	if answer, _ := x.get(t, "/api/v1/status?account=acme"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a parameter that means nothing: %s", answer.Status)
	}
}
