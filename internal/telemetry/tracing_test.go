package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"dealhouse/internal/telemetry"
)

// TestOffCostsNothing holds tracing that is off costs nothing, for what is done for each page, and for each run.
func TestOffCostsNothing(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	failed := errors.New("failed")
	if n := testing.AllocsPerRun(100, func() {
		run, whole := telemetry.StartRun(ctx, "run", "coupons")
		part, span := telemetry.Start(run, "read")
		telemetry.AddRequest(telemetry.Below(part, span), telemetry.Request{Name: "list", Failed: "server"})
		span.Count("pages", 1)
		span.Text("mode", "full")
		span.End(failed)
		whole.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
