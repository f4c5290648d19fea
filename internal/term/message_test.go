package term

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// wrapper is an error with the text of the one that it wraps.
type wrapper struct{ error }

func (w wrapper) Unwrap() error { return w.error }

// Only joined errors make several lines of a message.
func TestMessage(t *testing.T) {
	t.Parallel()
	evil := errors.New("bad\nerror: forged\x1b")
	for want, err := range map[string]error{
		`bad\nerror: forged\u001b`:               evil,
		`doing: bad\nerror: forged\u001b (late)`: fmt.Errorf("doing: %w (late)", evil),
		"one\n  " + `bad\nerror: forged\u001b`:   errors.Join(errors.New("one"), evil, errors.New("one")),
		"all: one\n  " + `bad\nerror: forged\u001b; then x\ry`: wrapper{fmt.Errorf("all: %w; then x\ry",
			errors.Join(errors.New("one"), evil))},
		`a and bad\nerror: forged\u001b`: fmt.Errorf("%w and %w", errors.New("a"), evil),
	} {
		if got := Message(err); got != want {
			t.Errorf("%q\nwant\n%q", got, want)
		}
	}
	long := Message(fmt.Errorf("asking: %w", errors.New(strings.Repeat("SELECT ", 20_000))))
	if len(long) > MaxEcho+30 || !strings.HasSuffix(long, "... (140007 bytes)") {
		t.Errorf("%d bytes, which end with %q", len(long), long[len(long)-30:])
	}
}
