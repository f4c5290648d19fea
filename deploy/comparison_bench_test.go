//go:build !noengine

package deploy_test

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// BenchmarkComparison runs the script that compares, and reports how dealhouse stands to the others. It fails when a
// line of the table is missing, and when dealhouse did not load what was served: every amount, and each row once
// although it was killed. COMPARISON_ROWS is the number of transactions; COMPARISON_OUTPUT a folder that keeps the
// table.
func BenchmarkComparison(b *testing.B) {
	out := cmp.Or(os.Getenv("COMPARISON_OUTPUT"), b.TempDir())
	rows := cmp.Or(os.Getenv("COMPARISON_ROWS"), "100000")
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "bench/run.sh", "--rows", rows, "--output", out, "--work", b.TempDir())
		cmd.Env = append(os.Environ(), "INGESTR=skip") // no benchmark installs anything
		if said, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, said)
		}
	}
	var got comparison
	if err := json.Unmarshal([]byte(readFile(b, filepath.Join(out, "result.json"))), &got); err != nil {
		b.Fatal(err)
	}
	for _, r := range got.Ratios {
		against(b, strings.NewReplacer(", ", "-", " ", "-").Replace(r.Name), r.Value, r.Goal)
	}
	got.check(b, out)
}

// comparison is what the script found.
type comparison struct {
	Results []struct {
		Name            string
		Skipped         string
		ExactOnly       bool    `json:"exact_only"`
		Wall            float64 `json:"wall_seconds"`
		CPU             float64 `json:"cpu_seconds"`
		Peak            int64   `json:"peak_mib"`
		Wrong           int     `json:"wrong_decimals"`
		SeenAfterKill   int64   `json:"rows_seen_after_kill"`
		Missing         int64   `json:"rows_missing_after_rerun"`
		Twice           int64   `json:"rows_twice_after_rerun"`
		TwiceAfterMerge int64   `json:"rows_twice_with_final"`
	}
	Ratios []struct {
		Name  string
		Value float64
		Goal  float64 `json:"goal_at_most"`
	}
}

// check is what the table must have on any machine, however busy.
func (got comparison) check(t testing.TB, out string) {
	t.Helper()
	want := []string{"dealhouse", "plain Go loop", "the same, an insert a page", "plain Python loop",
		"the same, amounts as floats", "the engine's own reading", "ingestr"}
	var names []string
	for _, r := range got.Results {
		names = append(names, r.Name)
		for _, file := range []string{"table.txt", "table.md"} {
			if !strings.Contains(readFile(t, filepath.Join(out, file)), r.Name) {
				t.Errorf("%s does not have %s", file, r.Name)
			}
		}
		if r.Skipped == "" && !r.ExactOnly && (r.Wall <= 0 || r.CPU <= 0 || r.Peak <= 0) {
			t.Errorf("%s was not measured: %+v", r.Name, r)
		}
		if needsPython := strings.Contains(r.Name, "Python") || r.ExactOnly; r.Skipped != "" && r.Name != "ingestr" &&
			!needsPython {
			t.Errorf("%s did not run: %s", r.Name, r.Skipped)
		}
	}
	if !slices.Equal(names, want) {
		t.Fatalf("the table has %q, want %q", names, want)
	}
	if ours := got.Results[0]; ours.Wrong+int(ours.SeenAfterKill+ours.Missing+ours.Twice) != 0 {
		t.Errorf("dealhouse: %+v", ours)
	}
	// What others leave and get wrong is seen: half a load is there for readers, and floats lose digits. Whether rows are
	// there twice depends on when the engine merges them.
	for _, loop := range got.Results[1:3] {
		if loop.SeenAfterKill == 0 || loop.Missing+loop.TwiceAfterMerge+int64(loop.Wrong) != 0 {
			t.Errorf("%+v", loop)
		}
	}
	if floats := got.Results[4]; floats.Skipped == "" && floats.Wrong == 0 {
		t.Errorf("with floats: %+v", floats)
	}
	if len(got.Ratios) != 4 || got.Ratios[0].Value <= 0 || got.Ratios[0].Goal != 0.8 {
		t.Errorf("ratios: %+v", got.Ratios)
	}
	chart := xml.NewDecoder(strings.NewReader(readFile(t, filepath.Join(out, "chart.svg"))))
	for {
		if _, err := chart.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("chart.svg: %v", err)
		}
	}
}
