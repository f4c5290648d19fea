package daemon

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// BenchmarkMetricsOfMany scrapes the metrics of 50 accounts and 300 streams, each with runs in every series that has
// labels. It reports the size of an answer, and the memory that the series need.
func BenchmarkMetricsOfMany(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := NewMetrics(registry, Build{Version: "1.2.3"}, nil)
	var all []warehouse.StreamStatus
	now := time.Now()
	for i := range 50 {
		for _, stream := range catalog.Names() {
			account := fmt.Sprintf("account-%02d", i)
			m.Expect(account, stream)
			all = append(all, warehouse.StreamStatus{Account: account, Stream: stream, Rows: 1000, LastSuccess: &now,
				LookedAt: &now, LastRun: &now, Now: now,
				Scope: catalog.Scope{{Filter: "hostname", Values: []string{"a.example", "b.example"}}}.Encode()})
		}
	}
	m.Syncer.Observe(all)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := int64(0)
	for b.Loop() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		n, err := io.Copy(io.Discard, w.Result().Body)
		if size = n; err != nil || w.Code != 200 {
			b.Fatal(w.Code, err)
		}
	}
	b.ReportMetric(100e6, "goal-ns/op")
	b.ReportMetric(float64(size), "B/scrape")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "B/registry")
}
