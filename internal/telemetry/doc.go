// Package telemetry sends traces and metrics over OTLP, as the standard variables of OpenTelemetry (OTEL_...) say. If
// none of them is set, nothing is sent or started.
//
// Traces are the spans of package tracing. Metrics come from the same registry as those for Prometheus, so both are
// always the same.
//
// Invariants, cited in the code as telemetry-N:
//
//  1. A collector delays nothing: spans wait in a bounded queue, each export has a time limit, and so has the shutdown
//     of the program. What does not arrive is counted and dropped; the first loss is logged.
//  2. Invalid variables cause a warning that does not show their values, and stop nothing: other programs set them too.
//  3. Headers hold keys. They are sent only to the configured address: redirects are not followed, and no part of the
//     SDK can print them.
package telemetry
