package main

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocumentsChangeMap makes three of the changes that internal/README.md describes on a copy of the tree: a field, a
// stream and a setting. Each is made in as many files as it says, and what is generated follows by its commands.
func TestDocumentsChangeMap(t *testing.T) {
	if os.Getenv(compileVariable) == "" {
		t.Skip("it compiles the program: it runs with " + compileVariable + "=1")
	}
	tree := copyTree(t)
	untouched := fileSums(t, tree)
	edits := []struct{ what, file, after, text string }{
		{"stream", "internal/catalog/streams.go", `Comment: "Last update time upstream"},` + "\n\t\t},\n\t},\n", `	{
		Name: "gift_cards", Path: "/v1/deals/gift-cards", Kind: Snapshot, Paging: CursorPages,
		Comment:  "Gift cards that the service lists now, one row each",
		Schedule: "37 * * * *",
		Fields: []Field{
			{JSON: "id", Column: "id", Type: UUID, Key: true, Comment: "Gift card identifier"},
			{JSON: "title", Column: "title", Type: Text, Comment: "Title of the gift card"},
		},
	},
`},
		{"field", "internal/catalog/streams.go",
			`{JSON: "updatedAt", Column: "updated_at", Type: Time, Version: true, Comment: "Last update time upstream"},` + "\n",
			"\t\t\t" + `{JSON: "campaign", Column: "campaign", Type: Text, Comment: "Campaign of the promotion"},` + "\n"},
		{"setting", "internal/config/config.go", "	// Pprof serves profiles to this machine.\n	Pprof bool\n",
			"\n	// Banner is shown above every page.\n	Banner string\n"},
		{"setting", "internal/config/keys_daemon.go", "func daemonKeys() []key {\n	return []key{\n", `		{
			name: "banner", in: inDaemon, standard: ` + "`\"\"`" + `,
			value: checked("a text", func(v *values) *string { return &v.daemon.Banner }, checkPath),
			doc:   "A text above every page.",
		},
`},
	}
	for _, e := range edits {
		path := filepath.Join(tree, filepath.FromSlash(e.file))
		text, err := os.ReadFile(path)
		noError(t, err)
		before, after, found := strings.Cut(string(text), e.after)
		if !found {
			t.Fatalf("%s: the place for a %s was not found", e.file, e.what)
		}
		noError(t, os.WriteFile(path, []byte(before+e.after+e.text+after), 0o600))
	}
	goes(t, tree, "build", "-o", os.DevNull, "./cmd/dealhouse")
	for _, update := range [][]string{
		{"./internal/catalog", "-run", "TestFieldsAreAppended"},
		{"./internal/config", "-run", "TestExampleFileIsCurrent|TestEverythingWrong"},
		{"./internal/warehouse", "-run", "TestStatements$"},
	} {
		goes(t, tree, slices.Concat([]string{"test", "-count", "1"}, update, []string{"-update"})...)
	}
	goes(t, tree, "test", "./internal/catalog", "./internal/decode", "-count", "1")
	goes(t, tree, "test", "./internal/config", "./internal/warehouse", "-count", "1", "-run", "TestExampleFileIsCurrent|TestStatements$|TestEveryTextIsNamed")
	var byHand, generated []string
	for file, sum := range fileSums(t, tree) {
		edited := slices.ContainsFunc(edits, func(e struct{ what, file, after, text string }) bool { return e.file == file })
		switch {
		case sum == untouched[file]:
		case edited:
			byHand = append(byHand, file)
		default:
			generated = append(generated, file)
		}
	}
	slices.Sort(generated)
	if len(byHand) != 3 || !slices.Contains(generated, "config.example.toml") ||
		!slices.Contains(generated, "internal/warehouse/testdata/promotions.sql") {
		t.Errorf("changed by hand: %q; by commands: %q", byHand, generated)
	}
	for _, file := range generated {
		if strings.HasSuffix(file, ".go") {
			t.Errorf("%s is code, and was made by a command", file)
		}
	}
}

// copyTree copies what belongs to the project.
func copyTree(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	noError(t, err)
	to := t.TempDir()
	noError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" || name == "dist" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	}))
	return to
}

// fileSums returns a hash of each file.
func fileSums(t *testing.T, tree string) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	noError(t, filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(tree, path)
		all[filepath.ToSlash(name)] = sha256.Sum256(text)
		return err
	}))
	return all
}

// goes runs go in a tree. Packages that are the same in both trees are compiled once.
func goes(t *testing.T, tree string, args ...string) {
	t.Helper()
	args = slices.Insert(args, 1, "-trimpath")
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = tree
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
