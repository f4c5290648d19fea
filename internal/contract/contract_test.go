package contract_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"dealhouse/internal/catalog"
	"dealhouse/internal/contract"
	"dealhouse/internal/warehouse"
)

// forms are the ways to write a contract, each with the schemas that it must satisfy.
var forms = []struct {
	name, copy string
	write      func(contract.Contract, *bytes.Buffer) error
	schemas    []string
}{
	{"dbt", "sources.yml", func(c contract.Contract, b *bytes.Buffer) error { return c.WriteDBT(b) },
		[]string{"dbt_yml_files-latest.json", "dbt_yml_files-latest-fusion.json"}},
	{"odcs", "dealhouse.odcs.yaml", func(c contract.Contract, b *bytes.Buffer) error { return c.WriteODCS(b) },
		[]string{"odcs-json-schema-v3.1.0.json"}},
}

// example has two accounts with schedules of their own, a server, and texts that YAML would misread.
func example() contract.Contract {
	c := contract.Contract{Database: "deals", Version: 7,
		Server: contract.Server{Host: "warehouse.example.com", Port: 9000}}
	for _, s := range catalog.All() {
		v := warehouse.View{Name: s.Name, Meaning: "Yes: [\"quoted\"] # no comment\nsecond line"}
		for _, column := range []string{"account", s.KeyColumn(), "list", "amount"} {
			types := map[string]string{"list": "Array(LowCardinality(String))", "amount": "Nullable(Decimal(18, 4))"}
			v.Columns = append(v.Columns, warehouse.ViewColumn{Name: column,
				Type: types[column] + strings.Repeat("String", 1-min(len(types[column]), 1)), Meaning: "null", Unit: "EUR"})
		}
		c.Views = append(c.Views, v)
		c.Streams = append(c.Streams, contract.Promise{Stream: s, Accounts: []string{"acme", "globex"},
			Schedules: []string{"7 * * * *", "@every 90m"}, LateAfter: 3*time.Hour + 10*time.Second})
	}
	c.Views = append(c.Views, warehouse.View{Name: "deals_at", Parameters: []string{"at DateTime"}})
	return c
}

// TestOfficialSchemas validates what is written, and the copies in the repository, with the schemas of the programs
// that read them.
func TestOfficialSchemas(t *testing.T) {
	for _, form := range forms {
		var written bytes.Buffer
		if err := form.write(example(), &written); err != nil {
			t.Fatal(err)
		}
		checkedIn, err := os.ReadFile(filepath.FromSlash("../../schema/contracts/" + form.copy))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range form.schemas {
			compiler := jsonschema.NewCompiler()
			compiler.UseRegexpEngine(pattern)
			schema, err := compiler.Compile(filepath.FromSlash("testdata/" + name))
			if err != nil {
				t.Fatal(err)
			}
			for what, text := range map[string][]byte{"example": written.Bytes(), "repository": checkedIn} {
				var document any
				if err := yaml.Unmarshal(text, &document); err != nil {
					t.Fatalf("%s of %s: %v", form.name, what, err)
				}
				if err := schema.Validate(document); err != nil {
					t.Errorf("%s of %s: %v", form.name, what, err)
				}
			}
			if schema.Validate(map[string]any{"sources": []any{map[string]any{"tables": 1}}}) == nil {
				t.Errorf("%s accepts anything", name)
			}
		}
	}
}

// pattern returns a regular expression of a schema. Go does not know two of them, which look ahead. They are for the
// names of metrics and of semantic models, and a contract has neither.
func pattern(text string) (jsonschema.Regexp, error) {
	if strings.HasPrefix(text, "(?!") {
		text = ""
	}
	return regexp.Compile(text)
}

// TestPromises checks the parts that follow from schedules and accounts.
func TestPromises(t *testing.T) {
	c := example()
	c.Streams[0].LateAfter, c.Streams[0].Schedules = 0, nil // only by hand
	for _, form := range forms {
		var b bytes.Buffer
		if err := form.write(c, &b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, want := range map[string][]string{
			"dbt": {
				"count: 181\n              period: minute", "count: 361\n", "not_null", "(account, id)",
				"SELECT if(count() < 2, toDateTime64(0, 3, 'UTC'), min(ifNull(last_success, toDateTime64(0, 3, 'UTC')))) AS loaded_at FROM deals.stream_freshness WHERE stream = '" + c.Streams[1].Stream.Name + "' AND account IN ('acme', 'globex')",
			},
			"odcs": {"host: warehouse.example.com", "port: 9000", "version: 7.0.0", "schedule: '@every 90m'",
				"primaryKeyPosition: 2", "logicalType: number", "database: deals"},
		}[form.name] {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s has no %q:\n%s", form.name, want, text)
			}
		}
		if strings.Contains(text, "stream = '"+c.Streams[0].Stream.Name+"'") || strings.Contains(text, "deals_at") {
			t.Errorf("%s promises what it cannot keep:\n%s", form.name, text)
		}
	}
}
