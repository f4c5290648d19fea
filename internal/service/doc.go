// Package service is what the program does around runs. It finds the streams that were asked for, creates their API
// clients and jobs, and starts the runs side by side. After them it fetches deals that transactions refer to and no
// list has, checks what readers see, reconciles payouts, and publishes metrics. It also turns configurations into the
// daemon's plans. Package daemon decides when a run begins, and package syncer what it does.
//
// It knows no command line: a logger, metrics and a clock are passed in, and what a person should see goes out through
// Options.Warn and Options.ShowWaiting.
//
// Invariants, cited in the code as service-N:
//
//  1. An account has one rate limit: whatever keys and streams it has, and over reloads of the daemon, its requests
//     share it.
//  2. What is done after a run never fails the run. An error there is a warning, a signal ends it, and the next run of
//     the stream makes up for it.
//  3. Published metrics replace the earlier ones. So they cover all configured streams, checks and payouts, not only
//     those of this run. Left out is what could not be read, and what would be wrong once the process has ended.
//  4. Payouts are reconciled one at a time in a process: of two reconciliations at once, both would report the same
//     finding as new, and the older could overwrite the metrics of the newer.
package service
