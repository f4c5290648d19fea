package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// checkQuality runs the checks of the views after each run that loaded all, and warns of those that fail (what comes
// after a run never fails it).
func (s *Service) checkQuality(ctx context.Context, w *warehouse.Warehouse, results []syncer.Result) {
	for _, r := range results {
		if !r.Record.LoadedAll() || ctx.Err() != nil {
			continue
		}
		if s.stillHolds(r) {
			continue
		}
		checks, err := w.CheckQuality(ctx, r.Record)
		s.noteChecks(r, checks, err)
		if err != nil && !Canceled(err) {
			s.warnOf(r.Record.Account, r.Record.Stream, fmt.Errorf("after the run, whose data is loaded: %w", err))
		}
		s.metrics.SetChecks(checks)
		for _, c := range checks {
			if !c.OK {
				s.warnOf(c.Account, c.Stream, fmt.Errorf("quality check %s: %s", c.Name, c.Detail))
			}
		}
	}
}

// stillHolds reports whether a run changed nothing since all checks of its stream passed a short time ago. Runs of
// payouts are always checked: whether all payouts exist that transactions name can change without them.
func (s *Service) stillHolds(r syncer.Result) bool {
	at, known := s.held.Load(streamOf(r))
	return known && !r.Record.Changes.Any() && !r.Job.Stream.Payouts && s.now().Sub(at.(time.Time)) < lookAnyway
}

func (s *Service) noteChecks(r syncer.Result, checks []warehouse.Check, err error) {
	if err != nil || slices.ContainsFunc(checks, func(c warehouse.Check) bool { return !c.OK }) {
		s.held.Delete(streamOf(r))
	} else {
		s.held.Store(streamOf(r), s.now())
	}
}

func streamOf(r syncer.Result) warehouse.StreamID {
	return warehouse.StreamID{Account: r.Record.Account, Stream: r.Record.Stream}
}
