package daemon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"dealhouse/internal/catalog"
	"dealhouse/internal/payouts"
	"dealhouse/internal/warehouse"
)

var update = flag.Bool("update", false, "write the table of metrics in deploy/METRICS.md")

// everything returns the metrics of a registry in which each metric has a series.
func everything(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, Build{"1.2.3", "abc", "go1", "26"}, nil)
	now := time.Now()
	for _, name := range catalog.Names() {
		m.Expect("acme", name)
		m.Expect("other", name)
	}
	for i, r := range []warehouse.EndedRun{{Outcome: warehouse.OutcomeSuccess}, {Outcome: warehouse.OutcomeIncomplete},
		{Outcome: warehouse.OutcomeFailed}, {Outcome: warehouse.OutcomeKilled}, {Outcome: warehouse.OutcomeGuarded},
		{Outcome: warehouse.OutcomeGuarded, Rejected: 1},
		{Outcome: warehouse.OutcomeGuarded, WouldDelete: 3}} {
		r.StartedAt = &now
		m.Syncer.Observe([]warehouse.StreamStatus{{Account: []string{"acme", "other"}[i/len(catalog.Names())],
			Stream: catalog.Names()[i%len(catalog.Names())], Now: now, Ended: r}})
	}
	m.Syncer.Observe([]warehouse.StreamStatus{{Account: "acme", Stream: "transactions", LookedAt: &now, Watermark: &now,
		Now: now},
		{Account: "acme", Stream: "coupons", Scope: catalog.Scope{{Filter: "hostname",
			Values: []string{"shop.example"}}}.Encode(), Now: now}})
	m.SetChecks([]warehouse.Check{{Account: "acme", Stream: "coupons", Name: warehouse.CheckKeysUnique, OK: true}})
	m.SetLateness(warehouse.Lateness{StreamID: warehouse.StreamID{Account: "acme", Stream: "transactions"}, Half: time.Minute,
		Most: time.Hour, Latest: 2 * time.Hour})
	m.SetPayouts("acme", payouts.Reconciliation{}.Counts())
	m.AddReferences("acme", "coupons", 2, 1)
	m.Notify.Expect([]string{"ops"})
	m.EndJob(now)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// The table in deploy/METRICS.md has exactly the metrics of the registry.
func TestReadmeMetrics(t *testing.T) {
	const path, first = "../../deploy/METRICS.md", "| Metric | Type | Labels | Meaning |\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), first)
	if !found {
		t.Fatal("deploy/METRICS.md has no table of metrics")
	}
	end := strings.Index(rest, "\n\n") + 1
	want := "|---|---|---|---|\n"
	for _, f := range everything(t) {
		want += fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), labels(f),
			f.GetHelp())
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+first+want+rest[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, rest[:end]); diff != "" {
		t.Errorf("the table in deploy/METRICS.md is not what the registry says: run go generate ./...\n%s", diff)
	}
}

// labels returns the names of a family's labels, with their values if these are a small fixed set.
func labels(f *dto.MetricFamily) string {
	values := map[string][]string{}
	var names []string
	for _, m := range f.Metric {
		for _, l := range m.Label {
			if _, known := values[l.GetName()]; !known {
				names = append(names, l.GetName())
			}
			if !slices.Contains(values[l.GetName()], l.GetValue()) {
				values[l.GetName()] = append(values[l.GetName()], l.GetValue())
			}
		}
	}
	var shown []string
	for _, name := range names {
		switch name {
		case "outcome", "status", "guard", "verdict":
			slices.Sort(values[name])
			name += " (" + strings.Join(values[name], ", ") + ")"
		}
		shown = append(shown, name)
	}
	return strings.Join(shown, ", ")
}

// Names, types and help texts follow the rules of Prometheus.
func TestMetricsLint(t *testing.T) {
	problems, err := promlint.NewWithMetricFamilies(everything(t)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// What is no longer loaded leaves no series.
func TestForget(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, Build{}, nil)
	for _, name := range catalog.Names() {
		m.Expect("acme", name)
	}
	m.SetChecks([]warehouse.Check{{Account: "acme", Stream: "coupons", Name: warehouse.CheckKeysUnique, OK: true}})
	if d := cmp.Diff([]string{"acme"}, m.WithoutPayouts()); d != "" {
		t.Error(d)
	}
	m.SetPayouts("acme", payouts.Reconciliation{}.Counts())
	if left := m.WithoutPayouts(); len(left) > 0 {
		t.Error(left)
	}
	for _, name := range catalog.Names() {
		m.Forget("acme", name)
	}
	m.ForgetAccount("acme")
	m.SetPayouts("acme", payouts.Reconciliation{}.Counts()) // a comparison that ends after that
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.Metric {
			for _, l := range series.Label {
				if l.GetName() == "account" {
					t.Errorf("%s of %s is still there", f.GetName(), l.GetValue())
				}
			}
		}
	}
}

// Every metric of the contract with dashboards and alert rules is there, with exactly its labels.
func TestMetricsContract(t *testing.T) {
	have := map[string]string{}
	for _, f := range everything(t) {
		var names []string
		for _, l := range f.Metric[0].Label {
			names = append(names, l.GetName())
		}
		have[strings.TrimPrefix(f.GetName(), "dealhouse_")] = strings.Join(names, ",")
	}
	const as, a = "account,stream", "account"
	want := map[string]string{
		"build_info": "engine,goversion,revision,version", "warehouse_retries_total": "", "config_reload_success": "", "engine_restarts_total": "",
		"config_last_reload_timestamp_seconds": "", "unfolded_months": "",
		"records_out_of_scope_total": "account,stream", "scope_info": "account,scope,stream",
		"runs_total": "account,outcome,stream", "guard_trips_total": "account,guard,stream",
		"quality_check_ok": "account,check,stream", "references_total": "account,outcome,stream",
		"http_requests_total": "account,status", "payouts": "account,verdict", "telemetry_lost_total": "signal",
		"last_run_info": "account,guard,outcome,stream", "job_finished_timestamp_seconds": "",
		"notifications_total": "outcome,receiver", "notifications_waiting": "receiver",
		"late_changes_seconds": "account,share,stream",
	}
	for _, name := range strings.Fields(`last_success_timestamp_seconds last_attempt_timestamp_seconds last_failure_timestamp_seconds run_duration_seconds runs_in_progress
		next_run_timestamp_seconds missed_runs_total failed_runs_in_a_row paused run_panics_total pages_reread_total records_read_total records_inserted_total records_updated_total records_deleted_total
		records_unchanged_total records_rejected_total watermark_timestamp_seconds watermark_lag_seconds look_age_seconds live_rows waiting_deletes last_run_records_read last_run_records_rejected pages_total staged_batches_total
		stage_duration_seconds merge_duration_seconds backfill_completed_ratio unknown_fields_total filter_ignored_total lease_held`) {
		want[name] = as
	}
	for _, name := range strings.Fields(`http_request_duration_seconds http_retries_total rate_limit_wait_seconds_total rate_limit_requests_per_second received_bytes_total
		payouts_mixed_currency payouts_altered payout_orphan_transactions payout_overdue_transactions`) {
		want[name] = a
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-contract +registry):\n%s", diff)
	}
}
