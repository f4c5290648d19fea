//go:build !noengine && linux

package launch

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"dealhouse/internal/sandbox"
)

// A warehouse that another process has open is tried to be opened again and again. What there is to say of the sandbox
// is said once, and what failed is not tried again.
func TestSandboxIsTriedOnce(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{false, true} {
		var said bytes.Buffer
		tried := 0
		l := New(Options{Logger: slog.New(slog.NewTextHandler(&said, nil)), Unattended: true, Env: os.Environ(),
			Become: func(sandbox.Policy, []string) error {
				tried++
				return errors.New("not here")
			}})
		c := Confinement{Loads: true, inside: inside}
		dir := t.TempDir()
		for range 3 {
			if err := c.Confine(t.Context(), l, dir); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(said.String(), "kernel sandbox") + strings.Count(said.String(),
			"cannot block"); n > 1+len(sandbox.Policy{Network: true}.Missing()) || tried > 1 {
			t.Errorf("inside: %t: it is tried %d times, and says:\n%s", inside, tried, said.String())
		}
	}
}
