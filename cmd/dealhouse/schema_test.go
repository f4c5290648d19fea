//go:build !noengine

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

const dictionary = repository + "/schema/DICTIONARY.md"

// TestSchema compares what a new warehouse says about itself with the copy in the repository.
func TestSchema(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.call(t, "schema").want(t, 2, "there is no warehouse")
	b.migrated(t)
	defer hold(t, b.dir)()
	got := b.call(t, "schema", "--output", "markdown")
	got.want(t, 0)
	if *update {
		if err := os.WriteFile(filepath.FromSlash(dictionary), []byte(got.out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(filepath.FromSlash(dictionary))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(file), got.out); d != "" {
		t.Errorf("schema/DICTIONARY.md is not what the warehouse says: run go generate ./...\n%s", d)
	}

	got = b.call(t, "schema", "transactions", "deals_active", "--output", "json")
	got.want(t, 0)
	var views []warehouse.View
	if err := json.Unmarshal([]byte(got.out), &views); err != nil {
		t.Fatal(err)
	}
	if len(views) != 2 || views[0].Name != "deals_active" || len(views[0].Columns) < 10 ||
		!strings.Contains(views[0].Meaning, "parameters: at DateTime64(3, 'UTC')") {
		t.Errorf("%+v", views)
	}
	b.call(t, "schema", "payouts").shows(t, "total_gmv", "API: totalGmv", "NULL", "never")
	got = b.call(t, "schema", "transaction")
	got.want(t, 2, `no view "transaction"`, "transactions_enriched")
	if got.out != "" {
		t.Errorf("a result was printed: %s", got.out)
	}
}
