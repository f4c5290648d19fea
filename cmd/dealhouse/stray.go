package main

import (
	"context"
	"log"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// stray takes the lines that libraries write to the standard logger of Go, and other code to stderr, past this
// program's own log: they become lines of it.
type stray struct {
	log *slog.Logger
	few rate.Sometimes // a server can make net/http write a line for each of its answers
}

// takeStandardLog is for programs of their own: the standard logger belongs to the whole process.
func takeStandardLog(l *slog.Logger) {
	log.SetFlags(0)
	log.SetPrefix("")
	log.SetOutput(&stray{log: l, few: rate.Sometimes{First: 10, Interval: time.Minute}})
}

// Write takes a line of the standard logger.
func (s *stray) Write(p []byte) (int, error) {
	level := slog.LevelDebug
	s.few.Do(func() { level = slog.LevelWarn })
	s.tell(level, string(p))
	return len(p), nil
}

// fromOutside matches what Go's packages quote of what they were sent. It may hold a key.
var fromOutside = regexp.MustCompile(`"(?:[^"\\]|\\.)*(?:"|$)`)

func (s *stray) tell(level slog.Level, text string) {
	if text = strings.TrimSpace(fromOutside.ReplaceAllString(text, "(left out)")); text != "" {
		s.log.Log(context.Background(), level, "a library or the engine reports something", "text", text)
	}
}
