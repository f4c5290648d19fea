package syncer

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func day(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.999", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, to string
		width          time.Duration
		want           string // from..to of each window
	}{
		{"whole windows", "2026-01-01T00:00:00", "2026-01-03T00:00:00", 24 * time.Hour,
			"01T00:00:00..02T00:00:00 02T00:00:00..03T00:00:00"},
		{"a narrow last one", "2026-01-01T00:00:00", "2026-01-02T06:00:00", 24 * time.Hour,
			"01T00:00:00..02T00:00:00 02T00:00:00..02T06:00:00"},
		{"a range narrower than a window", "2026-01-01T10:00:00", "2026-01-01T10:00:00.001", time.Hour,
			"01T10:00:00..01T10:00:00.001"},
		{"an empty range", "2026-01-01T10:00:00", "2026-01-01T10:00:00", time.Hour, ""},
		{"one millisecond more than a window", "2026-01-01T00:00:00", "2026-01-01T01:00:00.001", time.Hour,
			"01T00:00:00..01T01:00:00 01T01:00:00..01T01:00:00.001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range cut(day(t, c.from), day(t, c.to), c.width) {
				got = append(got, w.from.Format("02T15:04:05.999")+".."+w.to.Format("02T15:04:05.999"))
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// Every millisecond of a range is inside the exclusive borders of exactly one window.
func TestWindowsCoverTheRange(t *testing.T) {
	t.Parallel()
	from := day(t, "2026-01-01T00:00:00")
	windows := cut(from, from.Add(100*time.Millisecond), 7*time.Millisecond)
	for ms := range 100 {
		at, in := from.Add(time.Duration(ms)*time.Millisecond), 0
		for _, w := range windows {
			if at.After(w.after()) && at.Before(w.before()) {
				in++
			}
		}
		if in != 1 {
			t.Errorf("millisecond %d is in %d windows", ms, in)
		}
	}
}

func TestRangeErrors(t *testing.T) {
	t.Parallel()
	from, to := day(t, "2026-01-01T00:00:00"), day(t, "2026-02-01T00:00:00")
	for want, r := range map[string]Range{
		"":                       {From: from, To: to},
		"the range is empty":     {From: to, To: from},
		"needs both ends":        {From: from},
		"too narrow":             {From: from, To: to, Window: time.Second},
		"in parallel":            {From: from, To: to, Parallel: MaxParallel + 1},
		"-1 windows":             {From: from, To: to, Parallel: -1},
		"more than 100000":       {From: from, To: from.AddDate(1, 0, 0), Window: time.Minute},
		"a window of -1h0m0s is": {From: from, To: to, Window: -time.Hour},
	} {
		err := r.Validate()
		var bad *RangeError
		if (want == "") != (err == nil) || err != nil && (!errors.As(err, &bad) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	s := spans(nil).with(3).with(1, 5).with(4)
	if d := cmp.Diff(spans{{1, 1}, {3, 5}}, s); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{1, 3, 4, 5}, s.numbers()); d != "" || s.count() != 4 || s.has(2) || !s.has(4) || s.has(6) {
		t.Error(d, s)
	}
	random, all := rand.New(rand.NewPCG(1, 2)), map[int]bool{}
	for range 500 {
		n := random.IntN(300)
		before := s.count()
		grown := s.with(n)
		if s.count() != before {
			t.Fatal("the set itself has changed")
		}
		s, all[n] = grown, true
	}
	for _, n := range []int{1, 3, 4, 5} {
		all[n] = true
	}
	for n := range 300 {
		if s.has(n) != all[n] {
			t.Errorf("%d: %v", n, s.has(n))
		}
	}
	if s.count() != len(all) {
		t.Errorf("%d of %d", s.count(), len(all))
	}
}
