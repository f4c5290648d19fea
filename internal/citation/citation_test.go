// Package citation holds the comments of the repository against what they cite.
package citation

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// comment is a text that may cite something, and where it begins.
type comment struct {
	file string // from the root of the repository
	line int
	text string
}

// repository is what the tests read of it.
type repository struct {
	comments []comment
	packages map[string]bool
	stated   map[string]bool // invariants, as "syncer-3"
	files    map[string]bool // paths from the root, and names
}

// invariant begins a statement in the documentation of a package: "1. " or "- syncer-1: ".
var invariant = regexp.MustCompile(`(?m)^ {0,4}(?:(\d+)\. |- ([a-z]+-\d+): )`)

// read walks the repository.
func read(t *testing.T) *repository {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("this package has moved: %v", err)
	}
	r := &repository{packages: map[string]bool{}, stated: map[string]bool{}, files: map[string]bool{}}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "dist", "node_modules"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		r.files[name], r.files[entry.Name()] = true, true
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Ext(name) == ".go" {
			return r.readGo(name, text)
		}
		r.readText(name, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readGo takes the comments of a Go file, and the invariants that the documentation of its package states.
func (r *repository) readGo(name string, text []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			r.add(name, set.Position(c.Pos()).Line, c.Text)
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	r.packages[file.Name.Name] = true
	r.state(file)
	return nil
}

func (r *repository) state(file *ast.File) {
	if file.Doc == nil {
		return
	}
	for _, match := range invariant.FindAllStringSubmatch(file.Doc.Text(), -1) {
		if match[2] == "" {
			match[2] = file.Name.Name + "-" + match[1]
		}
		r.stated[match[2]] = true
	}
}

// readText takes the comments of other files, by the marks of their languages. All of a document may cite.
func (r *repository) readText(name, text string) {
	mark := "#"
	switch filepath.Ext(name) {
	case ".sql":
		mark = "--"
	case ".md":
		mark = ""
	case "", ".toml", ".yaml", ".yml", ".service", ".conf", ".mod":
	default:
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if _, said, found := strings.Cut(line, mark); found {
			r.add(name, i+1, said)
		}
	}
}

func (r *repository) add(file string, line int, text string) {
	for i, part := range strings.Split(text, "\n") {
		r.comments = append(r.comments, comment{file, line + i, part})
	}
}

// citation is how an invariant is cited, and terms are what looks like it.
var (
	citation = regexp.MustCompile(`(?:^|[^-\w./])([a-z]{2,})-(\d+)\b`)
	terms    = []string{"utf", "sha", "iso", "base"}
)

// TestInvariants wants each invariant that is cited to be stated in the documentation of its package.
func TestInvariants(t *testing.T) {
	t.Parallel()
	r := read(t)
	cited := 0
	for _, c := range r.comments {
		for _, match := range citation.FindAllStringSubmatch(c.text, -1) {
			name := match[1] + "-" + match[2]
			switch {
			case r.stated[name]:
				cited++
			case r.packages[match[1]]:
				t.Errorf("%s:%d cites %s, which package %s does not state", c.file, c.line, name, match[1])
			case !slices.Contains(terms, match[1]) && filepath.Ext(c.file) == ".go":
				t.Errorf("%s:%d cites %s, and there is no package %s", c.file, c.line, name, match[1])
			}
		}
	}
	if cited < 100 || len(r.stated) < 80 {
		t.Errorf("%d citations of %d invariants were found: they were not understood", cited, len(r.stated))
	}
	for name := range r.stated {
		pkg, number, _ := strings.Cut(name, "-")
		if before := number[:len(number)-1] + string(number[len(number)-1]-1); !strings.HasSuffix(number, "0") &&
			number != "1" && !r.stated[pkg+"-"+before] {
			t.Errorf("package %s states %s and not %s-%s", pkg, name, pkg, before)
		}
	}
}

// outside are ways to cite what a reader of the repository does not have.
var outside = regexp.MustCompile(`(?i)\bfield[- ]facts\b|\binterface documents?\b|\binterface,? \(?sections?\b|\bsections? \d|\b(?:issue|pull request|PR) #?\d`)

// bare is an invariant cited without the name of its package.
var bare = regexp.MustCompile(`(?i)\b(?:invariants?|see) \d+\b`)

// address is a URL; what it leads to need not be a file of the repository.
var address = regexp.MustCompile(`https?://\S+`)

// document is a file of text that is cited by its name.
var document = regexp.MustCompile(`[\w./-]*\w\.(?:md|txt)\b`)

// TestDocuments wants comments to cite no document but those of the repository, and invariants by their names.
func TestDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	r := read(t)
	for _, c := range r.comments {
		if filepath.Ext(c.file) == ".md" { // for readers who may follow a link
			continue
		}
		for _, found := range outside.FindAllString(c.text, -1) {
			t.Errorf("%s:%d cites %q, which is not in the repository: %s", c.file, c.line, found, strings.TrimSpace(c.text))
		}
		for _, found := range bare.FindAllString(c.text, -1) {
			t.Errorf("%s:%d cites %q: write it with the name of its package, as in syncer-3", c.file, c.line, found)
		}
		for _, name := range document.FindAllString(address.ReplaceAllString(c.text, ""), -1) {
			if !r.has(c.file, name) {
				t.Errorf("%s:%d cites %s, which is not in the repository", c.file, c.line, name)
			}
		}
	}
}

// has reports that a document is there, by its path from the root or from the file that cites it, or by its name.
func (r *repository) has(from, name string) bool {
	return r.files[filepath.Clean(name)] || r.files[filepath.Join(filepath.Dir(from), name)]
}

// TestWhatIsFound holds the tests of this package against texts that cite well and badly.
func TestWhatIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"(syncer-3)": "syncer-3", "see chdb-11, chdb-2": "chdb-11 chdb-2", "UTF-8 and n-1": "", "golang-v2": "", "a/b-3": "",
	} {
		var got []string
		for _, match := range citation.FindAllStringSubmatch(text, -1) {
			got = append(got, match[1]+"-"+match[2])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"(interface, section 4, rule 2)": true, "interface sections 2.2": true, "issue 12": true, "issue #3": true,
		"field-facts": true, "from the interface document alone": true,
		"the service's interface": false, "a section of the file": false, "an issue": false,
	} {
		if got := outside.MatchString(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for text, want := range map[string]bool{
		"(Invariants 3 and 4)": true, "between replicas: see 9.": true,
		"its invariants hold": false, "see syncer-3": false, "they see 2nd-hand rows": false,
	} {
		if bare.MatchString(text) != want {
			t.Errorf("%q cites a bare number: %t", text, !want)
		}
	}
	if got := document.FindAllString("(design.md, \"x\") and schema/DICTIONARY.md.",
		-1); fmt.Sprint(got) != "[design.md schema/DICTIONARY.md]" {
		t.Errorf("%q", got)
	}
	if got := len(invariant.FindAllString(" 1. One.\n    More of it.\n10. Ten.\n   - chdb-3: Three.\n", -1)); got != 3 {
		t.Errorf("%d statements", got)
	}
}
