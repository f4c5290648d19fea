package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/report"
)

// words is the name of a stream as people write it.
func words(stream string) string { return strings.ReplaceAll(stream, "_", " ") }

func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// grouped is a count with commas: 1,234,567.
func grouped(n uint64) string { return report.Grouped(strconv.FormatUint(n, 10)) }

// plural is a count with its noun.
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// coarse is a duration in its largest unit, rounded down.
func coarse(d time.Duration) string {
	switch {
	case d < time.Second:
		return "under a second"
	case d < time.Minute:
		return plural(uint64(d/time.Second), "second")
	case d < time.Hour:
		return plural(uint64(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return plural(uint64(d/time.Hour), "hour")
	}
	return plural(uint64(d/(24*time.Hour)), "day")
}

// ago is how long something is past.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return coarse(d) + " ago"
}

// until is how long something is ahead.
func until(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return "in " + coarse(d)
}

// span is how long something took, at most two units.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(0, d.Milliseconds()))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// volume is a number of bytes.
func volume(n uint64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// rfc3339 is a time in JSON and in markup.
func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// exact is a time in full, for people.
func exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
