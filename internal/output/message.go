package output

import (
	"log/slog"
	"slices"
	"strings"

	"dealhouse/internal/visible"
)

// Message returns an error in as few lines as possible (output-4): joined errors repeat each other if they have one
// cause. The text is safe to show (output-1).
func Message(err error) string {
	var all []string
	for _, line := range errorLines(err) {
		line = visible.Clip(strings.TrimSpace(line))
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
			lines = append(lines, visible.Line(line))
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
			lines[0] = visible.Line(before) + lines[0]
			lines[len(lines)-1] += visible.Line(after)
			return lines
		}
	}
	return []string{visible.Line(text)}
}

// Clip limits what a log line repeats, such as the text of a statement or the answer of a service (output-4). It is for
// slog.HandlerOptions.ReplaceAttr. A stack stays whole: it is our own.
func Clip(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == "stack" {
		return attr
	}
	switch value := attr.Value.Any().(type) {
	case string:
		attr.Value = slog.StringValue(visible.Clip(value))
	case error:
		attr.Value = slog.StringValue(visible.Clip(value.Error()))
	}
	return attr
}
