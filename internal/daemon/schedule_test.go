package daemon

import (
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func schedule(t *testing.T, text, zone string) Schedule {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSchedule(text, loc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScheduleNext(t *testing.T) {
	for _, tt := range []struct{ text, zone, after, want string }{
		{"30 2 * * *", "UTC", "2026-07-01T00:00:00Z", "2026-07-01T02:30:00Z"},
		{"30 2 * * *", "Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-01T00:30:00Z"},
		{"30 2 * * *", "Europe/Paris", "2026-01-01T00:00:00Z", "2026-01-01T01:30:00Z"},
		{"CRON_TZ=Asia/Tokyo 0 9 * * *", "Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"},
		{"@daily", "America/New_York", "2026-07-01T00:00:00Z", "2026-07-01T04:00:00Z"},
		{"@every 10m", "Europe/Paris", "2026-07-01T00:00:07Z", "2026-07-01T00:10:07Z"},
		// Summer time, as README has it: 2:30 does not exist on March 29, and comes twice on October 25.
		{"30 2 * * *", "Europe/Paris", "2026-03-28T02:00:00Z", "2026-03-30T00:30:00Z"},
		{"30 2 * * *", "Europe/Paris", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"30 4 * * *", "Europe/Paris", "2026-03-28T04:00:00Z", "2026-03-29T02:30:00Z"},
		{"30 4 * * *", "Europe/Paris", "2026-10-25T00:30:00Z", "2026-10-25T03:30:00Z"},
	} {
		if got := schedule(t, tt.text, tt.zone).Next(at(t, tt.after)); !got.Equal(at(t, tt.want)) {
			t.Errorf("%s in %s after %s: %s, want %s", tt.text, tt.zone, tt.after, got.UTC(), tt.want)
		}
	}
	if next := (Schedule{}).Next(at(t, "2026-07-01T00:00:00Z")); !next.IsZero() {
		t.Errorf("the schedule that never comes comes at %s", next)
	}
	if _, err := ParseSchedule("every now and then", time.UTC); err == nil {
		t.Error("what is no schedule was read")
	}
}

func TestSlot(t *testing.T) {
	noon := at(t, "2026-07-01T12:00:00Z")
	hourly := schedule(t, "0 * * * *", "UTC")
	for _, tt := range []struct {
		name string
		last time.Time
		want time.Time
	}{
		{"never ran", time.Time{}, noon},
		{"ran since its last time", noon.Add(-time.Second), noon},
		{"ran before its last time", noon.Add(-3 * time.Hour), noon},
		{"ran just now", noon.Add(time.Second), noon.Add(time.Hour)},
		{"ran by a clock that was ten years ahead", noon.AddDate(10, 0, 0), noon.Add(time.Hour)},
	} {
		s := slot{Schedule: hourly}
		if s.planFirst(tt.last, noon); !s.at.Equal(tt.want) {
			t.Errorf("%s: planned for %s, want %s", tt.name, s.at, tt.want)
		}
	}
	s := slot{Schedule: hourly, delay: 5 * time.Minute, at: noon}
	if s.due(noon.Add(4*time.Minute)) || !s.due(noon.Add(5*time.Minute)) {
		t.Error("the delay is not kept")
	}
	if n := s.pass(noon.Add(3*time.Hour + 5*time.Minute)); n != 4 || !s.at.Equal(noon.Add(4*time.Hour)) {
		t.Errorf("%d passed, next %s", n, s.at)
	}
	every := slot{Schedule: schedule(t, "@every 1s", "UTC"), delay: time.Second, at: noon}
	far := noon.AddDate(50, 0, 0)
	if n := every.pass(far); n != mostCounted || every.due(far) || every.planned().After(far.Add(3*time.Second)) {
		t.Errorf("%d passed in 50 years, next %s", n, every.at)
	}
	s.replan(noon.Add(-2 * time.Hour))
	if want := noon.Add(-2 * time.Hour); !s.at.Equal(want) && !s.at.Equal(want.Add(time.Hour)) {
		t.Errorf("after the clock was set back, the next is %s", s.at)
	}
	never := slot{}
	if never.planFirst(time.Time{}, noon); never.due(far) || !never.planned().IsZero() {
		t.Error("what is never planned came")
	}
}

func TestSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for _, account := range []string{"a", "b", "c", "d", "e", "f"} {
		for _, stream := range []string{"coupons", "payouts", "products"} {
			d := spread(account, stream, time.Minute)
			if d < 0 || d >= time.Minute || d != spread(account, stream, time.Minute) {
				t.Errorf("%s %s: %s", account, stream, d)
			}
			seen[d.Truncate(10*time.Second)] = true
		}
	}
	if len(seen) < 4 {
		t.Errorf("18 streams begin in %d of 6 parts of the minute", len(seen))
	}
	if spread("a", "b", 0) != 0 {
		t.Error("a delay without jitter")
	}
}

func TestStaleAfter(t *testing.T) {
	now := at(t, "2026-07-01T12:00:00Z") // a Wednesday
	for text, want := range map[string]time.Duration{
		"":              0,
		"*/5 * * * *":   10 * time.Minute,
		"0 6 * * 1-5":   2 * 72 * time.Hour, // over the weekend
		"@every 5s":     time.Minute,
		"30 2 1,15 * *": 2 * 17 * 24 * time.Hour,
	} {
		e := entry{runs: slot{Schedule: schedule(t, text, "UTC")}}
		if got := e.staleAfter(now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	// During a pause, the pause counts, however close to each other the times after it are.
	e := entry{runs: slot{Schedule: schedule(t, "*/5 8-18 * * *", "UTC"), delay: 10 * time.Second},
		looked: at(t, "2026-07-01T18:55:10Z")}
	for clock, want := range map[string]string{
		"2026-07-01T20:00:00Z": "2026-07-02T08:05:10Z", // at night, the run of 8:05 may still come
		"2026-07-02T08:06:00Z": "2026-07-02T08:05:10Z", // neither that of 8:00 nor that of 8:05 has succeeded
	} {
		if got := e.looked.Add(e.staleAfter(at(t, clock))); !got.Equal(at(t, want)) {
			t.Errorf("at %s, it is late from %s on, want %s", clock, got.UTC(), want)
		}
	}
}
