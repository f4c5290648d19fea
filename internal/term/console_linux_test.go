package term

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns a terminal that nobody looks at.
func terminal(t *testing.T) *os.File {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0) // #nosec G304
		if err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("this machine gives no terminals: %v", err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	other := open("/dev/ptmx")
	if err := unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return open(fmt.Sprintf("/dev/pts/%d", n))
}

// Nothing is drawn on a terminal that would show control sequences as text.
func TestNothingIsDrawnOnADumbTerminal(t *testing.T) {
	f := terminal(t)
	for name, live := range map[string]bool{"xterm-256color": true, "": true, "dumb": false} {
		t.Setenv("TERM", name)
		if got := NewConsole(f).Live(); got != live {
			t.Errorf("TERM=%q: live %t, want %t", name, got, live)
		}
	}
}
