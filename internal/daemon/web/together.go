package web

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dealhouse/internal/panics"
)

// together asks several things at the same time. When one of them panics, so does the caller, once all have ended: the
// server contains a panic of the goroutine that answers a request, and of no other. It writes what the panic says, so
// that has the stack.
func together(ctx context.Context, all []func(context.Context)) {
	var asked sync.WaitGroup
	caught := make(chan error, len(all))
	for _, ask := range all {
		asked.Go(func() {
			caught <- panics.Catch(func() error {
				ask(ctx)
				return nil
			})
		})
	}
	asked.Wait()
	for range all {
		if p, panicked := errors.AsType[*panics.Error](<-caught); panicked {
			panic(fmt.Sprintf("%v\n%s", p.Value, p.Stack))
		}
	}
}
