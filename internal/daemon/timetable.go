package daemon

import (
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// timetable says what runs when. It belongs to the goroutine of the loop.
type timetable struct {
	settings *settings
	entries  []*entry // in the order of the configuration
	left     []*entry // no longer configured, but still running
}

// adopt puts a plan in force (daemon-6).
func (l *loop) adopt(plan *Plan, known known) {
	t, now := &l.timetable, l.now()
	old, before := t.entries, t.settings
	t.settings, t.entries = &settings{Plan: plan}, nil
	for _, s := range plan.Streams {
		id := s.id()
		var standing warehouse.StreamStatus
		if i := slices.IndexFunc(known.standings,
			func(x warehouse.StreamStatus) bool { return x.Account == id.Account && x.Stream == id.Stream }); i >= 0 {
			standing = known.standings[i]
		}
		e := newEntry(s, t.settings, claim(&old, &t.left, id), standing, now)
		t.entries = append(t.entries, e)
		if e.Enabled {
			l.o.Metrics.Expect(id.Account, id.Stream)
			l.o.Metrics.planned(id, e.next())
			if !e.exported { // an entry with series may have newer checks
				l.o.Metrics.SetChecks(known.checks[id])
			}
			e.exported = true
		}
	}
	l.direct(known.directives)
	l.o.Metrics.Syncer.Observe(known.standings)
	t.left = append(t.left, old...)
	t.dropLeft(l.o.Metrics)
	before.retire()
	if plan.Adopted != nil {
		plan.Adopted()
	}
	if plan.Beside != nil {
		l.beside.Go(func() { l.goBeside(plan) })
	}
}

// claim removes the entry of a stream from old or from left, and returns it, nil if neither has it.
func claim(old, left *[]*entry, id warehouse.StreamID) *entry {
	for _, list := range []*[]*entry{old, left} {
		if i := slices.IndexFunc(*list, func(e *entry) bool { return e.id() == id }); i >= 0 {
			e := (*list)[i]
			*list = slices.Delete(slices.Clone(*list), i, i+1)
			return e
		}
	}
	return nil
}

// dropLeft drops the streams that are no longer loaded, and their series, once their last run has ended. A series that
// stayed would look like a stream that is late.
func (t *timetable) dropLeft(m *Metrics) {
	all := slices.Concat(t.entries, t.left)
	for _, e := range all {
		if !e.exported || e.running != nil || e.Enabled && !slices.Contains(t.left, e) {
			continue
		}
		e.exported = false
		m.Forget(e.Job.Account, e.Job.Stream.Name)
		if !slices.ContainsFunc(all, func(o *entry) bool { return o.exported && o.Job.Account == e.Job.Account }) {
			m.ForgetAccount(e.Job.Account)
		}
	}
	t.left = slices.DeleteFunc(t.left, func(e *entry) bool { return e.running == nil })
}

func (t *timetable) find(id warehouse.StreamID) *entry {
	all := slices.Concat(t.entries, t.left)
	return all[slices.IndexFunc(all, func(e *entry) bool { return e.id() == id })]
}

func (t *timetable) running() (n int) {
	for _, e := range slices.Concat(t.entries, t.left) {
		if e.running != nil {
			n++
		}
	}
	return n
}

// inTurn returns the entries in the order in which they may start: first what operators have requested, then what has
// been due for longest.
func (t *timetable) inTurn() []*entry {
	since := func(e *entry) time.Time {
		if e.owed != (owed{}) {
			return time.Time{}
		}
		return e.next()
	}
	all := slices.Clone(t.entries)
	slices.SortStableFunc(all, func(a, b *entry) int { return since(a).Compare(since(b)) })
	return all
}

// MostLong is how many of so many runs may be of streams that are read for hours, so that the others have their turn.
func MostLong(maxRuns int) int { return max(1, maxRuns/2) }

// room reports whether a stream may start beside those that run (daemon-11).
func (t *timetable) room(e *entry) bool {
	most := t.settings.MaxRuns
	if most == 0 {
		return true
	}
	runs, long := 0, 0
	for _, o := range slices.Concat(t.entries, t.left) {
		if o.running != nil {
			runs++
			if o.Job.Stream.Kind == catalog.Walk {
				long++
			}
		}
	}
	return runs < most && (e.Job.Stream.Kind != catalog.Walk || long < MostLong(most))
}

// replan plans again after the clock was set back (daemon-2).
func (l *loop) replan(now time.Time) {
	for _, e := range l.timetable.entries {
		e.runs.replan(now)
		e.resyncs.replan(now)
		e.failures.replan(now, e.settings.Retry)
		if e.Enabled {
			l.o.Metrics.planned(e.id(), e.next())
		}
	}
}

// streams returns the timetable for the pages.
func (t *timetable) streams(now time.Time) []web.Stream {
	all := make([]web.Stream, len(t.entries))
	for i, e := range t.entries {
		s := web.Stream{
			Account: e.Job.Account, Stream: e.Job.Stream.Name, Enabled: e.Enabled, Schedule: e.Schedule.Text,
			Next: e.next(), StaleAfter: e.staleAfter(now), LastError: e.lastError, FailedAt: e.failedAt, Paused: e.paused,
			Scope: e.Job.Scope, Queued: e.due(now) && !t.room(e),
		}
		if e.running != nil {
			s.Running, s.Since, s.Stopping = &syncer.Progress{}, e.running.since, e.running.cancelled
		}
		all[i] = s
	}
	return all
}
