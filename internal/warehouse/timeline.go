package warehouse

import (
	"context"
	"fmt"
	"time"
)

// RunSpan is when a run was under way, and how it ended.
type RunSpan struct {
	StreamID
	Mode, Outcome string
	From          time.Time
	To            time.Time // zero while it is under way
}

// RunSpans returns the runs that were under way at any time between from and to, the oldest first. If there are
// more than most, it returns the newest of them, and more is true. A run that began more than a month before
// from is left out.
func (r Reader) RunSpans(ctx context.Context, from, to time.Time, most int) (spans []RunSpan, more bool, err error) {
	rows, err := r.once.Query(ctx, selectRunSpans(most), named("from", fmt.Sprint(from.UnixMilli())),
		named("to", fmt.Sprint(to.UnixMilli())))
	type row struct {
		RunSpan
		to *time.Time
	}
	all, err := scanned(rows, err, func(s *row) []any {
		return []any{&s.Account, &s.Stream, &s.Mode, &s.Outcome, &s.From,
			&s.to}
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading the runs of a day: %w", err)
	}
	if more = len(all) > most; more {
		all = all[:most]
	}
	for i := len(all) - 1; i >= 0; i-- {
		all[i].To = orZero(all[i].to)
		spans = append(spans, all[i].RunSpan)
	}
	return spans, more, nil
}
