// Package service is what the program does around runs. It checks what a load needs, opens the warehouse, finds the
// streams that were asked for, creates their API clients and jobs, and starts the runs side by side. After them it
// fetches deals that transactions refer to and no list has, checks what readers see, reconciles payouts, and publishes
// metrics. It also turns configurations into the daemon's plans. Package daemon decides when a run begins, and package
// syncer what it does.
//
// It knows no command line: a logger, metrics and a clock are passed in, and what a person should see goes out through
// Options.Warn and Options.ShowWaiting.
//
// # Readers do not wait
//
// An embedded warehouse is open in one process at a time. A command that only reads works through any process that
// shares it: it is done in a moment. A command that loads works through a daemon alone, and waits for the end of any
// other process: it may take longer than a load that is under way.
//
// # Nothing is created by looking
//
// Only what may create a warehouse creates one. To all others, a folder without one is an [AbsentError]. A check
// changes nothing and creates nothing where data is kept.
//
// # No secret in a finding
//
// What a check finds, and an error about a warehouse that does not answer, say what to do, and have no password in
// them.
//
// # One fault hides no other
//
// A check that fails leaves out only the checks that depend on it, and says so.
//
// # One limit for an account
//
// Whatever keys and streams an account has, and over reloads of the daemon, its requests share one rate limit.
//
// # What comes after a run never fails it
//
// An error there is a warning, a signal ends it, and the next run of the stream makes up for it.
//
// # Published metrics replace the earlier ones
//
// So they cover all configured streams, checks and payouts, not only those of this run. Left out is what could not be
// read, and what would be wrong once the process has ended.
//
// # One reconciliation at a time
//
// Of two at once in a process, both would report the same finding as new, and the older could overwrite the metrics of
// the newer.
package service
