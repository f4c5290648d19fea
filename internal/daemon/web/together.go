package web

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/panics"
)

// together asks several things at the same time. When one of them panics, so does the caller, once all have ended: the
// server contains a panic of the goroutine that answers a request, and of no other. It writes what the panic says, so
// that has the stack.
func together(ctx context.Context, all []func(context.Context)) {
	asked := make([]func(), len(all))
	for i, ask := range all {
		asked[i] = func() { ask(ctx) }
	}
	if p, panicked := errors.AsType[*panics.Error](panics.AtOnce(asked...)); panicked {
		panic(fmt.Sprintf("%v\n%s", p.Value, p.Stack))
	}
}
