package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A process that loads may write where links in the data folder lead to, as deep as tables are, and beside its other
// files (launch-4).
func TestWritable(t *testing.T) {
	t.Parallel()
	place, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(place, name) }
	for _, folder := range []string{"data/store/123/table", "disk/store", "deeper", "far", "textfile"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"data/disk": "disk", "disk/store/456": "deeper",
		"data/again": "data/store", "data/store/123/table/link": "far", "data/gone": "nowhere"} {
		if err := os.Symlink(at(target), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	got := writable(at("data"), "", at("textfile/metrics.prom"), at("nowhere/events.jsonl"))
	if want := []string{at("data"), at("disk"), at("deeper"), at("textfile")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
