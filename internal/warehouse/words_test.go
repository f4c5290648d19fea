package warehouse

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/schema"
)

// The words of an enumeration are in one table. SQL files have to repeat them; these tests compare the two.

// vocabulary returns the words that the SQL files may compare a column with.
func vocabulary() map[string][]string {
	states := slices.Concat(TransactionStates(), NotificationStates(), ThreeWayStates())
	for _, s := range RejectStates() {
		states = append(states, string(s))
	}
	return map[string][]string{
		"mode":    modesThat(func(mode) bool { return true }),
		"outcome": outcomesThat(func(outcome) bool { return true }),
		"status":  catalog.Statuses(),
		"state":   states,
		"name": {stateWatermark, stateCheckpoint, stateIntent, stateLease, stateDerived, StateOrigin,
			StateScope, StateClock}, // of a state of a stream
	}
}

// groups returns the lists of words that the SQL files may have in an IN.
func groups() map[string][][]string {
	return map[string][][]string{
		"mode": {
			modesThat(func(m mode) bool { return m.whole }), modesThat(func(m mode) bool { return m.window }),
			modesThat(func(m mode) bool { return !m.inStep }), modesThat(func(m mode) bool { return !m.fresh }),
			modesThat(func(m mode) bool { return m.inStep && !m.window }),
		},
		"outcome": {outcomesThat(func(o outcome) bool { return o.published }),
			outcomesThat(func(o outcome) bool { return o.fault })},
		"status": {catalog.Statuses()},
		"state":  {{TransactionSame, TransactionChanged}, {TransactionMoved, TransactionGone}},
	}
}

var (
	comparison = regexp.MustCompile(`\b(?:\w+_)?(mode|outcome|status|state|name)(?:'\))? (=|!=|IN|NOT IN) \(?((?:'[^']*'(?:, )?)+)`)
	literal    = regexp.MustCompile(`'([^']*)'`)
	notSQL     = regexp.MustCompile(`--[^\n]*|COMMENT '(?:[^'\\]|\\.|'')*'`)
)

// strangers lists the words of a statement that are in no table.
func strangers(statement string) (found []string, seen int) {
	for _, m := range comparison.FindAllStringSubmatch(notSQL.ReplaceAllString(statement, ""), -1) {
		column := m[1]
		if column == "name" && !strings.Contains(statement, "sync_state") {
			continue // of a table, a column or a setting
		}
		var list []string
		for _, w := range literal.FindAllStringSubmatch(m[3], -1) {
			if w[1] != "" { // "": not decided, or not known
				list = append(list, w[1])
			}
		}
		seen += len(list)
		for _, w := range list {
			if !slices.Contains(vocabulary()[column], w) {
				found = append(found, column+" "+w)
			}
		}
		if strings.HasSuffix(m[2], "IN") && !slices.ContainsFunc(groups()[column],
			func(g []string) bool { return sameWords(g, list) }) {
			found = append(found, column+" "+m[2]+" "+strings.Join(list, ", "))
		}
	}
	return found, seen
}

func sameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// TestWordsOfTheSchema compares the numbered files and the views with the tables of words.
func TestWordsOfTheSchema(t *testing.T) {
	texts, err := schema.Views()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(schema.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schema.Files, path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, text := range texts {
		found, seen := strangers(text)
		total += seen
		for _, word := range found {
			t.Errorf("%s: no table of words has that, in\n%s", word, text)
		}
	}
	if total < 40 {
		t.Errorf("%d words were found: the pattern finds too few", total)
	}
	for _, broken := range []string{
		"SELECT mode = 'sanpshot'", "SELECT outcome IN ('success')", "SELECT mode NOT IN ('retry', 'backfill')",
		"SELECT tupleElement(last, 'status') = 'REJECTED'",
		"SELECT state IN ('moved', 'changed')", "SELECT value FROM sync_state WHERE name = 'watermarks'",
	} {
		if found, _ := strangers(broken); len(found) == 0 {
			t.Errorf("not found: %s", broken)
		}
	}
	if found, seen := strangers("-- mode = 'x'\nSELECT '' COMMENT 'mode = y', mode = 'walk', s.state = ''"); len(found) != 0 || seen != 1 {
		t.Errorf("found %q, saw %d", found, seen)
	}
}

// TestStatesOfTheViews compares the words that the views make with the tables.
func TestStatesOfTheViews(t *testing.T) {
	var rejects []string
	for _, s := range RejectStates() {
		rejects = append(rejects, string(s))
	}
	rejected, err := schema.View("10_rejected_records.sql")
	if err != nil {
		t.Fatal(err)
	}
	settled, err := schema.View("35_settlements.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		of, text string
		want     []string
	}{
		{"rejected_records", rejected, slices.DeleteFunc(rejects,
			func(s string) bool { return s == string(RejectLoaded) })}, // the view passes it on as a retry set it
		{"payout_transactions", memberState("status", "order_value", "cashback", "n", "payout") + " AS state,",
			TransactionStates()},
		{"payout_three_way", settled, ThreeWayStates()},
	} {
		if got := made(test.text, "state"); !sameWords(got, test.want) {
			t.Errorf("%s has %q, want %q", test.of, got, test.want)
		}
	}
	text, err := schema.View("20_payout_2_reconciliation.sql")
	if err != nil {
		t.Fatal(err)
	}
	var stakes []string
	for _, m := range regexp.MustCompile(`(?m)^    at_stake_(\w+) Decimal`).FindAllStringSubmatch(text, -1) {
		stakes = append(stakes, m[1])
	}
	if !slices.Equal(stakes, StakeStates()) {
		t.Errorf("payout_reconciliation has at_stake_ of %q, want %q", stakes, StakeStates())
	}
}

// made lists the words that the multiIf of a column returns.
func made(text, column string) (words []string) {
	before, _, _ := strings.Cut(text, "') AS "+column+",")
	choice := before[strings.LastIndex(before, "multiIf("):] + "'"
	choice = regexp.MustCompile(`tupleElement\([^()]*\)`).ReplaceAllString(choice, "")
	for _, m := range regexp.MustCompile(`,\s*'([a-z_ ]+)'`).FindAllStringSubmatch(choice, -1) {
		if !slices.Contains(words, m[1]) {
			words = append(words, m[1])
		}
	}
	return words
}

// TestModesOfTheCatalog checks that the kinds of streams are modes, and that each of them keeps its meaning.
func TestModesOfTheCatalog(t *testing.T) {
	for kind, whole := range map[catalog.Kind]bool{catalog.Snapshot: true, catalog.Walk: true,
		catalog.Incremental: false} {
		if !slices.Contains(modesThat(func(mode) bool { return true }), kind.String()) || ReadsWhole(kind.String()) != whole {
			t.Errorf("%s is no mode, or reads the whole list: %v", kind, ReadsWhole(kind.String()))
		}
	}
}

// TestWordsInStatements looks for SQL in Go that contains a word of a table literally, instead of rendering it.
func TestWordsInStatements(t *testing.T) {
	for _, dir := range []string{"..", filepath.Join("..", "..", "cmd")} {
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			for _, found := range statementsWithWords(t, path, string(text)) {
				t.Errorf("%s: render the word from its table", found)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Fatalf("%d files of %s read: %v", files, dir, err)
		}
	}
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files of sql/: %v", len(names), err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, seen := strangers(placeholder.ReplaceAllString(string(text), "x")); seen > 0 {
			t.Errorf("%s has a word of a table: render it from there", name)
		}
	}
	if found := statementsWithWords(t, "broken.go",
		"package p\nvar q = `SELECT 1 WHERE mode != 'walk'`"); len(found) != 1 {
		t.Errorf("found %q", found)
	}
}

func statementsWithWords(t *testing.T, path, text string) (found []string) {
	t.Helper()
	set := gotoken.NewFileSet()
	file, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == gotoken.STRING {
			value, err := strconv.Unquote(l.Value)
			if _, seen := strangers(value); err == nil && seen > 0 {
				found = append(found, set.Position(l.Pos()).String()+" has "+comparison.FindString(value))
			}
		}
		return true
	})
	return found
}
