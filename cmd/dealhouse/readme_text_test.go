package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dealhouse/internal/config"
)

const repository = "../.."

// document is a text for people, by its path in the repository.
type document struct {
	path, text string
	blocks     []block
}

// block is one fenced block of a document. A mark is the comment on the line before it, which no page shows: why the
// block is not run, or where.
type block struct{ language, text, mark string }

var fence = regexp.MustCompile("(?ms)(?:^ *<!-- ([^\n]+) -->\n)?^( *)```(\\w*)\n(.*?)^ *```$")

func readDocument(t *testing.T, path string) document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	d := document{path: path, text: string(text)}
	for _, m := range fence.FindAllStringSubmatch(d.text, -1) {
		lines := strings.TrimSpace(strings.ReplaceAll("\n"+m[4], "\n"+m[2], "\n"))
		d.blocks = append(d.blocks, block{language: m[3], text: lines, mark: m[1]})
	}
	return d
}

// readDocuments returns all documents of the repository.
func readDocuments(t *testing.T) []document {
	t.Helper()
	var all []document
	for _, folder := range []string{"README.md", "deploy", "internal", "schema", "cmd"} {
		err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			path, err = filepath.Rel(repository, path)
			all = append(all, readDocument(t, filepath.ToSlash(path)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 9 {
		t.Fatalf("only %d documents were found", len(all))
	}
	return all
}

// TestEveryBlockIsAccountedFor: a block is run by TestDocuments, or says why not.
func TestEveryBlockIsAccountedFor(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(repository, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "reconcile.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range readDocuments(t) {
		if fences := strings.Count(d.text, "```"); fences != 2*len(d.blocks) {
			t.Errorf("%s: %d fences are not %d blocks", d.path, fences, len(d.blocks))
		}
		for _, b := range d.blocks {
			kind, reason, _ := strings.Cut(b.mark, ":")
			switch {
			case kind == "run by .ci/run":
				if !strings.Contains(string(ci), "\n"+b.text+"\n") && !strings.Contains(string(ci), "\n"+b.text+" ") {
					t.Errorf("%s: .ci/run does not run %q", d.path, b.text)
				}
			case kind == "not run", kind == "compiles":
				if len(reason) < len(" of no use") || b.language != "sh" && b.language != "sql" {
					t.Errorf("%s: %q is not run, and does not say why", d.path, b.text)
				}
			case b.mark != "":
				t.Errorf("%s: the mark %q says nothing to the tests", d.path, b.mark)
			case b.language == "sh", b.language == "sql":
			case b.language == "toml":
				read := func(string) ([]byte, fs.FileMode, error) { return []byte(b.text), 0o600, nil }
				if _, _, err := config.Read(config.Source{ReadFile: read}); err != nil {
					t.Errorf("%s: %s in\n%s", d.path, err, b.text)
				}
			case b.language == "text" && d.path == "schema/PAYOUTS.md": // a line of the report that a test compares
				for line := range strings.Lines(b.text) {
					if !strings.Contains(string(golden), strings.TrimSpace(line)) {
						t.Errorf("%s: no report has the line %q", d.path, line)
					}
				}
			case b.language == "yaml" && d.path == "deploy/README.md": // values of the chart: TestValuesOfTheReadme in deploy/test
			case b.language == "text" && d.path == "README.md": // what the demo prints: TestDemo
			case b.language == "json" && d.path == "schema/README.md": // TestMCPConfiguration
			default:
				t.Errorf("%s: nothing looks at this %q block:\n%s", d.path, b.language, b.text)
			}
		}
	}
	if !strings.Contains(string(ci), compileVariable+"=1") {
		t.Errorf(".ci/run does not set %s", compileVariable)
	}
}

// compileVariable lets TestDocuments run the commands that compile the program, which take minutes: .ci/run sets it.
const compileVariable = "DOCUMENTS_COMPILE"

// TestReadmeIsShort: a tired engineer reads it in five minutes.
func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(readDocument(t, "README.md").text, "\n"); lines > 200 {
		t.Errorf("the README has %d lines, and 200 are enough", lines)
	}
}

// TestDocumentsNameTests holds the promises against the tests that they name.
func TestDocumentsNameTests(t *testing.T) {
	var sources strings.Builder
	err := filepath.WalkDir(repository, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		sources.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, d := range readDocuments(t) {
		for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(d.text, -1) {
			named++
			if !strings.Contains(sources.String(), "func "+name+"(") {
				t.Errorf("%s names %s, which is not there", d.path, name)
			}
		}
	}
	if named < 50 {
		t.Fatalf("only %d tests are named", named)
	}
}

var (
	heading  = regexp.MustCompile(`(?m)^#{1,4} (.+)$`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the places in a document that a link can name, as the pages of repositories make them.
func (d document) anchors() []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(d.text, -1) {
		all = append(all, strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// TestLinks: what a document links to is there, to the very section.
func TestLinks(t *testing.T) {
	documents := readDocuments(t)
	links := 0
	for _, d := range documents {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := d.path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(d.path), file))
			}
			if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
				t.Errorf("%s links to %s: %v", d.path, m[1], err)
			}
			if anchor == "" {
				continue
			}
			i := slices.IndexFunc(documents, func(other document) bool { return other.path == target })
			if i < 0 || !slices.Contains(documents[i].anchors(), anchor) {
				t.Errorf("%s links to %s, and there is no such section", d.path, m[1])
			}
		}
	}
	if links < 40 {
		t.Errorf("only %d links were found", links)
	}
}

// TestCommandsExist: a command that a sentence or a table names is one of the program, with these flags.
func TestCommandsExist(t *testing.T) {
	tried := map[string]bool{}
	for _, d := range readDocuments(t) {
		for _, m := range regexp.MustCompile("`(?:[A-Z_]+=\\S+ )?dealhouse ([a-z][^`]*)`").FindAllStringSubmatch(d.text, -1) {
			if tried[m[1]] {
				continue
			}
			tried[m[1]] = true
			words := strings.Fields(strings.NewReplacer("[", "", "]", "", "...", "", `"`, "").Replace(m[1]))
			if slices.Contains(words, "--help") {
				continue
			}
			words = slices.DeleteFunc(words, func(word string) bool { return word == "|" })
			if last := words[len(words)-1]; last == "--run" || last == "--account" {
				words = append(words, "VALUE")
			}
			got := call(t, nil, append(words, "--help")...)
			if got.code != 0 || !strings.Contains(got.out, "\n  dealhouse "+words[0]) {
				t.Errorf("%s: there is no command %q:\n%s", d.path, m[1], got.err)
			}
		}
	}
	if len(tried) < 30 {
		t.Errorf("only %d commands were found", len(tried))
	}
}

// TestFlagsOfTheTable: the flags that the table of commands names are flags of these commands.
func TestFlagsOfTheTable(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `dealhouse ([a-z -]+?)(?: \\[[A-Z.]+\\]| \"SQL\"| --from T --to T| URL)?` \\| (.*) \\|$").FindAllStringSubmatch(readDocument(t, "README.md").text, -1)
	if len(rows) < 15 {
		t.Fatalf("only %d commands are in the table", len(rows))
	}
	listed := map[string]bool{}
	for _, m := range rows {
		command := strings.Fields(m[1])
		listed[command[0]] = true
		got := call(t, nil, append(command, "--help")...)
		for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(m[2], -1) {
			if flag[1] != "--help" && !strings.Contains(got.out, flag[1]+" ") {
				t.Errorf("dealhouse %s has no %s", m[1], flag[1])
			}
		}
	}
	help := call(t, nil, "--help").out
	_, commands, _ := strings.Cut(help, "Available Commands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	for line := range strings.Lines(commands) {
		if name := strings.Fields(line)[0]; !listed[name] && name != "help" && name != "completion" {
			t.Errorf("the table of commands lacks %s", name)
		}
	}
}

// TestEveryViewIsExplained: the list of views has those of the dictionary, and no others.
func TestEveryViewIsExplained(t *testing.T) {
	list := readDocument(t, "schema/README.md").text
	_, list, _ = strings.Cut(list, "## Views\n")
	list, _, _ = strings.Cut(list, "## Cookbook\n")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(list, -1) {
		for _, m := range regexp.MustCompile("`(\\w+)").FindAllStringSubmatch(row[1], -1) {
			named = append(named, m[1])
		}
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(readDocument(t,
		"schema/DICTIONARY.md").text, -1) {
		want = append(want, m[1])
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("schema/README.md lists\n%v\nand the dictionary\n%v", named, want)
	}
}

// TestRunbookQuotes: what the runbook quotes is what the program says.
func TestRunbookQuotes(t *testing.T) {
	var sources strings.Builder
	err := filepath.WalkDir(repository, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		sources.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(readDocument(t, "deploy/RUNBOOK.md").text, "## By what you see\n")
	table, _, _ = strings.Cut(table, "\n## ")
	quotes := 0
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(row[1], -1) {
			quotes++
			if quote := strings.TrimSuffix(m[1], " ..."); !strings.Contains(sources.String(), quote) {
				t.Errorf("nothing says %q", quote)
			}
		}
	}
	if quotes < 10 {
		t.Errorf("only %d messages are quoted", quotes)
	}
}

// TestVariablesExist: a variable that a document names is one of the configuration.
func TestVariablesExist(t *testing.T) {
	others := []string{"DEALHOUSE_CONFIG", "DEALHOUSE_CHDB_LIBRARY", "DEALHOUSE_BASE_URL",
		"DEALHOUSE_API_KEY"} // no keys of a file
	names := map[string]bool{}
	for _, d := range readDocuments(t) {
		for _, name := range regexp.MustCompile(`\bDEALHOUSE_[A-Z_]*[A-Z]\b`).FindAllString(d.text, -1) {
			names[name] = names[name] || !slices.Contains(others, name)
		}
	}
	tried := 0
	for name, key := range names {
		if !key {
			continue
		}
		tried++
		_, _, err := config.Read(config.Source{Path: filepath.Join(repository, "config.example.toml"),
			Env: []string{"DEALS_API_KEY=secret", name + "=1"}})
		if err != nil && strings.Contains(err.Error(), name+": is unknown") {
			t.Errorf("a document names %s: %v", name, err)
		}
	}
	if tried < 3 {
		t.Errorf("only %d variables were found", tried)
	}
}

// TestWidth: lines of comments in Go, and of prose in the README, have at most 120 characters. The addresses of links
// are not counted, and neither are tables, images and what is quoted or to be typed.
func TestWidth(t *testing.T) {
	const most = 120
	err := filepath.WalkDir(repository, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			comment := strings.TrimSpace(line)
			if strings.HasPrefix(comment, "//") && !strings.HasPrefix(comment, "//go:") &&
				utf8.RuneCountInString(strings.TrimRight(line, "\n")) > most {
				t.Errorf("%s:%d: the comment has more than %d characters", path, number, most)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	target := regexp.MustCompile(`\]\([^)]*\)`)
	prose := fence.ReplaceAllString(readDocument(t, "README.md").text, "")
	for line := range strings.Lines(prose) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "![") && !strings.HasPrefix(line, ">") &&
			utf8.RuneCountInString(target.ReplaceAllString(line, "]")) > most {
			t.Errorf("README.md: more than %d characters: %s", most, line)
		}
	}
}
