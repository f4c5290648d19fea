package main

import "testing"

// A download is spoken of only while there is one.
func TestDownloadText(t *testing.T) {
	t.Parallel()
	var d download
	for _, c := range []struct {
		percent int
		text    string
	}{{-1, ""}, {0, ": downloading it, once, 0 %"}, {42, ": downloading it, once, 42 %"}, {100, ""}} {
		if c.percent >= 0 {
			d.reached(c.percent)
		}
		if got := d.text(); got != c.text {
			t.Errorf("at %d %%: %q", c.percent, got)
		}
	}
}
