package daemon

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule says when something is to happen. The zero Schedule means never.
type Schedule struct {
	Text string // as configured
	cron cron.Schedule
	zone *time.Location
}

// ParseSchedule reads five cron fields, a descriptor such as @daily, or "@every 10m". A schedule may name
// its time zone, as "CRON_TZ=Europe/Paris 30 2 * * *" does; otherwise it is in the given zone. Empty text
// gives the zero Schedule.
func ParseSchedule(text string, zone *time.Location) (Schedule, error) {
	if text == "" {
		return Schedule{}, nil
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("reading the schedule %q: %w", text, err)
	}
	return Schedule{Text: text, cron: parsed, zone: zone}, nil
}

// Next returns the first time after t, zero if there is none.
func (s Schedule) Next(t time.Time) time.Time {
	if s.cron == nil {
		return time.Time{}
	}
	return s.cron.Next(t.In(s.zone))
}

// sameAs reports whether two schedules have the same times.
func (s Schedule) sameAs(o Schedule) bool {
	return s.Text == o.Text && (s.cron == nil || s.zone.String() == o.zone.String())
}

// longestGap returns the longest time between two consecutive times, of the next ten or so.
func (s Schedule) longestGap(now time.Time) time.Duration {
	const ahead = 10 // more than a week of daily times, so that a weekend is among them
	longest := time.Duration(0)
	at := s.Next(now)
	for i := 0; i < ahead && !at.IsZero(); i++ {
		next := s.Next(at)
		if next.IsZero() {
			break
		}
		longest, at = max(longest, next.Sub(at)), next
	}
	return longest
}

// LateAfter returns the age of the last success from which on a stream with this schedule is late: one run was left
// out, or failed. Each run starts later than its time by delay. 0 means that it is never late.
func (s Schedule) LateAfter(now time.Time, delay time.Duration) time.Duration {
	gap := s.longestGap(now)
	if gap == 0 {
		return 0
	}
	return max(2*gap+delay, time.Minute)
}

// slot is a schedule with its next time.
type slot struct {
	Schedule
	delay time.Duration // after each time, so that not everything starts at once
	at    time.Time     // without the delay; zero: never
}

// planned returns when the next run starts.
func (s *slot) planned() time.Time {
	if s.at.IsZero() {
		return time.Time{}
	}
	return s.at.Add(s.delay)
}

func (s *slot) due(now time.Time) bool { return !s.at.IsZero() && !now.Before(s.planned()) }

// mostCounted bounds how many passed times are counted one by one: after a clock that was wrong by years, the loop must
// not count every second.
const mostCounted = 10_000

// pass moves on to the first time that is still to come, and returns how many times have passed.
func (s *slot) pass(now time.Time) (passed int) {
	for ; s.due(now); passed++ {
		if passed == mostCounted {
			s.at = s.Next(now.Add(-s.delay))
			break
		}
		s.at = s.Next(s.at)
	}
	return passed
}

// planFirst plans the first time for something that was last done at last (zero: never). If last is in the future, the
// clock has been set back since: nothing waits for that time to come again (daemon-2).
func (s *slot) planFirst(last, now time.Time) {
	if last.After(now) {
		last = now
	}
	s.at = s.Next(last)
	if !s.at.IsZero() && (last.IsZero() || s.at.Before(now)) { // daemon-4
		s.at = now
	}
}

// replan plans again after the clock was set back.
func (s *slot) replan(now time.Time) {
	if next := s.Next(now.Add(-s.delay)); next.Before(s.at) {
		s.at = next
	}
}

// spread returns the delay of a stream, from 0 up to jitter. It is always the same, so that runs stay at
// the same distance in time.
func spread(account, stream string, jitter time.Duration) time.Duration {
	if jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(account + "\x00" + stream)) // writing to a hash cannot fail
	return time.Duration(h.Sum64() % uint64(jitter)).Truncate(time.Millisecond)
}
