// Package sandboxtest says what happens to a test of the sandbox on a kernel that has none. Only tests import it.
package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// Required is the variable of the environment that forbids to leave such tests out: CI sets it.
const Required = "SANDBOX_REQUIRED"

// Need skips the test where the kernel lacks something, as Policy.Missing tells it, and fails it there if the
// environment says that it must run.
func Need(t testing.TB, missing []string) {
	t.Helper()
	if len(missing) == 0 {
		return
	}
	what := "this kernel cannot block " + strings.Join(missing, ", ") + " (Landlock of Linux 6.7 or later, and seccomp)"
	if os.Getenv(Required) != "" {
		t.Fatalf("%s, and %s is set: run it on one that can", what, Required)
	}
	t.Skip(what)
}
