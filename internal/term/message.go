package term

import (
	"log/slog"
	"slices"
	"strings"
)

// Message returns an error in as few lines as possible: joined errors repeat each other if they have one
// cause. The text is safe to show.
func Message(err error) string {
	var all []string
	for _, line := range errorLines(err) {
		line = Clip(strings.TrimSpace(line))
		if line != "" && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n  ")
}

// errorLines returns the lines of an error. Only two things make lines: joining errors, and a method Lines that returns
// them. A line break within the text of one error may come from outside, and is made visible.
func errorLines(err error) []string {
	text := err.Error()
	switch e := any(err).(type) {
	case interface{ Lines() []string }:
		var lines []string
		for _, line := range e.Lines() {
			lines = append(lines, Line(line))
		}
		return lines
	case interface{ Unwrap() []error }:
		var texts, lines []string
		for _, part := range e.Unwrap() {
			texts = append(texts, part.Error())
			lines = append(lines, errorLines(part)...)
		}
		if strings.Join(texts, "\n") == text {
			return lines
		}
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil {
			break
		}
		if before, after, found := strings.Cut(text, inner.Error()); found {
			lines := errorLines(inner)
			lines[0] = Line(before) + lines[0]
			lines[len(lines)-1] += Line(after)
			return lines
		}
	}
	return []string{Line(text)}
}

// ClipAttr limits what a log line repeats, such as the text of a statement or the answer of a service. It is for
// slog.HandlerOptions.ReplaceAttr. A stack stays whole: it is our own.
func ClipAttr(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == "stack" {
		return attr
	}
	switch value := attr.Value.Any().(type) {
	case string:
		attr.Value = slog.StringValue(Clip(value))
	case error:
		attr.Value = slog.StringValue(Clip(value.Error()))
	}
	return attr
}
