// Package lineage tells a receiver of OpenLineage events (Marquez, DataHub and others), or a file, of each run: when it
// began, and how it ended; what it read, and which views it changed.
//
// A run is a run of the job <account>.<stream> in the namespace of the configuration; runs that are no normal load have
// their mode after that. Its id is the run_id of sync_runs. The input is the list of the API; the outputs are the views
// that follow from the stream in the catalog, with their columns and where each of them comes from. A run that ended
// well is COMPLETE, one that was stopped ABORT, any other FAIL. A walk that was interrupted and goes on begins again
// under its id. A process that is killed ends none of its runs.
//
// Invariants, cited in the code as lineage-N:
//
//  1. A receiver holds nothing up: events wait in a bounded queue, each attempt has a time limit, and so has the end of
//     the program. What does not fit or does not arrive is counted and dropped; the first of it is logged.
//  2. Events of a process arrive in their order, one at a time.
//  3. No event has a secret. It is made of records of runs, whose errors have none, and of addresses without user,
//     password and query. The key goes to the address that is configured, and follows no redirect.
package lineage
