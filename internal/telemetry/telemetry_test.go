package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const secret = "otlp-secret-4e7a"

// collector accepts what is sent over OTLP, as a real one does.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*v1.Span
	about   map[string]string // of the source of the spans
	metrics map[string]float64
	headers []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{about: map[string]string{}, metrics: map[string]float64{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		text, err := io.ReadAll(body)
		if err == nil {
			err = c.receive(r.URL.Path, text)
		}
		if err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusBadRequest)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers = append(c.headers, r.Header.Get("X-Key")+" "+r.Header.Get("Content-Type"))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(path string, text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch path {
	case "/v1/traces":
		var request tracespb.ExportTraceServiceRequest
		if err := proto.Unmarshal(text, &request); err != nil {
			return err
		}
		for _, resource := range request.ResourceSpans {
			for _, a := range resource.Resource.Attributes {
				c.about[a.Key] = a.Value.GetStringValue()
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var request metricspb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(text, &request); err != nil {
			return err
		}
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					for _, p := range append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...) {
						c.metrics[m.Name] += p.GetAsDouble()
					}
				}
			}
		}
	default:
		return errors.New("nothing is at " + path)
	}
	return nil
}

func start(t *testing.T, o Options, env ...string) *Sender {
	t.Helper()
	// A collector that answers at once is never too late, however slow the machine is.
	o.Settings, o.Version = Read(append([]string{"OTEL_EXPORTER_OTLP_TIMEOUT=3600000"}, env...)), "1.2.3"
	if len(o.Problems) > 0 {
		t.Fatal(o.Problems)
	}
	s, err := StartSender(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSend sends a run with more requests than it may show, below a span of another program, and a metric.
func TestSend(t *testing.T) {
	c := newCollector(t)
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "deals_total"})
	registry.MustRegister(counter)
	counter.Add(42)
	s := start(t, Options{Gatherer: registry}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/",
		"OTEL_EXPORTER_OTLP_HEADERS=x-key="+secret+"%20,other=1", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_SERVICE_NAME=shop", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=prod%2Ceu,service.name=not-this",
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx := s.Context(t.Context())
	ctx, run := StartRun(ctx, "run", "coupons")
	reading, read := Start(ctx, "read")
	for range 600 {
		AddRequest(reading, Request{Name: "list", SentAt: time.Now(), Status: 200})
	}
	AddRequest(reading, Request{Name: "list", SentAt: time.Now(), Duration: time.Second, Attempt: 2,
		Status: 503, Failed: "server"})
	read.End(errors.New("the API is down"))
	run.Count("rows", 7)
	run.End(nil)
	s.Close(t.Context())

	c.mu.Lock()
	defer c.mu.Unlock()
	byName, ids := map[string][]*v1.Span{}, map[string]string{}
	for _, span := range c.spans {
		byName[span.Name] = append(byName[span.Name], span)
		ids[string(span.SpanId)] = span.Name
	}
	if got := byName["run coupons"]; len(got) != 1 || got[0].ParentSpanId[0] != 0xb7 || got[0].TraceId[0] != 0x0a ||
		!strings.Contains(got[0].String(), "dealhouse.spans_left_out") {
		t.Fatalf("the run is %v", got)
	}
	if got := byName["read"]; len(got) != 1 || ids[string(got[0].ParentSpanId)] != "run coupons" ||
		got[0].Status.GetMessage() != "the API is down" {
		t.Errorf("reading is %v", got)
	}
	requests := byName["list"]
	if len(requests) != 500 { // with the span of reading, 499 and the one that failed
		t.Errorf("%d requests are shown", len(requests))
	}
	last := requests[len(requests)-1]
	if ids[string(last.ParentSpanId)] != "read" || last.Status.GetCode() != v1.Status_STATUS_CODE_ERROR ||
		last.EndTimeUnixNano-last.StartTimeUnixNano != 1e9 || last.Kind != v1.Span_SPAN_KIND_CLIENT {
		t.Errorf("the request that failed is %v", last)
	}
	for name, want := range map[string]string{"service.name": "shop", "service.version": "1.2.3",
		"deployment.environment": "prod,eu"} {
		if c.about[name] != want {
			t.Errorf("%s is %q, want %q", name, c.about[name], want)
		}
	}
	if c.metrics["deals_total"] != 42 {
		t.Errorf("the metrics are %v", c.metrics)
	}
	if slices.ContainsFunc(c.headers, func(h string) bool { return h != secret+" application/x-protobuf" }) {
		t.Errorf("the headers are %q", c.headers)
	}
}

// TestCollectorThatIsDown checks a collector delays nothing: spans are still recorded, however many they are, and
// closing ends in time.
func TestCollectorThatIsDown(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-stuck:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(stuck)
	var log bytes.Buffer
	s := start(t, Options{Gatherer: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(&log, nil))},
		"OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key="+secret, "OTEL_METRICS_EXPORTER=none")
	ctx := s.Context(t.Context())
	for range 10_000 { // more than fit into the queue
		_, run := StartRun(ctx, "run", "coupons")
		run.End(nil)
	}
	ended, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s.Close(ended)
	if ended.Err() == nil {
		t.Error("the end did not wait for the collector at all")
	}
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "stopped before all traces and metrics were sent") {
		t.Error(log.String())
	}
}

