package main

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// quality checks what readers see after each run that succeeded, tells what does not hold, and keeps when transactions
// were decided. It stops no one: the runs have ended.
func (a *app) quality(ctx context.Context, w *warehouse.Warehouse, results []syncer.Result) {
	for _, r := range results {
		if r.Record.Outcome != warehouse.OutcomeSuccess || ctx.Err() != nil {
			continue
		}
		checks, err := w.CheckQuality(ctx, r.Record)
		if r.Job.Stream.TracksDecisions {
			err = errors.Join(err, w.KeepDecisions(ctx, r.Record.Account))
		}
		if err != nil && !isCanceled(err) {
			a.aboutStreams("warning", r.Record.Account, []string{r.Record.Stream}, fmt.Errorf("after the run, which stands: %w", err))
		}
		a.metrics.SetChecks(checks)
		for _, c := range checks {
			if !c.OK {
				a.aboutStreams("warning", c.Account, []string{c.Stream}, fmt.Errorf("quality check %s: %s", c.Name, c.Detail))
			}
		}
	}
}
