// Package telemetry records what takes the program's time, as spans of OpenTelemetry, and sends them and the metrics
// over OTLP, as the standard variables of OpenTelemetry (OTEL_...) say. If none of them is set, nothing is sent or
// started. Metrics come from the same registry as those for Prometheus, so both are always the same.
//
// The context decides whether there are spans: With returns a context in which they are recorded. What records them
// (tracing.go) does not know where they go.
//
// # Tracing that is off costs nothing
//
// In a context without a tracer, nothing is allocated, and nothing is done except to look for a tracer.
//
// # A run has a bounded number of spans
//
// However many pages it reads. Spans above the limit are only counted, and failed requests are kept before successful
// ones.
//
// # A collector delays nothing
//
// Spans wait in a bounded queue, each export has a time limit, and so has the shutdown of the program. What does not
// arrive is counted and dropped; the first loss is logged.
//
// # Invalid variables stop nothing
//
// They cause a warning that does not show their values: other programs set them too.
//
// # No secret is sent or shown
//
// Attributes are only numbers, words of the program and its catalog, errors, which have no secrets, and addresses
// without their query. Headers hold keys: they are sent only to the configured address, redirects are not followed, and
// no part of the SDK can print them.
package telemetry