// TestRefusals counts what a collector refuses, and follows no redirect with the headers.
func TestRefusals(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, handler := range map[string]http.HandlerFunc{
		"unauthorized": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "the key "+r.Header.Get("X-Key")+" is not known", http.StatusUnauthorized)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			lost := map[string]int{}
			var mu sync.Mutex
			var log bytes.Buffer
			s := start(t, Options{
				Gatherer: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Lost: func(signal string, n int) { mu.Lock(); defer mu.Unlock(); lost[signal] += n },
			}, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key="+secret)
			ctx := s.Context(t.Context())
			for range 3 {
				_, run := StartRun(ctx, "run", "coupons")
				run.End(nil)
			}
			s.Close(t.Context())
			if d := cmp.Diff(map[string]int{Traces: 3, Metrics: 1}, lost); d != "" {
				t.Error(d)
			}
			if n := strings.Count(log.String(), "do not arrive"); n != 2 || strings.Contains(log.String(), secret) {
				t.Errorf("it was said %d times:\n%s", n, log.String())
			}
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("headers were sent to another address")
	}
}

// TestRead reads the variables. The value of one that cannot be used is not shown.
func TestRead(t *testing.T) {
	const e = "OTEL_EXPORTER_OTLP_"
	for name, c := range map[string]struct {
		env             []string
		traces, metrics string // their addresses
		problem         string
	}{
		"nothing": {[]string{"OTEL_SERVICE_NAME=x", "OTEL_RESOURCE_ATTRIBUTES=broken"}, "", "", ""},
		"an address for both": {[]string{e + "ENDPOINT=http://c:4318/otlp"}, "http://c:4318/otlp/v1/traces",
			"http://c:4318/otlp/v1/metrics", ""},
		"one of its own": {[]string{e + "ENDPOINT=http://c:4318", e + "METRICS_ENDPOINT=https://m/push"},
			"http://c:4318/v1/traces", "https://m/push", ""},
		"only traces": {[]string{e + "TRACES_ENDPOINT=http://c/v1/traces"}, "http://c/v1/traces", "", ""},
		"no metrics": {[]string{e + "ENDPOINT=http://c:4318", "OTEL_METRICS_EXPORTER=none"},
			"http://c:4318/v1/traces", "", ""},
		"without an address": {[]string{"OTEL_TRACES_EXPORTER=otlp"}, "http://localhost:4318/v1/traces", "", ""},
		"disabled":           {[]string{e + "ENDPOINT=http://c:4318", "OTEL_SDK_DISABLED=TRUE"}, "", "", ""},
		"set to nothing":     {[]string{e + "ENDPOINT=", "OTEL_TRACES_EXPORTER= "}, "", "", ""},
		"another exporter": {[]string{e + "ENDPOINT=http://c:4318", "OTEL_METRICS_EXPORTER=prometheus"},
			"http://c:4318/v1/traces", "", "OTEL_METRICS_EXPORTER: only"},
		"grpc": {[]string{e + "ENDPOINT=http://c:4317", e + "PROTOCOL=grpc",
			e + "METRICS_PROTOCOL=http/protobuf"}, "", "http://c:4317/v1/metrics", e + "PROTOCOL: only http/protobuf"},
		"a password in it": {[]string{e + "ENDPOINT=http://u:" + secret + "@c:4318", "OTEL_METRICS_EXPORTER=none"},
			"", "", e + "ENDPOINT: it must be a URL"},
		"no URL": {[]string{e + "ENDPOINT=c:4318", "OTEL_METRICS_EXPORTER=none"}, "", "",
			e + "ENDPOINT: it must be a URL"},
		"headers of both": {[]string{e + "ENDPOINT=http://c", e + "HEADERS=" + secret}, "", "",
			e + "HEADERS: it must be name=value"},
		"headers that are none": {[]string{e + "TRACES_ENDPOINT=http://c", e + "HEADERS=Bearer " + secret}, "", "",
			e + "HEADERS: it must be name=value"},
		"headers with line breaks": {[]string{e + "TRACES_ENDPOINT=http://c", e + "TRACES_HEADERS=a=" + secret + "%0d%0ab"},
			"", "", e + "TRACES_HEADERS: it must be name=value"},
		"a time in words": {[]string{e + "TRACES_ENDPOINT=http://c", e + "TIMEOUT=10s"}, "", "",
			e + "TIMEOUT: it must be a number"},
		"no authorities": {[]string{e + "TRACES_ENDPOINT=https://c", e + "CERTIFICATE=/not/there"}, "", "",
			"the file of authorities cannot be read"},
		"attributes that are none": {[]string{e + "TRACES_ENDPOINT=http://c", "OTEL_RESOURCE_ATTRIBUTES=a"}, "http://c", "",
			"OTEL_RESOURCE_ATTRIBUTES: it must be"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Read(c.env)
			got := []string{"", ""}
			for i, endpoint := range []*Endpoint{s.Traces, s.Metrics} {
				if endpoint != nil {
					got[i] = endpoint.URL
				}
			}
			said := strings.Join(s.Problems, "\n")
			if d := cmp.Diff([]string{c.traces, c.metrics}, got); d != "" || (said == "") != (c.problem == "") ||
				!strings.Contains(said, c.problem) || len(s.Problems) > 1 || strings.Contains(said, secret) {
				t.Errorf("%s\n%s", d, said)
			}
			if s.On() && s.Attributes["service.name"] != "dealhouse" {
				t.Errorf("the service has the name %q", s.Attributes["service.name"])
			}
		})
	}
}
