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
		return fmt.Sprintf("%s in 30 days came late, the latest by %s; no overlap is long enough for that: plan full runs (resync)",
			term.Plural(l.Late, "change"), term.Span(l.Latest))
	}
	return fmt.Sprintf("%s in 30 days came late, the latest by %s, and only full runs found %d of them: set overlap = \"%dm\" (it is %s)",
		term.Plural(l.Late, "change"), term.Span(l.Latest), l.Missed, int(enough.Minutes()), term.Span(overlap))
}

// checkLateness compares how late changes came with the overlap.
func checkLateness(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) (all []Finding) {
	late, err := w.Lateness(ctx)
	if err != nil {
		return []Finding{failed("lateness", err)}
	}
	targets, err := Selection{}.Targets(cfg)
	if err != nil { // another check says so
		return nil
	}
	for _, t := range targets {
		i := slices.IndexFunc(late, func(l warehouse.Lateness) bool { return l.Account == t.Account.Name && l.Stream == t.Stream.Name })
		if i < 0 {
			continue
		}
		name := "lateness: " + t.Account.Name + " " + t.Stream.Name
		if problem := t.tooLate(late[i]); problem != "" {
			all = append(all, warn(name, problem))
			continue
		}
		all = append(all, ok(name, fmt.Sprintf("%s in 30 days came late, the latest by %s: the overlap of %s is enough",
			term.Plural(late[i].Late, "change"), term.Span(late[i].Latest), term.Span(t.Setting.Overlap))))
	}
	return all
}

// warnOfLateness warns after a full run of transactions that found changes which came later than the overlap.
func (s *Service) warnOfLateness(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	found := func(r syncer.Result) bool { return r.Record.Mode == warehouse.ModeFull && r.Record.Changes.Any() }
	if ctx.Err() != nil || !slices.ContainsFunc(results, found) {
		return
	}
	late, err := w.Lateness(ctx)
	targets, other := Selection{}.Targets(cfg)
	if err = errors.Join(err, other); err != nil {
		if !Canceled(err) {
			s.warn(Warning{Err: fmt.Errorf("it is not known whether changes come later than the overlap: %w", err)})
		}
		return
	}
	for _, l := range late {
		for _, t := range targets {
			if l.Account != t.Account.Name || l.Stream != t.Stream.Name || l.Missed == 0 {
				continue
			}
			if problem := t.tooLate(l); problem != "" {
				s.warnOf(l.Account, l.Stream, errors.New(problem))
			}
		}
	}
}
