package web

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/panics"
)

// together asks several things at the same time. If one of them panics, together panics too, once all have ended,
// because the server recovers only from a panic in the goroutine that answers a request. The server logs the value of
// the panic, so that contains the stack.
func together(ctx context.Context, all []func(context.Context)) {
	asked := make([]func(), len(all))
	for i, ask := range all {
		asked[i] = func() { ask(ctx) }
	}
	if p, panicked := errors.AsType[*panics.Error](panics.AtOnce(asked...)); panicked {
		panic(fmt.Sprintf("%v\n%s", p.Value, p.Stack))
	}
}
