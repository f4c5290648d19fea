package tracing_test

import (
	"context"
	"errors"
	"testing"

	"dealhouse/internal/tracing"
)

// TestOffCostsNothing holds tracing-1, for what is done for each page, and for each run.
func TestOffCostsNothing(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	failed := errors.New("failed")
	if n := testing.AllocsPerRun(100, func() {
		run, whole := tracing.StartRun(ctx, "run", "coupons")
		part, span := tracing.Start(run, "read")
		tracing.AddRequest(tracing.Below(part, span), tracing.Request{Name: "list", Failed: "server"})
		span.Count("pages", 1)
		span.Text("mode", "full")
		span.End(failed)
		whole.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
