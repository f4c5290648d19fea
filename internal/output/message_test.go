package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dealhouse/internal/visible"
)

// Only joining makes lines of a message.
func TestMessage(t *testing.T) {
	t.Parallel()
	evil := errors.New("bad\nerror: forged\x1b")
	for want, err := range map[string]error{
		`bad\nerror: forged\u001b`:                             evil,
		`doing: bad\nerror: forged\u001b (late)`:               fmt.Errorf("doing: %w (late)", evil),
		"one\n  " + `bad\nerror: forged\u001b`:                 errors.Join(errors.New("one"), evil, errors.New("one")),
		"all: one\n  " + `bad\nerror: forged\u001b; then x\ry`: usagef("all: %w; then x\ry", errors.Join(errors.New("one"), evil)),
		`a and bad\nerror: forged\u001b`:                       fmt.Errorf("%w and %w", errors.New("a"), evil),
	} {
		if got := message(err); got != want {
			t.Errorf("%q\nwant\n%q", got, want)
		}
	}
	long := message(fmt.Errorf("asking: %w", errors.New(strings.Repeat("SELECT ", 20_000))))
	if len(long) > visible.MaxEcho+30 || !strings.HasSuffix(long, "... (140007 bytes)") {
		t.Errorf("%d bytes, which end with %q", len(long), long[len(long)-30:])
	}
}
