package web

import (
	"regexp"
	"testing"
)

// TestStatesOfTheFiles compares the states that the style and the templates mention with those that exist.
func TestStatesOfTheFiles(t *testing.T) {
	t.Parallel()
	style, err := staticFiles.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range regexp.MustCompile(`data-state="?([a-z]+)`).FindAllStringSubmatch(string(style), -1) {
		seen++
		if state(m[1]).label() == "" {
			t.Errorf("style.css has a state %q, which is none", m[1])
		}
	}
	if seen == 0 {
		t.Error("style.css has no state")
	}
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := templateFiles.ReadFile("templates/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`data-state="[^{"]+"|(?:eq|ne) \.(?:State|Outcome|Mode|Verdict) "[^"]+"`).FindAllString(string(text), -1) {
			t.Errorf("%s has %s: a word of a table stands in Go", e.Name(), m)
		}
	}
}
