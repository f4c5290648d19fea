package web

import (
	"strings"
	"time"

	"dealhouse/internal/term"
)

func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// ago says how long ago something was.
func ago(d time.Duration) string { return term.Ago(d, term.Long) }

// until says how long it is until something.
func until(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return "in " + term.Long(d)
}

// rfc3339 returns a time as it is written in JSON and in markup.
func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// exact returns a time in full, for people.
func exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
