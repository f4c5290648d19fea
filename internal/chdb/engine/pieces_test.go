package engine

import "testing"

// TestProgressBeforeColumns: in a slow query, any piece may begin with lines that say how far it is.
func TestProgressBeforeColumns(t *testing.T) {
	t.Parallel()
	const progress, meta = `{"progress":{"read_rows":"4"}}` + "\n", `{"meta":[{"name":"n","type":"UInt64"}]}` + "\n"
	row := func(n string) string { return `{"row":{"n":"` + n + `"}}` + "\n" }
	for _, pieces := range [][]string{
		{meta + row("1"), meta + row("2")},
		{progress + meta + row("1"), meta + row("2")},
		{meta + row("1"), progress + progress + meta + row("2")},
		{progress, meta + row("1"), progress, meta + row("2")},
	} {
		a, got := assembly{layout: *layoutOf("JSONEachRowWithProgress")}, ""
		for _, piece := range pieces {
			part, err := a.add([]byte(piece))
			if err != nil {
				t.Errorf("%q: %v", piece, err)
			}
			got += string(part)
		}
		if want := meta + row("1") + row("2"); got+string(a.rest()) != want {
			t.Errorf("%q: %q, want %q", pieces, got, want)
		}
	}
}
