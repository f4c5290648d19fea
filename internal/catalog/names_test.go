package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNamesStandHereAlone walks the program: what hangs on the name of a stream is a fact of the stream, and belongs
// into the catalog. The simulator has its own description; tests may name what they are about.
func TestNamesStandHereAlone(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "apisim" || d.Name() == "catalog" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range namedStreams(file) {
			t.Errorf("%s has the name of a stream: ask the catalog instead", set.Position(at))
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files read: %v", files, err)
	}
	set := token.NewFileSet()
	broken, err := parser.ParseFile(set, "broken.go", "package p\nfunc f(s string) bool { return s == `coupons` }", 0)
	if err != nil || len(namedStreams(broken)) != 1 {
		t.Errorf("a name is not found: %v", err)
	}
}

// namedStreams are the strings of a file that are the name of a stream.
func namedStreams(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && slices.Contains(Names(), text) {
				found = append(found, literal.Pos())
			}
		}
		return true
	})
	return found
}
