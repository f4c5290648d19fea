//go:build !noengine

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// contracts are the forms of the contract that the repository has copies of.
var contracts = map[string]string{"dbt": repository + "/schema/contracts/sources.yml",
	"odcs": repository + "/schema/contracts/dealhouse.odcs.yaml"}

// TestSchemaContracts compares the contracts of a new warehouse with the copies in the repository, and asks the
// warehouse all that they promise, in the words of the tools that read them (contract-1).
func TestSchemaContracts(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	nobody := b.write(t, "[warehouse]\ndsn = \"embedded:"+b.dir+"\"\n")
	call(t, nil, "schema", "--output", "odcs", "--config", nobody).shows(t, "apiVersion: v3.1.0")
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: "embedded:" + b.dir, Database: "dealhouse"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	written := func(path string, env []string) map[string]string {
		cfg, _, err := config.Read(config.Source{Path: path, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		c, err := newContract(cfg, views, time.Now())
		var dbt, odcs strings.Builder
		if err := errors.Join(err, c.WriteDBT(&dbt), c.WriteODCS(&odcs)); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"dbt": dbt.String(), "odcs": odcs.String()}
	}
	for form, text := range written(nobody, nil) {
		path := filepath.FromSlash(contracts[form])
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(file), text); d != "" {
			t.Errorf("%s is not what the warehouse says: run go generate ./...\n%s", path, d)
		}
	}

	stream, begun := catalog.Transactions().Name, time.Now()
	for _, run := range []struct {
		account, outcome string
		age              time.Duration
	}{{"acme", warehouse.OutcomeSuccess, 3 * time.Minute}, {"acme", warehouse.OutcomeFailed, 0},
		{"globex", warehouse.OutcomeSuccess, 20 * time.Minute}, {"left", warehouse.OutcomeSuccess, 1000 * time.Hour}} {
		at := time.Now().Add(-run.age)
		err := w.SaveRun(t.Context(), warehouse.RunRecord{
			Account: run.account, Stream: stream, RunID: uuid.New(), Mode: warehouse.ModeFull, StartedAt: at, FinishedAt: at,
			Outcome: run.outcome,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p := promises{t: t, w: w, begun: begun}
	configured := written(b.config, b.env)
	p.askAsDBT(configured["dbt"], stream)
	p.askAsODCS(configured["odcs"], stream)
}

// promises asks a warehouse what a contract promises.
type promises struct {
	t     *testing.T
	w     *warehouse.Warehouse
	begun time.Time // before the runs were saved
}

// age is the age that dbt computes of a query for freshness: this is its macro collect_freshness_custom_sql.
func (p promises) age(query string) time.Duration {
	p.t.Helper()
	var loaded, snapshot time.Time
	p.one("with source_query as (\n"+query+
		"\n) select (select * from source_query) as max_loaded_at, now() as snapshotted_at", &loaded, &snapshot)
	return snapshot.Sub(loaded)
}

// one reads the only row of a query; none is read where there is nothing to put it in.
func (p promises) one(query string, into ...any) (rows int) {
	p.t.Helper()
	result, err := p.w.ReadOnly().Query(p.t.Context(), query)
	if err != nil {
		p.t.Fatalf("%s\n%v", query, err)
	}
	defer result.Close()
	for result.Next() {
		rows++
		if into != nil {
			if err := result.Scan(into...); err != nil {
				p.t.Fatalf("%s\n%v", query, err)
			}
		}
	}
	if err := result.Err(); err != nil {
		p.t.Fatalf("%s\n%v", query, err)
	}
	return rows
}

func (p promises) askAsDBT(text, loaded string) {
	var file struct {
		Sources []struct {
			Schema string
			Tables []struct {
				Name   string
				Config struct {
					LoadedAt string `yaml:"loaded_at_query"`
				}
				Tests []struct {
					Unique struct {
						Arguments struct {
							Column string `yaml:"column_name"`
						}
					}
				} `yaml:"data_tests"`
				Columns []struct {
					Name  string
					Tests []string `yaml:"data_tests"`
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		p.t.Fatal(err)
	}
	fresh, unique := 0, 0
	for _, table := range file.Sources[0].Tables {
		from := file.Sources[0].Schema + "." + table.Name
		if query := table.Config.LoadedAt; query != "" {
			fresh++
			age, least, most := p.age(query), 365*24*time.Hour, 100*365*24*time.Hour // what was never loaded is as old as the epoch
			if table.Name == loaded {
				// globex is behind most, and left is no longer configured.
				least, most = 20*time.Minute-time.Second, 20*time.Minute+time.Second+time.Since(p.begun)
			}
			if age < least || age > most {
				p.t.Errorf("%s is %s old", table.Name, age)
			}
		}
		for _, test := range table.Tests {
			unique++
			column := test.Unique.Arguments.Column
			if rows := p.one("select " + column + " as unique_field, count(*) as n_records from " + from + " where " + column +
				" is not null group by " + column + " having count(*) > 1"); rows != 0 {
				p.t.Errorf("%s has keys twice", table.Name)
			}
		}
		for _, column := range table.Columns {
			for range column.Tests {
				p.one("select " + column.Name + " from " + from + " where " + column.Name + " is null")
			}
		}
	}
	if fresh != len(catalog.All()) || unique < fresh+2 {
		p.t.Errorf("%d streams have a freshness and %d a key", fresh, unique)
	}
}

func (p promises) askAsODCS(text, loaded string) {
	var file struct {
		Schema []struct {
			Name    string
			Quality []struct{ Name, Query string }
		}
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		p.t.Fatal(err)
	}
	broken := map[string]bool{}
	for _, object := range file.Schema {
		for _, rule := range object.Quality {
			var found any = new(uint8)
			if strings.Contains(rule.Query, "uniqExact") {
				found = new(int64)
			}
			p.one(rule.Query, found)
			switch found := found.(type) {
			case *uint8:
				broken[object.Name] = *found != 0
			case *int64:
				if *found != 0 {
					p.t.Errorf("%s has %d keys twice", object.Name, *found)
				}
			}
		}
	}
	if len(broken) != len(catalog.All()) || !broken[loaded] {
		p.t.Errorf("late are: %v", broken)
	}
}
