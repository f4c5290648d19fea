package web

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jsonNames returns the names of the fields of a type, and of the types in it.
func jsonNames(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return jsonNames(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var names []string
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
		names = append(names, jsonNames(of.Field(i).Type)...)
	}
	return names
}

// statusDocument returns the chapter of API.md about the status.
func statusDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("API.md")
	if err != nil {
		t.Fatal(err)
	}
	_, document, _ := strings.Cut(string(text), "## `/api/v1/status`\n")
	document, _, found := strings.Cut(document, "\n## ")
	if !found {
		t.Fatal("API.md has no section about the status")
	}
	return document
}

// TestDocument: API.md explains every field of the status, and no other.
func TestDocument(t *testing.T) {
	document := statusDocument(t)
	names := jsonNames(reflect.TypeFor[statusJSON]())
	for _, name := range names {
		if !strings.Contains(document, "`"+name+"`") {
			t.Errorf("API.md does not explain %s", name)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(document, -1) {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			if !slices.Contains(names, m[1]) {
				t.Errorf("API.md explains %s, which the status does not have", m[1])
			}
		}
	}
}

// TestDocumentedStates: API.md lists every state of a stream and every state of all streams together, and no other.
func TestDocumentedStates(t *testing.T) {
	document := statusDocument(t)
	for row, never := range map[string][]state{
		"\n| `state`, `summary` | ": {stateDisabled, stateRemoved, stateUnknown},
		"\n| `state` | ":            {stateCut, stateDoubtful},
	} {
		_, meaning, found := strings.Cut(document, row)
		if !found {
			t.Fatalf("API.md has no row %q", row)
		}
		meaning, _, _ = strings.Cut(meaning, "\n")
		var listed, want []string
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(meaning, -1) {
			listed = append(listed, m[1])
		}
		for s := range labels {
			if !slices.Contains(never, s) {
				want = append(want, string(s))
			}
		}
		slices.Sort(listed)
		slices.Sort(want)
		if listed = slices.Compact(listed); !slices.Equal(listed, want) {
			t.Errorf("API.md lists in %q\n%q, want\n%q", row, listed, want)
		}
	}
}

// TestDocumentedPaths: the table of API.md has every path that the daemon serves, and no other. Not among them are the
// files that its pages load, and what Go serves below /debug/pprof/.
func TestDocumentedPaths(t *testing.T) {
	code, err := os.ReadFile("routes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"actionsAPI": actionsAPI, "actionsPage": actionsPage, "timelinePage": timelinePage}
	var served, documented []string
	for _, m := range regexp.MustCompile(`mux\.Handle(?:Func)?\("\w+ ([^"]*)"(?:\+(\w+))?,`).
		FindAllStringSubmatch(string(code), -1) {
		path := strings.TrimSuffix(m[1], "{$}") + names[m[2]]
		if path == "/static/" || strings.HasPrefix(path, "/debug/pprof/") && path != "/debug/pprof/" {
			continue
		}
		served = append(served, path)
	}
	if want := strings.Count(string(code), "mux.Handle") - 5; len(served) != want {
		t.Fatalf("%d of %d routes were understood: %q", len(served), want, served)
	}
	text, err := os.ReadFile("API.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\nPages load nothing")
	for _, row := range regexp.MustCompile("(?m)^\\| (`/[^|]+) \\|").FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`(/[^?`]*)").FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, m[1])
		}
	}
	slices.Sort(served)
	slices.Sort(documented)
	if served = slices.Compact(served); !slices.Equal(served, documented) {
		t.Errorf("the daemon serves\n%q, API.md has\n%q", served, documented)
	}
}
