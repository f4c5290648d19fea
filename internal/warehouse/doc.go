// Package warehouse holds all SQL: it opens a ClickHouse (a server, or the embedded engine), makes the schema, stages
// rows, compares them with what is there, publishes the difference, and keeps the state of the streams.
//
// A run's rows go through three tables. <stream>_staging takes them as they arrive, a partition a run; nobody reads
// it. <stream>_changes_<run> has the keys that are new, changed or gone, by comparison of key, version and hash.
// <stream>_delta_<run> has the complete rows of those keys; its parts are then attached to <stream>_versions and
// <stream>_latest, behind which are the views that people query.
//
// Invariants, cited in the code as warehouse-N:
//
//  1. Readers see all of a run or nothing of it: parts are attached in one step, and nothing else writes to the tables
//     behind the views.
//  2. Before the first part is attached, an intent is durable that says all that is left to do; whoever finds it
//     finishes the work (Recover), and every step of the work can be repeated.
//  3. The watermark is its own version, so that a lower one can never replace a higher one.
//  4. What a run stages is counted before it is compared: a row that got lost on the way must not look deleted.
//  5. Times that two processes compare are the warehouse's.
//  6. A version of a row is never 0, and is higher than that of every older state: the upstream's time of change in
//     the high 64 bits, the time of reading in the low.
package warehouse
