//go:build systemd

package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exposure is the worst that `systemd-analyze security` may say of a service, in tenths: 0 is none, 100 all.
const exposure = "15"

// systemd understands the units, and finds little that they could do beyond their job.
func TestUnitsAreUnderstood(t *testing.T) {
	dir := t.TempDir()
	units, err := filepath.Glob("systemd/*")
	if err != nil || len(units) != 3 {
		t.Fatalf("%v %v", units, err)
	}
	for _, unit := range units {
		// The program need not be installed where the test runs, so that another one stands for it.
		text := strings.ReplaceAll(readFile(t, unit), "/usr/local/bin/dealhouse", os.Args[0])
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(unit)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, unit := range units {
		path := filepath.Join(dir, filepath.Base(unit))
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no",
			path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		if filepath.Ext(unit) != ".service" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true",
			"--threshold="+exposure, path).CombinedOutput()
		verdict := regexp.MustCompile(`Overall exposure level .*`).Find(out)
		t.Logf("%s", verdict)
		if err != nil || verdict == nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}
