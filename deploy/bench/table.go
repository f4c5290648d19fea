package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// result is what one of them needed, and what it made of the data.
type result struct {
	Name          string `json:"name"`
	Skipped       string `json:"skipped,omitempty"` // why it did not run
	Memory        string `json:"memory_of"`
	cost          `json:"-"`
	Seconds       float64 `json:"wall_seconds"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	PeakMiB       int64   `json:"peak_mib"`
	RowsPerSecond float64 `json:"rows_per_second"`
	CPUPerMillion float64 `json:"cpu_seconds_per_million"`
	Wrong         int     `json:"wrong_decimals"`
	ExactOnly     bool    `json:"exact_only,omitempty"`
	SeenAfterKill int64   `json:"rows_seen_after_kill"`
	Missing       int64   `json:"rows_missing_after_rerun"`
	Twice         int64   `json:"rows_twice_after_rerun"`
	TwiceMerged   int64   `json:"rows_twice_with_final"`
}

func (r *result) rate(rows int) {
	r.Seconds, r.CPUSeconds, r.PeakMiB = r.Wall.Seconds(), r.CPU.Seconds(), r.Peak>>20
	r.RowsPerSecond = float64(rows) / r.Seconds
	r.CPUPerMillion = r.CPUSeconds * 1e6 / float64(rows)
}

// ratio is how dealhouse stands to another, beside what it is to reach.
type ratio struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Goal  float64 `json:"goal_at_most"`
}

// table is all that came out.
type table struct {
	Date     string   `json:"date"`
	Machine  string   `json:"machine"`
	Rows     int      `json:"rows"`
	KillRows int      `json:"rows_of_the_kill"`
	Bytes    int64    `json:"bytes_of_json"`
	Decimals int      `json:"decimals"`
	Repeat   int      `json:"repeat"`
	Ratios   []ratio  `json:"ratios"`
	Results  []result `json:"results"`
}

// machine is what kind of machine this is, in words.
func machine(said string) string {
	if said != "" {
		return said
	}
	return fmt.Sprintf("%d cores, %s", runtime.NumCPU(), runtime.GOARCH)
}

func (t *table) find(name string) *result {
	for i := range t.Results {
		if t.Results[i].Name == name {
			return &t.Results[i]
		}
	}
	return &result{}
}

func (t *table) compare() {
	ours, own, loop, pages := t.find("dealhouse"), t.find("the engine's own reading"), t.find("plain Go loop"), t.find("the same, an insert a page")
	t.Ratios = []ratio{
		{"wall, of the engine's own reading", ours.Seconds / own.Seconds, 0.8},
		{"CPU, of the engine's own reading", ours.CPUSeconds / own.CPUSeconds, 1.3},
		{"wall, of the plain Go loop", ours.Seconds / loop.Seconds, 0.2},
		{"wall, of the same with an insert a page", ours.Seconds / pages.Seconds, 0.2},
	}
}

// write keeps the table as text, as Markdown and as JSON, and the chart, and prints the text.
func (t *table) write(folder string, stdout io.Writer) error {
	t.Date = time.Now().UTC().Format(time.DateOnly)
	t.compare()
	figures, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	text := t.text()
	fmt.Fprint(stdout, text)
	for name, content := range map[string]string{"table.txt": text, "table.md": t.markdown(),
		"result.json": string(figures) + "\n", "chart.svg": t.chart()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	return nil
}

func (t *table) title() string {
	return fmt.Sprintf("%s transactions, %.1f MB of JSON; %s; %s. A kill in the middle of %s.", thousands(int64(t.Rows)),
		float64(t.Bytes)/1e6, t.Machine, t.Date, thousands(int64(t.KillRows)))
}

func header() []string {
	return []string{"", "wall s", "CPU s", "rows/s", "CPU s a million", "peak MiB", "memory of", "decimals wrong",
		"seen after a kill", "then missing", "then twice"}
}

func (t *table) cells(r result) []string {
	wrong := fmt.Sprintf("%s of %s", thousands(int64(r.Wrong)), thousands(int64(t.Decimals)))
	switch {
	case r.Skipped != "":
		return append([]string{r.Name, "not run: " + r.Skipped}, make([]string, len(header())-2)...)
	case r.ExactOnly:
		return []string{r.Name, "", "", "", "", "", "", wrong, "", "", ""}
	}
	twice := thousands(r.Twice)
	if r.Twice > 0 {
		twice += fmt.Sprintf(" (%s with FINAL)", thousands(r.TwiceMerged))
	}
	return []string{
		r.Name, fmt.Sprintf("%.1f", r.Seconds), fmt.Sprintf("%.1f", r.CPUSeconds), thousands(int64(r.RowsPerSecond)),
		fmt.Sprintf("%.1f", r.CPUPerMillion),
		thousands(r.PeakMiB), r.Memory, wrong, thousands(r.SeenAfterKill), thousands(r.Missing), twice,
	}
}

func (t *table) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", t.title())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "dealhouse needs\tratio\tgoal, at most\t")
	for _, r := range t.Ratios {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%s\n", r.Name, r.Value, r.Goal, r.verdict())
	}
	fmt.Fprintln(w)
	for i, cells := range t.lines() {
		if i == 0 || t.Results[i-1].Skipped == "" {
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
	}
	_ = w.Flush() // to memory
	for _, r := range t.Results {
		if r.Skipped != "" {
			fmt.Fprintf(&b, "%s  not run: %s\n", r.Name, r.Skipped)
		}
	}
	return b.String()
}

func (t *table) lines() [][]string {
	lines := [][]string{header()}
	for _, r := range t.Results {
		lines = append(lines, t.cells(r))
	}
	return lines
}

func (r ratio) verdict() string {
	if r.Value <= r.Goal {
		return "reached"
	}
	return "not reached"
}

func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| dealhouse needs | ratio | goal, at most | |\n|---|--:|--:|---|\n", t.title())
	for _, r := range t.Ratios {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %s |\n", r.Name, r.Value, r.Goal, r.verdict())
	}
	b.WriteString("\n")
	for i, cells := range t.lines() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|---|%s\n", strings.Repeat("--:|", len(cells)-1))
		}
	}
	return b.String()
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
