// Package daemon runs the streams by their schedules, for years: it decides when a run starts, and the syncer what it
// does. One goroutine owns the timetable. It is woken several times a second, compares the wall clock with what is
// planned, and starts runs in goroutines of their own.
//
// Invariants, cited in the code as daemon-N:
//
//  1. A stream never runs twice at once in this process; the lease in the warehouse keeps other processes away. A time
//     that comes while its stream still runs is skipped and counted as missed: the next run is at the next time. A full
//     read that comes due meanwhile is not skipped, since it may be the only one in a week: it follows at once.
//  2. Times that passed while nothing could run, because the machine slept, the process was stopped or the clock was
//     set, are made up for by one run. All but one of them are counted as missed. After the clock was set back, the
//     plan is made anew, so that nothing waits for the old time to come again.
//  3. Only the wall clock counts. A timer would stand still while the machine sleeps.
//  4. At the start, a stream whose last success is older than its schedule allows runs at once; any other waits for its
//     next time.
//  5. A panic ends its run, never the daemon.
//  6. A reload takes effect as a whole or not at all: what cannot be read leaves the old plan in force, and nothing
//     changes before a plan is adopted. Runs under way keep the settings that they started with, and these are
//     closed after the last of them. Reloads begin a second apart at least; those that are asked for meanwhile are one.
//  7. Once the daemon is asked to stop, no run starts. Runs under way may go on for the grace; then they are stopped,
//     which leaves nothing half-visible.
//  8. Only the goroutine that starts the runs reports to the supervisor's watchdog: when it stands still, the daemon is
//     restarted.
//  9. A stream whose run failed is tried again after a pause that grows with the failures in a row, or at its next time
//     if that is sooner; when everything had to be read, everything is. What a guard has stopped waits for a person and
//     its next time. A reload lets every stream that failed run at once.
//  10. What an operator asks for is recorded in the warehouse before it takes effect, and what cannot be recorded is
//     not done. A stream that is paused starts no run, whatever is due or asked for, and this survives a restart. What
//     comes due meanwhile is made up for by one run when it is resumed, and counts as missed by nobody.
package daemon
