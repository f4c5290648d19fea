// Package telemetry sends traces and metrics over OTLP, as the standard variables of OpenTelemetry (OTEL_...) say.
// Without any of them nothing is sent, and nothing is started.
//
// Traces are the spans of package tracing. Metrics are those that Prometheus would scrape, from the same registry, so
// that there is one set of them.
//
// Invariants, cited in the code as telemetry-N:
//
//  1. A collector holds nothing up: spans wait in a bounded queue, each export has a time limit, and so has the end of
//     the program. What does not arrive is counted and dropped; the first of it is logged.
//  2. Variables that cannot be followed are warned of, never shown, and stop nothing: other programs set them too.
//  3. Headers, which hold keys, go to the address that is configured: no redirect is followed, and no part of the SDK
//     gets to print them.
package telemetry
