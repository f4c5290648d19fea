// Package service is what the program does around runs: it finds the streams that are asked for, makes their API
// clients and jobs, makes the runs side by side, and does what follows from them: it asks for deals that transactions
// name and no list has, checks what readers see, reconciles payouts, and publishes metrics. It makes the daemon's plans
// out of configurations. When a run begins is decided by package daemon, and what it does by package syncer.
//
// It knows no command line: a logger, metrics and a clock are passed in, and what a person should see goes out through
// Options.Warn and Options.ShowWaiting.
//
// Invariants, cited in the code as service-N:
//
//  1. An account has one rate limit: whatever keys and streams it has, and over reloads of the daemon, its requests
//     share it.
//  2. What follows from a run never fails the run. What goes wrong there is a warning, a signal ends it, and the next
//     run of the stream makes up for it.
//  3. Published metrics replace those that were there. So they say where all configured streams, checks and payouts
//     stand, not only those of this run; what could not be read is left out, and so is what would be wrong once the
//     process has ended.
//  4. Payouts are reconciled one at a time in a process: of two reconciliations at once, both would report the same
//     finding as new, and the older could overwrite the metrics of the newer.
package service
