package catalog

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "append new fields to testdata/order.golden")

const orderFile = "testdata/order.golden"

// TestFieldsAreAppended checks the second half of catalog-3: a field never changes its place.
func TestFieldsAreAppended(t *testing.T) {
	text, err := os.ReadFile(orderFile)
	if err != nil {
		t.Fatal(err)
	}
	now := order(streams)
	for _, problem := range moved(parseOrder(string(text)), now) {
		t.Error(problem)
	}
	switch want := writeOrder(now); {
	case t.Failed(): // a field that moved must be put back, not recorded
	case *update:
		if err := os.WriteFile(orderFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	case want != string(text):
		t.Errorf("%s lacks a new field or stream: run go generate ./...", orderFile)
	}
}

func TestFieldsAreAppendedCanFail(t *testing.T) {
	was := order(deepCopy())
	for what, spoil := range map[string]func(*Stream){
		"a field in front":   func(s *Stream) { s.Fields = slices.Insert(s.Fields, 0, Field{Column: "new"}) },
		"a field in between": func(s *Stream) { s.Fields = slices.Insert(s.Fields, 3, Field{Column: "new"}) },
		"a field gone":       func(s *Stream) { s.Fields = s.Fields[:len(s.Fields)-1] },
		"two that swapped":   func(s *Stream) { s.Fields[1], s.Fields[2] = s.Fields[2], s.Fields[1] },
	} {
		broken := deepCopy()
		spoil(&broken[0])
		if len(moved(was, order(broken))) == 0 {
			t.Errorf("%s: not found", what)
		}
	}
	longer := deepCopy()
	longer[0].Fields = append(longer[0].Fields, Field{Column: "new"})
	longer = append(longer, Stream{Name: "new", Fields: []Field{{Column: "id"}}})
	if found := moved(was, order(longer)); len(found) > 0 {
		t.Errorf("a field and a stream at the end: %q", found)
	}
}

// table is a table of the catalog with its columns in order.
type table struct {
	name    string
	columns []string
}

func order(all []Stream) (tables []table) {
	add := func(name string, fields []Field) {
		x := table{name: name}
		for _, f := range fields {
			x.columns = append(x.columns, f.Column)
		}
		tables = append(tables, x)
	}
	for _, s := range all {
		add(s.Name, s.Fields)
		if s.Child != nil {
			add(s.Child.Table, s.Child.AllFields())
		}
	}
	return tables
}

// moved lists what no longer has the place that it had.
func moved(was, is []table) (found []string) {
	for _, old := range was {
		i := slices.IndexFunc(is, func(x table) bool { return x.name == old.name })
		if i < 0 {
			found = append(found, "catalog-3: "+old.name+" is gone")
			continue
		}
		for j, column := range old.columns {
			if j >= len(is[i].columns) || is[i].columns[j] != column {
				found = append(found, "catalog-3: "+old.name+"."+column+
					" is no longer at its place: append new fields, and leave the others where they are")
				break
			}
		}
	}
	return found
}

func writeOrder(tables []table) string {
	var b strings.Builder
	for _, x := range tables {
		b.WriteString(x.name + ": " + strings.Join(x.columns, " ") + "\n")
	}
	return b.String()
}

func parseOrder(text string) (tables []table) {
	for line := range strings.Lines(text) {
		name, columns, _ := strings.Cut(strings.TrimSpace(line), ": ")
		tables = append(tables, table{name, strings.Fields(columns)})
	}
	return tables
}
