package lineage

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

const key = "lineage-secret-9c1d"

// schemas returns the official ones, by their ids.
func schemas(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(document.(map[string]any)["$id"].(string), document); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// inbox is a receiver that keeps what it got.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	all  []string
	keys []string
}

func newInbox(t *testing.T, status func(attempt int) int) *inbox {
	t.Helper()
	b, attempts := &inbox{}, 0
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		attempts++
		code := status(attempts)
		if code == http.StatusTemporaryRedirect {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(code)
		if code == http.StatusCreated && err == nil && r.URL.Path == "/api/v1/lineage" {
			b.all, b.keys = append(b.all, string(text)), append(b.keys, r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func always(code int) func(int) int { return func(int) int { return code } }

func options(b *inbox) Options {
	return Options{
		URL: b.URL + "/api/v1/lineage", Key: key, Namespace: "dealhouse", Warehouse: "clickhouse://warehouse:9000",
		Database: "dealhouse",
		Engine:   "26.7.1.1", Version: "1.2.3 (devel)", Pauses: []time.Duration{time.Millisecond},
		Timeout: 10 * time.Minute, // for a receiver that answers at once, on a machine that may be slow
	}
}

func jobOf(t *testing.T, s *catalog.Stream) syncer.Job {
	t.Helper()
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: "https://api.example.com/shop", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return syncer.NewJob("acme", s, client)
}

func record(s *catalog.Stream, outcome string) warehouse.RunRecord {
	at := time.Date(2026, 2, 3, 4, 5, 6, 7e6, time.UTC)
	r := warehouse.RunRecord{Account: "acme", Stream: s.Name, RunID: uuid.New(), Mode: s.Kind.String(), StartedAt: at,
		FinishedAt: at.Add(time.Minute), Outcome: outcome}
	r.Totals.Read, r.Totals.Bytes, r.Changes.Inserted, r.Changes.Updated = 12, 3456, 5, 2
	if outcome != warehouse.OutcomeSuccess {
		r.Error = "it broke: \"quoted\"\nsecond line"
	}
	return r
}

// TestEventsFollowTheStandard sends all kinds of statements about every stream, and validates them with the official
// schemas: each event as a whole, and each facet with the schema that it names.
func TestEventsFollowTheStandard(t *testing.T) {
	b := newInbox(t, always(http.StatusCreated))
	o := options(b)
	o.Parent = Parent{"airflow", "dag.task", uuid.NewString()}
	e := New(o)
	tell := e.Observer()
	want := map[string]int{}
	for _, s := range catalog.All() {
		j := jobOf(t, s)
		for outcome, end := range map[string]string{
			warehouse.OutcomeSuccess: "COMPLETE", warehouse.OutcomeFailed: "FAIL", warehouse.OutcomeGuarded: "FAIL",
			warehouse.OutcomeIncomplete: "FAIL", warehouse.OutcomeStopped: "ABORT",
		} {
			j, r := j, record(s, outcome)
			j.Due = r.StartedAt.Add(-time.Second)
			if outcome == warehouse.OutcomeGuarded { // the retry of rejects asks no API, and nobody scheduled it
				j.Client, j.Due, r.Mode = nil, time.Time{}, warehouse.ModeRetry
			}
			tell.Began(j, r)
			tell.Ended(j, r)
			want["START"]++
			want[end]++
		}
	}
	e.Close(t.Context())
	b.mu.Lock()
	defer b.mu.Unlock()

	compiler := schemas(t)
	compile := func(id string) *jsonschema.Schema {
		schema, err := compiler.Compile(id)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	whole := compile("https://openlineage.io/spec/2-0-2/OpenLineage.json")
	got, facets := map[string]int{}, map[string]bool{}
	for i, text := range b.all {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := whole.Validate(document); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		eachFacet(document, func(name string, facet map[string]any) {
			facets[name] = true
			if err := compile(facet["_schemaURL"].(string)).Validate(facet); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		})
		if strings.Contains(text, key) || b.keys[i] != "Bearer "+key {
			t.Errorf("the key is in the event, or was not sent: %q", b.keys[i])
		}
		got[document.(map[string]any)["eventType"].(string)]++
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%d events %s, want %d", got[name], name, n)
		}
	}
	for _, name := range []string{
		"schema", "dataSource", "outputStatistics", "inputStatistics", "errorMessage", "nominalTime", "processing_engine",
		"parent", "jobType", "columnLineage", "documentation",
	} {
		if !facets[name] {
			t.Errorf("no event has the facet %s", name)
		}
	}
	for _, text := range b.all { // they come in any order
		retry := strings.Contains(text, `.`+warehouse.ModeRetry+`"`)
		if !strings.Contains(text, `"name":"acme.`) ||
			strings.Contains(text, `"namespace":"https://api.example.com`) == retry {
			t.Errorf("the job is not named, or its input: %s", text)
		}
	}
}

// eachFacet visits the facets of an event, wherever they are.
func eachFacet(v any, visit func(name string, facet map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			eachFacet(inner, visit)
		}
	case map[string]any:
		for name, inner := range v {
			if facet, is := inner.(map[string]any); is && facet["_schemaURL"] != nil {
				visit(name, facet)
			}
			eachFacet(inner, visit)
		}
	}
}

// TestReceiverThatIsDown checks lineage-1: reporting a run does not wait, lost events are counted and reported once,
// and closing ends in time.
func TestReceiverThatIsDown(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stuck:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(stuck)
	var lost atomic.Int64
	var log bytes.Buffer
	o := options(&inbox{Server: server})
	o.Queue, o.Timeout = 3, time.Hour
	o.Lost, o.Logger = func(n int) { lost.Add(int64(n)) }, slog.New(slog.NewTextHandler(&log, nil))
	e := New(o)
	tell, s := e.Observer(), catalog.Payouts()
	j := jobOf(t, s)
	for range 20 {
		tell.Began(j, record(s, warehouse.OutcomeRunning))
	}
	if n := lost.Load(); n < 16 || n > 17 { // three wait, and one may be being sent
		t.Errorf("%d events were dropped", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.Close(ended)
	e.Close(ended)
	tell.Ended(j, record(s, warehouse.OutcomeFailed)) // a run that ends late
	if n := lost.Load(); n != 21 {
		t.Errorf("%d of 21 events count as lost", n)
	}
	if n := strings.Count(log.String(), "are lost"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, log.String())
	}
}

// TestAttempts sends events to receivers that refuse them.
func TestAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		status  func(int) int
		arrived int
		lost    int64
	}{
		"busy for a moment": {func(n int) int {
			return map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusCreated}[n == 1]
		}, 2, 0},
		"busy for too long": {func(n int) int {
			return map[bool]int{true: http.StatusTooManyRequests, false: http.StatusCreated}[n <= 2]
		}, 1, 1},
		"refuses the key": {func(n int) int {
			return map[bool]int{true: http.StatusUnauthorized,
				false: http.StatusCreated}[n == 1]
		}, 1, 1},
		"sends it elsewhere": {always(http.StatusTemporaryRedirect), 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newInbox(t, c.status)
			var lost atomic.Int64
			o := options(b)
			o.Lost = func(n int) { lost.Add(int64(n)) }
			e := New(o)
			s := catalog.Transactions()
			r := record(s, warehouse.OutcomeSuccess)
			e.Observer().Began(jobOf(t, s), r)
			e.Observer().Ended(jobOf(t, s), r)
			e.Close(t.Context())
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.all) != c.arrived || lost.Load() != c.lost {
				t.Errorf("%d arrived and %d were lost, want %d and %d", len(b.all), lost.Load(), c.arrived, c.lost)
			}
		})
	}
}

// TestFile appends events to a file, one in each line and in their order, and continues after the file was moved away.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lineage.jsonl")
	s := catalog.Transactions()
	var types []string
	for range 2 {
		e := New(Options{File: path, Namespace: "n", Warehouse: "w", Database: "d"})
		r := record(s, warehouse.OutcomeSuccess)
		e.Observer().Began(jobOf(t, s), r)
		e.Observer().Ended(jobOf(t, s), r)
		e.Close(t.Context())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var ev struct{ EventType string }
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		types = append(types, ev.EventType)
	}
	if want := []string{"START", "COMPLETE", "START", "COMPLETE"}; !slices.Equal(types, want) {
		t.Errorf("the file has %q", types)
	}
	var lost atomic.Int64
	e := New(Options{File: filepath.Join(path, "below-a-file"), Lost: func(n int) { lost.Add(int64(n)) }})
	e.Observer().Began(jobOf(t, s), record(s, warehouse.OutcomeRunning))
	e.Close(t.Context())
	if lost.Load() != 1 {
		t.Error("what could not be written is not counted")
	}
	var nobody *Emitter
	nobody.Close(t.Context())
	if nobody.Observer() != nil {
		t.Error("nobody is told of runs")
	}
}
