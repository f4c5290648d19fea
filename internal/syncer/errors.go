package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/panics"
	"dealhouse/internal/warehouse"
)

// The guards, by the names of what a run had too much of, or of what was wrong.
const (
	GuardDeletes = "deletes"
	GuardRejects = "rejects"
	GuardService = "service" // another service than before
)

// GuardError says that a guard kept a run from changing something, because a person must look.
type GuardError struct {
	Account, Stream string
	Guard           string // GuardDeletes, GuardRejects or GuardService
	Reason          string // what was found, with the counts
	Deletes         uint64 // of GuardDeletes: rows that the run would have deleted
	Loaded          bool   // of GuardDeletes: all else is loaded; otherwise nothing was changed
	Advice          string // what to do
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("account %s: %s: stopped by a guard: %s; %s", e.Account, e.Stream, e.Reason, e.Advice)
}

// IncompleteError says that rows of a list may have been missed, because it moved while it was read, or is not whole by
// what the service says of it. What was read is
// published, nothing was deleted, and the watermark did not move past what is certain. The next run repairs it.
type IncompleteError struct {
	Account, Stream string
	Reason          string // what was seen, with counts
	Unused          bool   // the answers were older than what is loaded, and nothing of them is
}

func (e *IncompleteError) Error() string {
	if e.Unused {
		return fmt.Sprintf("account %s: %s: incomplete: %s; nothing was changed, and the next run reads it again", e.Account, e.Stream, e.Reason)
	}
	return fmt.Sprintf("account %s: %s: incomplete: %s; what was read is loaded, nothing was deleted, and the next run reads the rest", e.Account, e.Stream, e.Reason)
}

// DeadlineError says that a run took longer than Job.Timeout. What it was about to load is not visible; a walk
// continues from its checkpoint.
type DeadlineError struct {
	Account, Stream string
	Timeout         time.Duration
	Pages, Read     uint64 // pages and records that it had read
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("account %s: %s: the run reached its time limit, run_timeout = %s, after %d pages with %d records: find out what makes the service or the warehouse slow, or whether its list has no end, or raise the limit", e.Account, e.Stream, e.Timeout, e.Pages, e.Read)
}

// overdue returns the *DeadlineError of the run in place of an error that the deadline has caused. It returns
// any other error unchanged.
func overdue(ctx context.Context, err error) error {
	var late *DeadlineError
	var api *dealapi.Error
	if errors.As(context.Cause(ctx), &late) &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) ||
			errors.As(err, &api) && api.Kind == dealapi.KindCanceled) {
		return late
	}
	return err
}

// BusyError says that another run of the stream did not end while this one waited for it. Nothing was read.
type BusyError struct {
	Account, Stream string
	Waited          time.Duration
	Holder          *warehouse.HeldError // nil when the holders changed too often
}

func (e *BusyError) Error() string {
	text := fmt.Sprintf("account %s: %s: another run of this stream (perhaps a backfill) has not ended within %s; nothing was read: run it again later", e.Account, e.Stream, e.Waited)
	if e.Holder != nil {
		text += " (" + e.Holder.Error() + ")"
	}
	return text
}

// cause returns what kept a run from its end, as sync_runs names it. A service that gives no answer gives none to any
// of its accounts: it is named by its address.
func cause(err error, origin string) string {
	if api, is := errors.AsType[*dealapi.Error](err); is {
		switch api.Kind {
		case dealapi.KindAuth:
			return "key"
		case dealapi.KindBadRequest, dealapi.KindNotFound, dealapi.KindRedirect, dealapi.KindConfig:
			return "request"
		case dealapi.KindMalformed, dealapi.KindLoop, dealapi.KindTooLarge:
			return "answer"
		case dealapi.KindNetwork, dealapi.KindTimeout, dealapi.KindServer, dealapi.KindRateLimited, dealapi.KindCanceled:
			return "service " + origin
		}
	}
	switch {
	case errors.As(err, new(*GuardError)):
		return "guard"
	case errors.As(err, new(*DeadlineError)):
		return "time"
	case errors.As(err, new(*IncompleteError)):
		return "list"
	case isPanic(err):
		return "program"
	}
	return "warehouse"
}

// retriesOf returns the number of requests that were made again in vain, before an error ended the run.
func retriesOf(err error) uint64 {
	if api, is := errors.AsType[*dealapi.Error](err); is {
		return uint64(max(api.Attempts-1, 0))
	}
	return 0
}

// PanicError is a panic that ended a run and nothing else. It is a mistake in this program.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked; for the log, not for people
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("a bug in this program ended the run; nothing half-loaded is visible: panic: %v",
		e.Value)
}

// Contain runs a part of a run, and returns a [*PanicError] if it panics (syncer-10). Every goroutine of a run needs
// its own: a panic can be recovered only in the goroutine that it comes from, and ends the process otherwise.
func Contain(part func() error) error {
	err := panics.Catch(part)
	if p, panicked := errors.AsType[*panics.Error](err); panicked {
		return &PanicError{Value: p.Value, Stack: p.Stack}
	}
	return err
}

func isPanic(err error) bool {
	_, panicked := errors.AsType[*PanicError](err)
	return panicked
}

// partError is why the other parts of a session are given up: one of them failed. Nobody has stopped the session.
type partError struct{ error }

func (e *partError) Unwrap() error { return e.error }
