// Package daemon runs the streams by their schedules, for years. It decides when a run starts; package syncer decides
// what the run does. One goroutine owns the timetable. It wakes up several times a second, compares the wall clock with
// the plan, and starts runs in goroutines of their own.
//
// Invariants, cited in the code as daemon-N:
//
//  1. A stream never runs twice at once in this process; the lease in the warehouse keeps other processes away. If its
//     next time comes while it still runs, that time is skipped and counted as missed: the next run is at the time
//     after that. A full read that comes due meanwhile is not skipped, because it may be the only one in a week: it
//     follows at once.
//  2. If scheduled times passed while nothing could run, because the machine slept, the process was stopped or the
//     clock was set, one run makes up for all of them. All but one of them are counted as missed. After the clock was
//     set back, the plan is made again, so that nothing waits for the old time to come again.
//  3. Only the wall clock counts. A timer would stand still while the machine sleeps.
//  4. At the start, a stream runs at once if its last success is older than its schedule allows; any other waits for
//     its next time.
//  5. A panic ends its run, never the daemon.
//  6. A reload takes effect as a whole or not at all: if the new configuration cannot be read, the old plan stays in
//     force, and nothing changes before a plan is adopted. Running loads keep the settings that they started with;
//     these are closed after the last of those runs. Reloads start at least a second apart; several requests in between
//     are one reload.
//  7. Once the daemon is asked to stop, no run starts. Runs in progress may continue for the grace period. Then they
//     are stopped, and nothing that they read is half-visible.
//  8. Only the goroutine that starts the runs reports to the supervisor's watchdog. If it hangs, the daemon is
//     restarted.
//  9. A stream whose run failed is tried again after a pause that grows with the failures in a row, or at its next time
//     if that is sooner. If the failed run was to read everything, so does the next one. A stream that a guard has
//     stopped is not tried again before its next time, because a person must look. A reload lets every stream that
//     failed run at once.
//  10. A request of an operator is recorded in the warehouse before it takes effect, and what cannot be recorded is not
//     done. A paused stream starts no run, whatever is due or requested, and this survives a restart. When it is
//     resumed, one run makes up for all times that came due meanwhile; they do not count as missed.
//  11. No more than MaxRuns run at once, and of streams that are read for hours at most half as many. What is due then
//     waits, those first that operators want or that have waited longest, and starts when another run ends.
package daemon
