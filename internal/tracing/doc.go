// Package tracing is how the parts of the program say what takes their time: as spans of OpenTelemetry. It knows
// nothing of where they go; package telemetry sends them.
//
// Whether there are spans at all is decided by the context: With makes one in which they are recorded. In any other
// context everything here does nothing.
//
// Invariants, cited in the code as tracing-N:
//
//  1. In a context without a tracer nothing is allocated, and nothing is done but to look for one.
//  2. A run has a bounded number of spans, however many pages it reads: what is above that is counted, and requests
//     that failed go before those that did not.
//  3. No attribute has a secret. There are none but numbers, words of the program and its catalog, and errors, which
//     have none; of an address the query is left out.
package tracing
