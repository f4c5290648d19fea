//go:build !noengine

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/daemon"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/telemetry"
)

// TestSignalsAreThoseOfTheMetrics compares the names under which packages telemetry and daemon, neither of which
// imports the other, count what did not arrive. Another name would be a series of its own, which no alert watches.
func TestSignalsAreThoseOfTheMetrics(t *testing.T) {
	t.Parallel()
	if telemetry.Traces != daemon.SignalTraces || telemetry.Metrics != daemon.SignalMetrics {
		t.Errorf("%s and %s, want %s and %s", telemetry.Traces, telemetry.Metrics, daemon.SignalTraces,
			daemon.SignalMetrics)
	}
}

// listener is what others have in place to be told of runs: a collector of OTLP and a receiver of OpenLineage.
type listener struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  strings.Builder
	spans   []*tracepb.Span
	metrics []string
	events  []lineageEvent
}

type lineageEvent struct {
	EventType string
	Job       struct{ Name string }
	Run       struct {
		RunID  string
		Facets struct{ ErrorMessage struct{ Message string } }
	}
	Outputs []struct {
		Name         string
		OutputFacets struct{ OutputStatistics struct{ RowCount int } }
	}
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = l.receive(r.URL.Path, text)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) receive(path string, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies.Write(text)
	switch path {
	case "/v1/traces":
		var request tracespb.ExportTraceServiceRequest
		if err := proto.Unmarshal(text, &request); err != nil {
			return err
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				l.spans = append(l.spans, scope.Spans...)
			}
		}
		return nil
	case "/v1/metrics":
		var request metricspb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(text, &request); err != nil {
			return err
		}
		for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			l.metrics = append(l.metrics, m.Name)
		}
		return nil
	}
	var e lineageEvent
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	l.events = append(l.events, e)
	return nil
}

// heard fails the test unless the span is there, below that one. The two may have come with different exports: a span
// is sent some time after it has ended, and the one above ends later.
func (l *listener) heard(t *testing.T, span, below string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[string]string{}
	for _, s := range l.spans {
		names[string(s.SpanId)] = s.Name
	}
	parents := map[string][]string{}
	for _, s := range l.spans {
		parents[s.Name] = append(parents[s.Name], names[string(s.ParentSpanId)])
	}
	if !slices.Contains(parents[span], below) {
		t.Errorf("there is no span %q below %q: %v", span, below, parents)
	}
}

// ended lists the events that ended a run of a job: their types, with their errors.
func ended(events []lineageEvent, job string) (types, failures []string) {
	for _, e := range events {
		if e.Job.Name == job && e.EventType != "START" {
			types, failures = append(types, e.EventType), append(failures, e.Run.Facets.ErrorMessage.Message)
		}
	}
	return types, failures
}

// TestOthersAreTold syncs while others listen: of each run they hear when it began, what it did and how it ended, and
// no secret.
func TestOthersAreTold(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	l := listen(t)
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+l.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key="+httpSecret,
		"OPENLINEAGE_URL="+l.URL, "OPENLINEAGE_API_KEY="+httpSecret)
	payouts := catalog.Payouts()
	b.call(t, "sync", payouts.Name, "--account", "acme").want(t, 0)
	call(t, append([]string{"GLOBEX_KEY=" + wrongKey}, b.env...), "sync", payouts.Name, "--account", "globex", "--config",
		b.config).want(t, 3)
	b.call(t, "sync", payouts.Name, "--account", "acme", "--dry-run").want(t, 0)

	for span, below := range map[string]string{
		"sync": "", "run " + payouts.Name: "sync", "wait": "run " + payouts.Name, "read": "run " + payouts.Name,
		"compare": "run " + payouts.Name, "publish": "run " + payouts.Name,
		"list " + payouts.Path: "read", "reconcile payouts": "sync",
	} {
		l.heard(t, span, below)
	}
	if !slices.ContainsFunc(l.metrics, func(name string) bool { return strings.HasPrefix(name, "dealhouse_runs") }) {
		t.Errorf("the metrics are %q", l.metrics)
	}
	if len(l.events) != 4 {
		t.Fatalf("%d events for two runs: %+v", len(l.events), l.events)
	}
	start, end := l.events[0], l.events[1]
	if start.EventType != "START" || end.EventType != "COMPLETE" || start.Run.RunID != end.Run.RunID ||
		end.Outputs[0].OutputFacets.OutputStatistics.RowCount == 0 ||
		end.Outputs[0].Name != "dealhouse."+payouts.Name {
		t.Errorf("the first run was told of as %+v and %+v", start, end)
	}
	if types, failures := ended(l.events, "globex."+payouts.Name); !slices.Equal(types, []string{"FAIL"}) ||
		!strings.Contains(failures[0], "refused the key") {
		t.Errorf("the run that failed ended with %q: %q", types, failures)
	}
	clean(t, l.bodies.String())
	if rows := b.call(t, "query", "SELECT count() FROM sync_runs WHERE run_id = '"+start.Run.RunID+
		"' AND outcome = 'success'", "-o", "csv"); !strings.Contains(rows.out, "\n1\n") {
		t.Errorf("the run is not in sync_runs under its id: %s", rows.out)
	}
}

// TestOthersAreToldByTheDaemon is the same of the daemon, which writes the events to a file from within its sandbox.
func TestOthersAreToldByTheDaemon(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	l := listen(t)
	// Each span goes by itself, so that this is also about spans that are sent apart from the one above.
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+l.URL+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=1",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1")
	payouts := catalog.Payouts().Name
	file := filepath.Join(t.TempDir(), "lineage.jsonl")
	text, err := os.ReadFile(b.hurried(t, "", payouts))
	if err != nil {
		t.Fatal(err)
	}
	d := b.daemon(t, b.write(t, "[lineage]\nto = \"file:"+file+"\"\n"+string(text)))
	var events []lineageEvent
	d.until(t, "a run has ended", func() bool {
		lines, _ := os.ReadFile(file)
		events = nil
		for line := range strings.Lines(string(lines)) {
			var e lineageEvent
			if json.Unmarshal([]byte(line), &e) == nil {
				events = append(events, e)
			}
		}
		types, _ := ended(events, "acme."+payouts)
		return slices.Contains(types, "COMPLETE")
	})
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143)
	l.heard(t, "run "+payouts, "")
	l.heard(t, "reconcile payouts", "run "+payouts)
	clean(t, l.bodies.String())
}
