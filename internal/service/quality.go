package service

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// checkQuality checks what readers see after each run that succeeded, warns of what does not hold, and keeps when
// transactions were decided (service-2).
func (s *Service) checkQuality(ctx context.Context, w *warehouse.Warehouse, results []syncer.Result) {
	for _, r := range results {
		if r.Record.Outcome != warehouse.OutcomeSuccess || ctx.Err() != nil {
			continue
		}
		checks, err := w.CheckQuality(ctx, r.Record)
		if r.Job.Stream.TracksDecisions {
			err = errors.Join(err, w.KeepDecisions(ctx, r.Record.Account))
		}
		if err != nil && !Canceled(err) {
			s.warnOf(r.Record.Account, r.Record.Stream, fmt.Errorf("after the run, which stands: %w", err))
		}
		s.metrics.SetChecks(checks)
		for _, c := range checks {
			if !c.OK {
				s.warnOf(c.Account, c.Stream, fmt.Errorf("quality check %s: %s", c.Name, c.Detail))
			}
		}
	}
}
