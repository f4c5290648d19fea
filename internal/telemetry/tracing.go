package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// What a run may have of spans (a run has a bounded number of spans).
const (
	mostSpans    = 1000
	mostRequests = 500 // and failed ones up to mostSpans
)

type scopeKey struct{}

// scope is where the spans of a context go, and how many there were.
type scope struct {
	tracer        trace.Tracer
	spans, beyond atomic.Int64
}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// countSpan counts one more span, and reports whether it is within the most that are recorded.
func (s *scope) countSpan(most int64) bool {
	if s.spans.Add(1) <= most {
		return true
	}
	s.spans.Add(-1)
	s.beyond.Add(1)
	return false
}

// With makes a context in which spans are recorded.
func With(ctx context.Context, tracer trace.Tracer) context.Context {
	return context.WithValue(ctx, scopeKey{}, &scope{tracer: tracer})
}

// Span is a part of what is done. nil is one that is not recorded.
type Span struct {
	span  trace.Span
	scope *scope
	whole bool // of a run
}

// Start begins a part of what the context is about.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	s := scopeOf(ctx)
	if s == nil || !s.countSpan(mostSpans) { // tracing that is off costs nothing
		return ctx, nil
	}
	ctx, span := s.tracer.Start(ctx, name)
	return ctx, &Span{span: span, scope: s}
}

// Below makes another context one that is about the span too.
func Below(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// StartRun begins a run, whose parts are counted for themselves.
func StartRun(ctx context.Context, what, stream string) (context.Context, *Span) {
	s := scopeOf(ctx)
	if s == nil {
		return ctx, nil
	}
	own := &scope{tracer: s.tracer}
	ctx, span := s.tracer.Start(context.WithValue(ctx, scopeKey{}, own), what+" "+stream)
	return ctx, &Span{span: span, scope: own, whole: true}
}

// Text says something of the span.
func (s *Span) Text(name, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// Count says how many.
func (s *Span) Count(name string, n uint64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(name, int64(n)))
	}
}

// End ends the span, with an error if it failed.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if n := s.scope.beyond.Load(); s.whole && n > 0 {
		s.span.SetAttributes(attribute.Int64("dealhouse.spans_left_out", n))
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// Request is a request to the API that has been made.
type Request struct {
	Name     string // what it was for: one of few
	Path     string // of its address
	SentAt   time.Time
	Duration time.Duration
	Attempt  int    // from 1
	Status   int    // 0: no answer
	Bytes    int64  // of the body
	Failed   string // what went wrong, in a word; "": nothing
}

// AddRequest records a request.
func AddRequest(ctx context.Context, r Request) {
	s := scopeOf(ctx)
	if s == nil { // tracing that is off costs nothing
		return
	}
	most := int64(mostRequests)
	if r.Failed != "" {
		most = mostSpans
	}
	if !s.countSpan(most) {
		return
	}
	attributes := []attribute.KeyValue{attribute.String("http.request.method", "GET"),
		attribute.String("url.path", r.Path), attribute.Int64("http.response.body.size", r.Bytes)}
	if r.Status != 0 {
		attributes = append(attributes, attribute.Int("http.response.status_code", r.Status))
	}
	if r.Attempt > 1 {
		attributes = append(attributes, attribute.Int("http.request.resend_count", r.Attempt-1))
	}
	if r.Failed != "" {
		attributes = append(attributes, attribute.String("error.type", r.Failed))
	}
	_, span := s.tracer.Start(ctx, r.Name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(r.SentAt),
		trace.WithAttributes(attributes...))
	if r.Failed != "" {
		span.SetStatus(codes.Error, r.Failed)
	}
	span.End(trace.WithTimestamp(r.SentAt.Add(r.Duration)))
}
