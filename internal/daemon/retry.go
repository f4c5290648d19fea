package daemon

import (
	"errors"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
)

// Retry has the pauses after which a stream is tried again: after the first failed run in a row, after the second, and
// so on. The last pause is used for all further failures. Empty: the stream waits for its next time.
type Retry []time.Duration

// pause returns the pause after this number of failures in a row, of which the last one had err. 0 means that the
// stream waits for its next time.
func (r Retry) pause(failures int, err error) time.Duration {
	if len(r) == 0 {
		return 0
	}
	if _, guarded := errors.AsType[*syncer.GuardError](err); guarded {
		return 0 // a person must look, and a retry would be stopped too
	}
	pause := r[min(failures, len(r))-1]
	api, _ := errors.AsType[*dealapi.Error](err)
	switch {
	case api == nil:
		return pause
	case lasting(api.Kind): // a person has to act, which may take long
		return max(pause, r[len(r)-1])
	}
	return max(pause, api.RetryAfter)
}

// lasting reports whether the API repeats an answer until somebody changes something.
func lasting(k dealapi.Kind) bool {
	switch k {
	case dealapi.KindAuth, dealapi.KindBadRequest, dealapi.KindNotFound, dealapi.KindRedirect, dealapi.KindConfig, dealapi.KindTooLarge:
		return true
	default:
		return false
	}
}

// failures has how many runs of a stream failed in a row, in this process, and when it is tried again.
type failures struct {
	count int
	again time.Time // zero: not before its next time
	full  bool      // the last run should have read everything: the next one must
}

// failed plans the run after one that failed, unless the stream runs before then anyway (daemon-9).
func (e *entry) failed(was *attempt, err error, now time.Time) {
	f := failures{count: e.failures.count + 1}
	next := e.next() // by the schedule only: turn has cleared the pause before
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

// replan brings the next attempt forward after the clock was set back.
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
