package term

import (
	"time"
)

// CountColumn is a column of counts.
func CountColumn(name string) Column { return Column{Name: name, Right: true, Human: countCell} }

// countCell shows counts in tables.
func countCell(v any) string {
	if n, ok := v.(uint64); ok {
		return Count(n)
	}
	return Plain(v)
}

// DurationColumn is a column of numbers of seconds: in words for people, and as numbers for programs.
func DurationColumn(format Format) Column {
	if format == Table {
		return Column{Name: "duration", Right: true, Human: secondsCell}
	}
	return Column{Name: "duration_seconds"}
}

// secondsCell shows a number of seconds, or nothing when it is unknown.
func secondsCell(v any) string {
	s, ok := v.(float64)
	if !ok {
		return ""
	}
	return Span(time.Duration(s * float64(time.Second)))
}

// AgeCell shows a number of seconds in its largest unit, or nothing when it is unknown.
func AgeCell(v any) string {
	s, ok := v.(float64)
	if !ok {
		return ""
	}
	return Short(time.Duration(s * float64(time.Second)))
}

// TimeCell shows a time in UTC, to the second, or nothing when there is none.
func TimeCell(v any) string {
	t, ok := v.(time.Time)
	if !ok {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Time is a time as a value of a row: NULL when it is the zero time.
func Time(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// TimeAt is a time that may be absent as a value of a row.
func TimeAt(t *time.Time) any {
	if t == nil {
		return nil
	}
	return Time(*t)
}
