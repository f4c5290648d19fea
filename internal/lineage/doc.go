// Package lineage reports each run as OpenLineage events to a receiver (Marquez, DataHub and others) or to a file: when
// it started and how it ended, what it read, and which views it changed.
//
// A run belongs to the job <account>.<stream> in the namespace of the configuration; the mode is appended unless it is
// a normal load. Its id is the run_id of sync_runs. The input is the list of the API. The outputs are the views that
// the catalog derives from the stream, with their columns and the origin of each column. A run that ended well is
// COMPLETE, one that was stopped is ABORT, any other is FAIL. An interrupted walk that continues starts again under its
// old id. A process that is killed sends no end for its runs.
//
// Invariants, cited in the code as lineage-N:
//
//  1. A receiver delays nothing: events wait in a bounded queue, each attempt has a time limit, and so has the shutdown
//     of the program. What does not fit or does not arrive is counted and dropped; the first loss is logged.
//  2. The events of a process arrive in order, one at a time.
//  3. No event has a secret. Events consist of records of runs, whose errors have no secrets, and of addresses without
//     user, password and query. The receiver's key is sent only to the configured address, and redirects are not
//     followed.
package lineage
