package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// tooLate says that changes of a stream came later than its overlap, so that only a full run finds such changes, and
// how long the overlap should be. It returns "" if all came within it.
func (t Target) tooLate(l warehouse.Lateness) string {
	overlap := t.Setting.Overlap
	if l.Latest <= overlap {
		return ""
	}
	enough, unit := l.Latest+l.Latest/4, time.Hour
	if enough < time.Hour {
		unit = 10 * time.Minute
	}
	if enough = (enough + unit - 1).Truncate(unit); enough > catalog.MaxOverlap {
		return came(l) + "; no overlap is long enough for that: plan full runs (resync)"
	}
	return fmt.Sprintf("%s; only full runs found %d of them: set overlap = \"%dm\" (it is %s)", came(l), l.Missed, int(enough.Minutes()), term.Span(overlap))
}

// came says how many changes came late, and how late.
func came(l warehouse.Lateness) string {
	how := ""
	if l.Late > 1 {
		how = fmt.Sprintf("half of them by up to %s, 99 of 100 by up to %s, ", term.Span(l.Half), term.Span(l.Most))
	}
	return fmt.Sprintf("%s in 30 days came late, %sthe latest by %s", term.Plural(l.Late, "change"), how, term.Span(l.Latest))
}

// lateOf is how late changes of a target came.
type lateOf struct {
	Target
	warehouse.Lateness
}

// lateness returns it of the targets that have late changes.
func lateness(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) (all []lateOf, err error) {
	late, err := w.Lateness(ctx)
	if err != nil {
		return nil, err
	}
	targets, err := Selection{}.Targets(cfg)
	if _, none := errors.AsType[SettingError](err); none { // nothing is loaded from here: no setting could be mended
		return nil, nil
	}
	for _, t := range targets {
		for _, l := range late {
			if l.StreamID == (warehouse.StreamID{Account: t.Account.Name, Stream: t.Stream.Name}) {
				all = append(all, lateOf{t, l})
			}
		}
	}
	return all, err
}

// TooLate says of each stream whose changes come later than its overlap how late, and what to do.
func TooLate(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) (all []string, err error) {
	late, err := lateness(ctx, cfg, w)
	for _, l := range late {
		if problem := l.tooLate(l.Lateness); problem != "" {
			all = append(all, fmt.Sprintf("%s of %s: %s", l.StreamID.Stream, l.StreamID.Account, problem))
		}
	}
	return all, err
}

// checkLateness compares how late changes came with the overlap.
func checkLateness(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) (all []Finding) {
	late, err := lateness(ctx, cfg, w)
	if err != nil {
		return []Finding{failed("lateness", err)}
	}
	for _, l := range late {
		name := "lateness: " + l.StreamID.Account + " " + l.StreamID.Stream
		if problem := l.tooLate(l.Lateness); problem != "" {
			all = append(all, warn(name, problem))
			continue
		}
		all = append(all, ok(name, fmt.Sprintf("%s: the overlap of %s is enough", came(l.Lateness), term.Span(l.Setting.Overlap))))
	}
	return all
}

// warnOfLateness warns after a full run of transactions that found changes which came later than the overlap. After a
// first load there is nothing that could be late.
func (s *Service) warnOfLateness(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	found := func(r syncer.Result) bool {
		c := r.Record.Changes
		return r.Record.Mode == warehouse.ModeFull && c.Any() && !c.First
	}
	if ctx.Err() != nil || !slices.ContainsFunc(results, found) {
		return
	}
	late, err := lateness(ctx, cfg, w)
	if err != nil && !Canceled(err) {
		s.warn(Warning{Err: fmt.Errorf("it is not known whether changes come later than the overlap: %w", err)})
	}
	for _, l := range late {
		s.metrics.SetLateness(l.Lateness)
		if problem := l.tooLate(l.Lateness); problem != "" && l.Missed > 0 {
			s.warnOf(l.StreamID.Account, l.StreamID.Stream, errors.New(problem))
		}
	}
}
