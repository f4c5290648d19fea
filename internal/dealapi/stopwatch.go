package dealapi

import (
	"context"
	"time"
)

// stopwatch ends the context of an attempt when its time is up. It can be stopped while the attempt waits for
// something inside this process.
type stopwatch struct {
	parent context.Context //nolint:containedctx // it lives as long as the call that made it
	timer  *time.Timer
	left   time.Duration
	since  time.Time
}

// startStopwatch returns the context of an attempt, its stopwatch, and end, which must be called.
func startStopwatch(parent context.Context, limit time.Duration) (ctx context.Context, watch *stopwatch, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	watch = &stopwatch{parent: parent, left: limit, since: time.Now()}
	watch.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, watch, func() {
		watch.timer.Stop()
		cancel(nil)
	}
}

// hold stops the time while acquire waits, for as long as the parent lives.
func (w *stopwatch) hold(acquire func(context.Context) error) error {
	if !w.timer.Stop() {
		return context.DeadlineExceeded
	}
	w.left -= time.Since(w.since)
	err := acquire(w.parent)
	w.since = time.Now()
	w.timer.Reset(max(w.left, time.Millisecond))
	return err
}
