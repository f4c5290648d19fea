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

// TestDocument: API.md explains every field of the status, and no other.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("API.md")
	if err != nil {
		t.Fatal(err)
	}
	_, document, _ := strings.Cut(string(text), "## `/api/v1/status`\n")
	document, _, found := strings.Cut(document, "\n## ")
	if !found {
		t.Fatal("API.md has no section about the status")
	}
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
