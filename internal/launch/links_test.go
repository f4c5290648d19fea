package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// An engine may write where links in the data folder lead to, as deep as tables are (launch-4).
func TestLinked(t *testing.T) {
	t.Parallel()
	place, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(place, name) }
	for _, folder := range []string{"data/store/123/table", "disk/store", "deeper", "far"} {
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
	got := linked(at("data"), tableDepth, []string{at("data")})
	if want := []string{at("data"), at("disk"), at("deeper")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
