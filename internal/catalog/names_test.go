package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNamesStandHereAlone walks the program: what depends on the name of a stream is a fact about the stream,
// and belongs in the catalog. The simulator has its own description; tests, examples and headings may name what
// they are about.
func TestNamesStandHereAlone(t *testing.T) {
	t.Parallel()
	files := map[string]int{}
	for _, root := range []string{"..", filepath.Join("..", "..", "cmd")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"apisim", "dealsim", "catalog", "testdata"}, d.Name()):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files[root]++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, at := range namedStreams(file) {
				t.Errorf("%s has the name of a stream: ask the catalog instead", set.Position(at))
			}
			return nil
		})
		if err != nil || files[root] == 0 {
			t.Fatalf("%d files read in %s: %v", files[root], root, err)
		}
	}
}

// TestNamesAreFound checks that test with code that has names and code that has none.
func TestNamesAreFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"func f(s string) bool { return s == `coupons` }":                            1,
		"var s = `transactions_decided`":                                             1,
		"var s = `SELECT 1 FROM transactions`":                                       1,
		"var s = `SELECT 1\nFROM\n  payouts_versions AS p`":                          1,
		"var s = `LEFT JOIN products_latest USING (id)`":                             1,
		"var s = `INSERT INTO coupons_keys VALUES`":                                  1,
		"var s = `CREATE TABLE IF NOT EXISTS transactions_decided (`":                1,
		"var s = `WHERE stream = 'transactions' AND account = ''`":                   1,
		"var s = `SELECT transactions.id FROM $from AS transactions`":                0,
		"var s = `SELECT payouts FROM settlements`":                                  0,
		"var s = `FROM transactions_by_passback_uid`":                                0,
		"var s = `reading the transactions of an account`":                           0,
		"const queryExample = `dealhouse query \"SELECT 1 FROM products\"`":          0,
		"var c = []term.Column{{Name: `payouts`}, term.CountColumn(`transactions`)}": 0,
		"var c = term.Column{Name: `payouts`}":                                       0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "code.go", "package p\n"+code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		if got := len(namedStreams(file)); got != want {
			t.Errorf("%s: %d names are found, want %d", code, got, want)
		}
	}
}

// A stream is named by a string that is its name or that of one of its tables, and by a statement that names it as a
// table or as a value. Columns and words may have the name of a stream.
var (
	names      = `(?:` + strings.Join(Names(), "|") + `)`
	tables     = names + `(?:_latest|_versions|_decided|_keys)?`
	nameAlone  = regexp.MustCompile(`^` + tables + `$`)
	nameInText = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|TABLE|EXISTS)\s+` + tables + `\b|'` + names + `'`)
)

// namedStreams returns the strings of a file that name a stream.
func namedStreams(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			return !strings.HasSuffix(n.Names[0].Name, "Example") && !strings.HasSuffix(n.Names[0].Name, "Long")
		case *ast.CallExpr:
			return !ofOutput(n.Fun)
		case *ast.CompositeLit:
			made := n.Type
			if list, ok := made.(*ast.ArrayType); ok {
				made = list.Elt
			}
			return !ofOutput(made)
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && (nameAlone.MatchString(text) || nameInText.MatchString(text)) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// ofOutput reports a type or a function that makes the heading of a column.
func ofOutput(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "term" && (s.Sel.Name == "Column" || s.Sel.Name == "CountColumn")
}
