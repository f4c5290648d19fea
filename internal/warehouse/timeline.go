package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// RunSpan is when a run was under way, and how it ended.
type RunSpan struct {
	StreamID
	Mode, Outcome string
	From          time.Time
	To            time.Time // zero while it is under way, or until a killed run is stored as one
}

// RunSpans returns the runs that were under way at any time between from and to, the oldest first. If there are
// more than most, it returns the newest of them, and more is true. A run that began more than a month before
// from is left out. A run whose process is certainly gone is killed, as in Runs.
func (w *Warehouse) RunSpans(ctx context.Context, from, to time.Time, most int) (spans []RunSpan, more bool, err error) {
	rows, err := w.once.Query(ctx, selectRunSpans(most), named("from", fmt.Sprint(from.UnixMilli())),
		named("to", fmt.Sprint(to.UnixMilli())))
	type row struct {
		RunSpan
		id uuid.UUID
		to *time.Time
	}
	all, err := scanned(rows, err, func(s *row) []any {
		return []any{&s.Account, &s.Stream, &s.Mode, &s.Outcome, &s.From,
			&s.to, &s.id}
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading the runs of a day: %w", err)
	}
	if more = len(all) > most; more {
		all = all[:most]
	}
	dead, err := w.deadRuns(ctx, runningOf(all, func(s *row) (uuid.UUID, string) { return s.id, s.Outcome }))
	if err != nil {
		return nil, false, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if dead[all[i].id] {
			all[i].Outcome = OutcomeKilled
		}
		all[i].To = orZero(all[i].to)
		spans = append(spans, all[i].RunSpan)
	}
	return spans, more, nil
}
