package warehouse

import (
	"io/fs"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// TestFilesAreSQL: an editor of SQL can open each file of sql/ as it stands.
func TestFilesAreSQL(t *testing.T) {
	t.Parallel()
	w := open(t)
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		body, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var formatted string
		if err := w.conn.QueryRow(t.Context(), "SELECT formatQuery({body:String})", clickhouse.Named("body", string(body))).Scan(&formatted); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlaceholders: what stands after a placeholder is an example, and goes with it.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a /*$x*/word, b":               "a 1, b",
		"a /*$x*/'some text' b":         "a 1 b",
		"(/*$x{*/SELECT (1)\n, 2/*}*/)": "(1)",
		"a/*$x*/\nb":                    "a1\nb",
		"s./*$x*/id = l./*$x*/a.id":     "s.1 = l.1",
		"/* why */ a":                   "/* why */ a",
	} {
		got := placeholder.ReplaceAllStringFunc(text, func(found string) string {
			return parts{"x": "1"}.named(placeholder.FindStringSubmatch(found)[1])
		})
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
