package warehouse

import (
	"cmp"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/schema"
)

// TestEveryStatementSent makes the package do all that it can. All that it sends must be in the golden files: by the
// names of the functions that render a statement, else by the name of the function that sends it.
func TestEveryStatementSent(t *testing.T) {
	if !*update {
		enginetest.OnlyWideWithoutRace(t) // the statements of whole streams are compared in any case
	}
	t.Parallel()
	rendered := map[string]bool{}
	for _, s := range slices.Concat(ofAll(), ofQueries()) {
		rendered[shape(s.text)] = true
	}
	for _, s := range catalog.All() {
		for _, x := range ofStream(dialect{}, s) {
			rendered[shape(x.text)] = true
		}
	}
	for _, text := range schemaTexts(t) {
		for _, s := range splitStatements(text) {
			rendered[shape(s)] = true
		}
	}
	var others []statement
	for _, s := range everything(t) {
		if key := shape(s.text); !rendered[key] {
			rendered[key], others = true, append(others, statement{s.name, constant(s.text)})
		}
	}
	slices.SortFunc(others, func(a, b statement) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(shape(a.text), shape(b.text)))
	})
	golden(t, "others", "What is sent, of all streams, that no other file has: by functions that write it where they send it,\n"+
		"-- and by those of the other files with other parameters.", others)
	parse(t, others)
}

// schemaTexts returns the files of the schema: they are golden files of their own.
func schemaTexts(t *testing.T) []string {
	t.Helper()
	views, err := schema.Views()
	must(t, err)
	names, err := filepath.Glob("../../schema/*.sql")
	must(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		must(t, err)
		views = append(views, string(text))
	}
	return views
}

// statementText matches the beginning of a statement, or of a query in a statement.
var statementText = regexp.MustCompile(`^[\s(]*(SELECT|INSERT INTO|ALTER TABLE|CREATE|DROP|OPTIMIZE|WITH|TRUNCATE|RENAME|EXCHANGE|` +
	`GRANT|REVOKE|CHECK GRANT|BACKUP|RESTORE|ATTACH|DETACH|SYSTEM|DELETE FROM|KILL|EXPLAIN)\s`)

// within are functions whose text is a part of statements that are named above, or that Migrate sends.
var within = []string{
	"createLocal", "grantsOf", "grantsOnTables", "createTable", "createViewAs", "createStagingTable", "currentRows",
	"stagedRows", "unpacked", "createDatabase",
	"createTableOf", "copyTable", "dropDelta", "createDelta", "createUnion", "createPublic", "unwanted", "create",
	"changedSince", "changedBefore", "irregular", "irregularMember", "sumsOf", "countPayoutMoves",
	"payoutSumsTable", "unfolded", "unsettledThreeWay", "renameStaging", "exchangeTables", "replicasOfShard",
}

// TestEveryTextIsNamed finds the functions and constants of the package that have the text of a statement. Each must be
// rendered for a golden file, or have been seen sending.
func TestEveryTextIsNamed(t *testing.T) {
	t.Parallel()
	var known []byte
	for _, file := range []string{"golden_test.go", "golden_queries_test.go", "dialect_test.go"} {
		text, err := os.ReadFile(file)
		must(t, err)
		known = append(known, text...)
	}
	others, err := os.ReadFile("testdata/others.sql")
	must(t, err)
	senders := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^-- (?:\w+\.)?(\w+)$`).FindAllSubmatch(others, -1) {
		senders[string(m[1])] = true
	}
	files, err := filepath.Glob("*.go")
	must(t, err)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		must(t, err)
		for name := range namesWithStatements(parsed) {
			found++
			if !senders[name] && !slices.Contains(within, name) && !regexp.MustCompile(`\b`+name+`\b`).Match(known) {
				t.Errorf("%s: no golden file has the statement of %s", file, name)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d statements were found in the package: its source was not understood", found)
	}
}

// namesWithStatements returns the functions, constants and variables of a file whose text begins as a statement does.
func namesWithStatements(file *ast.File) map[string]bool {
	names := map[string]bool{}
	look := func(name string, in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				names[name] = names[name] || n.Kind == gotoken.STRING && err == nil && statementText.MatchString(text)
			case *ast.Ident:
				names[name] = names[name] || n.Name == "sqlFile" && name != "sqlFile" // a file is a statement
			}
			return true
		})
		if !names[name] {
			delete(names, name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			look(d.Name.Name, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					look(v.Names[0].Name, v)
				}
			}
		}
	}
	return names
}

// TestEveryDefinitionIsRendered checks that every table and view is made and changed through the dialect. It uses one
// that leaves marks, and each such statement must have them.
func TestEveryDefinitionIsRendered(t *testing.T) {
	t.Parallel()
	marked := dialect{onCluster: " ON CLUSTER marked", replicated: "Replicated", localDatabase: "local."}
	files, err := numberedMigrations(marked)
	must(t, err)
	streams, err := wantedStreams(marked)
	must(t, err)
	missing, err := missingColumns(marked, map[string]map[string]string{"products_latest": {"account": "LowCardinality(String)"}, "products_staging": {"run_id": "UUID"}})
	must(t, err)
	statements := slices.Concat(missing, streams.statements)
	for _, f := range files {
		statements = append(statements, f.statements...)
	}
	for _, s := range statements {
		if !strings.HasPrefix(s, "INSERT INTO ") && !strings.Contains(firstLine(s), " ON CLUSTER marked") {
			t.Errorf("not rendered: %s", firstLine(s))
		}
		local := strings.Contains(firstLine(s), "_staging")
		if replicated := strings.Contains(s, "ENGINE = Replicated"); strings.Contains(s, "\nENGINE = ") &&
			replicated == local {
			t.Errorf("the wrong engine: %s", s)
		}
	}
	s, err := catalog.Find("products")
	must(t, err)
	for _, x := range ofStream(marked, s) {
		for _, table := range []string{"products_changes_", "products_delta_", "product_prices_delta_",
			"product_prices_hashes_delta_"} {
			if strings.Count(x.text, table) != strings.Count(x.text, "local."+table)+strings.Count(x.text,
				"'"+table) { // as a name, or as a value
				t.Errorf("%s is not in the database of what is only there for a run: %s", table, x.text)
			}
		}
	}
	if len(statements) < 100 {
		t.Errorf("%d statements make and change tables: too few", len(statements))
	}
}
