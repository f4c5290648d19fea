package daemon

import (
	"errors"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
)

// Retry is how long a stream whose run failed waits to be tried again, one failure in a row after the other; the last
// pause stands for all further ones. Empty: it waits for its next time.
type Retry []time.Duration

// pause is that after so many failures in a row, the last with err; 0: none, the stream waits for its next time.
func (r Retry) pause(failures int, err error) time.Duration {
	if len(r) == 0 {
		return 0
	}
	if _, guarded := errors.AsType[*syncer.GuardError](err); guarded {
		return 0 // a person must look, and a retry would end in the same way
	}
	pause := r[min(failures, len(r))-1]
	api, _ := errors.AsType[*dealapi.Error](err)
	switch {
	case api == nil:
		return pause
	case lasting(api.Kind): // a person has to act, which takes as long as it takes
		return max(pause, r[len(r)-1])
	}
	return max(pause, api.RetryAfter)
}

// lasting reports whether an answer of the API comes again until somebody changes something.
func lasting(k dealapi.Kind) bool {
	switch k {
	case dealapi.KindAuth, dealapi.KindBadRequest, dealapi.KindNotFound, dealapi.KindRedirect, dealapi.KindConfig, dealapi.KindTooLarge:
		return true
	default:
		return false
	}
}

// failures are the failed runs of a stream in a row, of this process, and when it is tried again.
type failures struct {
	count int
	again time.Time // zero: not before its next time
	full  bool      // the last one read everything: the next has to as well
}

// failed plans the run after one that failed, unless the stream runs before then anyway (daemon-9).
func (e *entry) failed(was *attempt, err error, now time.Time) {
	f := failures{count: e.failures.count + 1}
	next := e.next() // it runs by its schedule, so the pause after the last failure is over
	e.failures = failures{count: f.count}
	retry := e.settings.Retry
	pause := retry.pause(f.count, err)
	if !e.Enabled || pause == 0 {
		return
	}
	// A full read that fails again and again must not keep the stream from being read at all.
	f.full = was.full && f.count <= len(retry)
	f.again = now.Add(pause + e.runs.delay)
	if !next.IsZero() && !f.again.Before(next) && !f.full {
		return
	}
	e.failures = f
}

// replan plans again after the clock was set back.
func (f *failures) replan(now time.Time, r Retry) {
	if len(r) == 0 || f.again.IsZero() {
		return
	}
	if latest := now.Add(r[len(r)-1]); f.again.After(latest) {
		f.again = latest
	}
}

// tryNow lets a stream whose last run failed run at once: the new configuration may have solved the problem.
func (e *entry) tryNow(now time.Time) {
	if e.Enabled && e.lastError != "" && e.running == nil {
		e.failures = failures{again: now}
	}
}
