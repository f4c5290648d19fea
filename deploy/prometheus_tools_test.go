//go:build prometheus

package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Prometheus understands its configuration and every rule, and each alert fires when it should, and not otherwise.
func TestPrometheusFiles(t *testing.T) {
	promtool(t, "check", "config", "prometheus/prometheus.yml")
	promtool(t, "check", "rules", "prometheus/rules/recording.yml", "prometheus/rules/alerts.yml")
	promtool(t, "test", "rules", "prometheus/tests/alerts_test.yml")
}

// Prometheus parses every query of the dashboard: here as recording rules, which this promtool checks.
func TestQueriesParse(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	n := 0
	for _, all := range queries(t) {
		for _, query := range all {
			n++
			fmt.Fprintf(&rules, "  - {record: 'query:%d', expr: %q}\n", n, query)
		}
	}
	if n < 20 {
		t.Errorf("only %d queries were found", n)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}
