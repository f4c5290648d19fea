package service

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// retireEvery is how often a process asks whether it is time to remove old rows.
const retireEvery = time.Hour

// replacedParts are how many parts that merges have replaced may be left on the disk, and tidyFor is how long their
// removal is waited for.
const (
	replacedParts = 500
	tidyFor       = 10 * time.Second
)

// retire removes what is older than the configuration wants it to be kept, about once a day, and sees to the files that
// are not needed any more. That it fails is a warning, and the next time makes up for it.
func (s *Service) retire(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) {
	now, last := s.now().Unix(), s.retired.Load()
	if ctx.Err() != nil || last != 0 && now-last < int64(retireEvery.Seconds()) || !s.retired.CompareAndSwap(last, now) {
		return
	}
	removed, err := w.Retire(ctx, warehouse.Retention{
		Runs: cfg.Retention.Runs, Rejects: cfg.Retention.Rejects, Findings: cfg.Retention.Findings,
		DealVersions: cfg.Retention.DealVersions,
	})
	for _, x := range removed {
		if x.Rows > 0 {
			s.log.Info("removed rows that are past their retention time", "what", x.What, "older_than", x.OlderThan.UTC(), "removed",
				x.Rows)
		}
	}
	if err == nil {
		_, err = w.Tidy(ctx, replacedParts, tidyFor)
	}
	if err != nil && !Canceled(err) {
		s.warn(Warning{Err: fmt.Errorf("old rows could not be removed; the next run tries again: %w", err)})
	}
}
