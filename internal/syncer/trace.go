package syncer

import (
	"context"

	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// StartSpan begins the span of a run. The caller makes the run, and what it does afterwards may belong to the span. The
// returned function ends the span, with the result of the run.
func StartSpan(ctx context.Context, job Job) (context.Context, func(warehouse.RunRecord, error)) {
	ctx, span := telemetry.StartRun(ctx, "run", job.Stream.Name)
	return ctx, func(r warehouse.RunRecord, err error) {
		if span == nil { // tracing that is off costs nothing
			return
		}
		span.Text("dealhouse.account", job.Account)
		span.Text("dealhouse.stream", job.Stream.Name)
		span.Text("dealhouse.run_id", r.RunID.String())
		span.Text("dealhouse.mode", r.Mode)
		span.Text("dealhouse.outcome", r.Outcome)
		for name, n := range map[string]uint64{
			"pages": r.Totals.Pages, "read": r.Totals.Read, "rejected": r.Totals.Rejected, "bytes": r.Totals.Bytes,
			"retries":  r.Totals.Retries,
			"inserted": r.Changes.Inserted, "updated": r.Changes.Updated, "deleted": r.Changes.Deleted,
			"unchanged": r.Changes.Unchanged,
		} {
			span.Count("dealhouse."+name, n)
		}
		span.End(err)
	}
}
