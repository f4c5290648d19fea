//go:build browser

package payouts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestYearOnPaper prints the documents of the scripted year, and wants them short enough to be read. PAGE_SHOTS names a
// folder in which they are kept.
func TestYearOnPaper(t *testing.T) {
	folder := os.Getenv("PAGE_SHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	for name, most := range map[string]int{"year": 5, "year-statement": 2, "year-bank": 2} {
		document, err := filepath.Abs(filepath.Join("testdata", name+".html"))
		if err != nil {
			t.Fatal(err)
		}
		paper := filepath.Join(folder, name+".pdf")
		out, err := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu",
			"--no-pdf-header-footer", "--user-data-dir="+t.TempDir(),
			"--print-to-pdf="+paper, "file://"+document).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		pdf, err := os.ReadFile(paper)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(regexp.MustCompile(`/Type /Page\b[^s]`).FindAll(pdf, -1)); n == 0 || n > most {
			t.Errorf("%s has %d pages, want at most %d", name, n, most)
		}
	}
}
