//go:build !noengine

package daemon

import (
	"context"
	"testing"
)

// Whoever waits for a reload when the daemon ends gets an answer that says so, even if their reload was put off.
func TestReloadsAreAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	loads := make(chan error)
	b := start(t, hourly(t), func(_ *bed, o *Options) {
		o.Load = func(context.Context) (*Plan, error) { return nil, <-loads }
	})
	answers := []chan error{make(chan error, 1), make(chan error, 1)}
	for _, answer := range answers { // the second one while the first is under way
		if err := b.inLoop(t.Context(), func(l *loop) { l.reload(l.serving, answer) }); err != nil {
			t.Fatal(err)
		}
	}
	b.stop(errTold)
	b.until("it drains", b.draining.Load)
	loads <- errTold
	<-b.stopped
	for i, answer := range answers {
		select {
		case err := <-answer:
			if err == nil {
				t.Errorf("reload %d is said to be in force", i+1)
			}
		default: // it gets an answer before the daemon ends
			t.Errorf("nobody answers who asked for reload %d", i+1)
		}
	}
}
