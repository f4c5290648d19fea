package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Options of a Sender. Settings must be on.
type Options struct {
	Settings
	Version  string                           // of this program
	Gatherer prometheus.Gatherer              // of the metrics; nil: none are sent
	Lost     func(signal string, n int)       // called for spans and exports of metrics that did not arrive
	Logger   *slog.Logger                     // default: none
	Retry    otlptracehttp.RetryConfig        // of an export; default: after 1s, up to 5s, for 30s
	Interval time.Duration                    // of metrics; default: OTEL_METRIC_EXPORT_INTERVAL, a minute
	Batch    []trace.BatchSpanProcessorOption // default: OTEL_BSP_...
}

// Names of signals for Options.Lost.
const (
	Traces  = "traces"
	Metrics = "metrics"
)

// Sender sends traces and metrics. nil sends none.
type Sender struct {
	traces  *trace.TracerProvider
	metrics *metric.MeterProvider
	parent  string
	log     *slog.Logger
}

// scopeName names the spans' source.
const scopeName = "dealhouse"

// StartSender starts a Sender, which must be closed.
func StartSender(ctx context.Context, o Options) (*Sender, error) {
	o.setDefaults()
	// The SDK reads variables too, and prints those that it does not understand, with their values (no secret is sent
	// or shown).
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // what does not arrive is counted below
	attributes := []attribute.KeyValue{attribute.String("service.version", o.Version)}
	for name, value := range o.Attributes {
		attributes = append(attributes, attribute.String(name, value))
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...))
	if err != nil {
		return nil, err
	}
	s := &Sender{parent: o.Parent, log: o.Logger}
	if e := o.Traces; e != nil {
		exporter, err := otlptracehttp.New(ctx, traceOptions(e, o.Retry)...)
		if err != nil {
			return nil, err
		}
		s.traces = trace.NewTracerProvider(trace.WithResource(about),
			trace.WithBatcher(&spanExporter{exporter, loss{o: &o, signal: Traces, to: e}}, o.Batch...))
	}
	if e := o.Metrics; e != nil && o.Gatherer != nil {
		exporter, err := otlpmetrichttp.New(ctx, metricOptions(e, o.Retry)...)
		if err != nil {
			return nil, errors.Join(err, s.shutdown(ctx))
		}
		reading := []metric.PeriodicReaderOption{metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(o.Gatherer))), metric.WithTimeout(e.Timeout)}
		if o.Interval > 0 {
			reading = append(reading, metric.WithInterval(o.Interval))
		}
		reader := metric.NewPeriodicReader(&metricExporter{exporter, loss{o: &o, signal: Metrics, to: e}}, reading...)
		s.metrics = metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(reader))
	}
	return s, nil
}

func (o *Options) setDefaults() {
	if o.Lost == nil {
		o.Lost = func(string, int) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Retry == (otlptracehttp.RetryConfig{}) {
		o.Retry = otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second,
			MaxElapsedTime: 30 * time.Second}
	}
}

// Context makes a context in which spans are recorded, below the span that has started this program if there is one.
func (s *Sender) Context(ctx context.Context) context.Context {
	if s == nil || s.traces == nil {
		return ctx
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": s.parent})
	return With(ctx, s.traces.Tracer(scopeName))
}

// Close sends what is left until ctx ends, and drops the rest.
func (s *Sender) Close(ctx context.Context) {
	if s == nil {
		return
	}
	if err := s.shutdown(ctx); err != nil {
		s.log.Warn("stopped before all traces and metrics were sent", "error", err)
	}
}

func (s *Sender) shutdown(ctx context.Context) error {
	var group sync.WaitGroup
	var traces, metrics error
	if s.traces != nil {
		group.Go(func() { traces = s.traces.Shutdown(ctx) })
	}
	if s.metrics != nil {
		group.Go(func() { metrics = s.metrics.Shutdown(ctx) })
	}
	group.Wait()
	return errors.Join(traces, metrics)
}

// client makes the requests to an endpoint.
func (e *Endpoint) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: e.TLS, ForceAttemptHTTP2: true,
			MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second},
		// The other address would get the headers (no secret is sent or shown).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       e.Timeout,
	}
}

func traceOptions(e *Endpoint, retry otlptracehttp.RetryConfig) []otlptracehttp.Option {
	all := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(e.URL), otlptracehttp.WithHeaders(e.Headers), otlptracehttp.WithTimeout(e.Timeout),
		otlptracehttp.WithHTTPClient(e.client()),
		otlptracehttp.WithRetry(retry), otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
	}
	if e.Gzip {
		all = append(all, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	return all
}

func metricOptions(e *Endpoint, retry otlptracehttp.RetryConfig) []otlpmetrichttp.Option {
	all := []otlpmetrichttp.Option{
		otlpmetrichttp.WithEndpointURL(e.URL), otlpmetrichttp.WithHeaders(e.Headers), otlpmetrichttp.WithTimeout(e.Timeout),
		otlpmetrichttp.WithHTTPClient(e.client()),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(retry)),
		otlpmetrichttp.WithCompression(otlpmetrichttp.NoCompression),
	}
	if e.Gzip {
		all = append(all, otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	}
	return all
}

// loss counts what did not arrive, and logs the first loss.
type loss struct {
	o      *Options
	signal string
	to     *Endpoint
	silent atomic.Bool
}

func (l *loss) note(n int, err error) {
	if err == nil {
		l.silent.Store(false)
		return
	}
	l.o.Lost(l.signal, n)
	if cause, ok := errors.AsType[*url.Error](err); ok {
		err = cause.Err
	}
	if !l.silent.Swap(true) {
		text := err.Error() // with what the receiver answered
		for _, value := range l.to.Headers {
			text = strings.ReplaceAll(text, value, "***")
		}
		l.o.Logger.Warn("traces or metrics sent over OTLP do not arrive: runs continue, and this is logged once until something arrives",
			"signal", l.signal, "receiver", l.to.URL, "error", text)
	}
}

// spanExporter is an exporter whose failures are counted, and not passed on.
type spanExporter struct {
	trace.SpanExporter
	loss
}

// ExportSpans is part of trace.SpanExporter.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	e.note(len(spans), e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// metricExporter is the same for metrics: each export counts.
type metricExporter struct {
	metric.Exporter
	loss
}

// Export is part of metric.Exporter.
func (e *metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	e.note(1, e.Exporter.Export(ctx, all))
	return nil
}
