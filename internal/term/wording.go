package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Grouped puts commas into a plain number, which may have a sign and decimals: 1,234.50.
func Grouped(number string) string {
	whole, fraction, hasFraction := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasFraction {
		whole += "." + fraction
	}
	return sign + whole
}

// Spaced is a name of the views or of a stream as people write it: "cashback offers".
func Spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Count is a count with commas: 1,234,567.
func Count(n uint64) string { return Grouped(strconv.FormatUint(n, 10)) }

// Plural is a count with its noun, which takes an s unless the count is 1.
func Plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Size is a number of bytes in the units of memory and of files, each 1024 times the one before: 178 MiB.
func Size(bytes uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(bytes), 0
	for ; value >= 1000 && unit < len(units)-1; unit++ {
		value /= 1024
	}
	digits := 1
	if unit == 0 || value >= 100 {
		digits = 0
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + units[unit]
}

// List joins names: "a", "a and b", "a, b and c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Span returns how long something takes, in at most two units. A time below zero counts as zero.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(0, d.Milliseconds()))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// Short is a duration in its largest unit, rounded down, for the cells of a table: "4 min".
func Short(d time.Duration) string {
	n, unit := largest(d)
	return fmt.Sprintf("%d %s", n, []string{"s", "min", "h", "days"}[unit])
}

// Long is a duration in its largest unit, rounded down, for a sentence: "4 minutes".
func Long(d time.Duration) string {
	if d < time.Second {
		return "under a second"
	}
	n, unit := largest(d)
	return Plural(uint64(n), []string{"second", "minute", "hour", "day"}[unit])
}

// largest returns a duration in seconds (0), minutes (1), hours (2) or days (3): in the largest unit of which it has at
// least one, or in days if it has at least two.
func largest(d time.Duration) (n, unit int) {
	switch {
	case d < time.Minute:
		return int(d / time.Second), 0
	case d < time.Hour:
		return int(d / time.Minute), 1
	case d < 48*time.Hour:
		return int(d / time.Hour), 2
	}
	return int(d / (24 * time.Hour)), 3
}

// Ago returns how long ago something was, in the words of Short or Long.
func Ago(d time.Duration, in func(time.Duration) string) string {
	if d < time.Second {
		return "just now"
	}
	return in(d) + " ago"
}

// Sentence makes a sentence of a text: it begins with a capital letter, except for the name of a column, and ends
// with a full stop.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	if word, _, _ := strings.Cut(text, " "); strings.Contains(word, "_") {
		return strings.TrimSuffix(text, ".") + "."
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}
