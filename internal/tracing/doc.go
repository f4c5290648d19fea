// Package tracing records what takes the program's time, as spans of OpenTelemetry. It does not know where the spans
// go: package telemetry sends them.
//
// The context decides whether there are spans: With returns a context in which they are recorded. In any other context,
// everything here does nothing.
//
// Invariants, cited in the code as tracing-N:
//
//  1. In a context without a tracer, nothing is allocated, and nothing is done except to look for a tracer.
//  2. A run has a bounded number of spans, however many pages it reads. Spans above the limit are only counted, and
//     failed requests are kept before successful ones.
//  3. No attribute has a secret. Attributes are only numbers, words of the program and its catalog, errors, which have
//     no secrets, and addresses without their query.
package tracing
