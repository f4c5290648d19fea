package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// The guards, by the names of what a run had too much of.
const (
	GuardDeletes = "deletes"
	GuardRejects = "rejects"
)

// GuardError says that a run was stopped before it changed anything, because a person must look.
type GuardError struct {
	Account, Stream string
	Guard           string // GuardDeletes or GuardRejects
	Reason          string // what was found, with the counts
	Deletes         uint64 // of GuardDeletes: rows that the run would have deleted
	Advice          string // what to do
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("account %s: %s: stopped by a guard: %s; %s", e.Account, e.Stream, e.Reason, e.Advice)
}

// IncompleteError says that a list moved while it was read, so that rows of it may have been missed. What was read is
// published, nothing was deleted, and the watermark did not move past what is certain. The next run repairs it.
type IncompleteError struct {
	Account, Stream string
	Reason          string // what was seen, with counts
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("account %s: %s: incomplete: %s; what was read is loaded, nothing was deleted, and the next run reads the rest", e.Account, e.Stream, e.Reason)
}

// DeadlineError says that a run took longer than Job.Timeout. What it was about to load is not visible; a walk
// continues from its checkpoint.
type DeadlineError struct {
	Account, Stream string
	Timeout         time.Duration
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("account %s: %s: the run reached its time limit, run_timeout = %s: find out what makes the service or the warehouse slow, or raise the limit", e.Account, e.Stream, e.Timeout)
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
