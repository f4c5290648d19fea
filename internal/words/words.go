package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/report"
)

// grouped is a count with commas: 1,234,567.
func grouped(n uint64) string { return report.Grouped(strconv.FormatUint(n, 10)) }

// countCell shows counts in tables.
func countCell(v any) string {
	if n, ok := v.(uint64); ok {
		return grouped(n)
	}
	return plain(v)
}

// secondsCell shows a number of seconds, or nothing when it is unknown.
func secondsCell(v any) string {
	s, ok := v.(float64)
	if !ok {
		return ""
	}
	return span(time.Duration(s * float64(time.Second)))
}

// span is a duration as people say it, at most two units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// ago is how long something is past.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return coarse(d) + " ago"
}

// coarse is a duration in one unit, rounded down.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// dateCell shows a time in UTC, to the second.
func dateCell(v any) string {
	t, ok := v.(time.Time)
	if !ok {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// when makes an absent time a NULL.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// plural is a count with its noun.
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// list joins names: "a", "a and b", "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
