package web

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// together asks several things at the same time. When one of them panics, so does the caller, once all have ended: the
// server contains a panic of the goroutine that answers a request, and of no other.
func together(ctx context.Context, all []func(context.Context)) {
	var asked sync.WaitGroup
	panics := make(chan string, len(all))
	for _, ask := range all {
		asked.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					panics <- fmt.Sprintf("%v\n%s", value, debug.Stack())
				}
			}()
			ask(ctx)
		})
	}
	asked.Wait()
	select {
	case text := <-panics:
		panic(text)
	default:
	}
}
