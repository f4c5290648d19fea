package service

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/enginetest"
)

// settings are an environment with an account whose API is not there, and a warehouse that is still to be made.
func settings(dir string) config.Source {
	return config.Source{Env: []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + dir, "DEALHOUSE_BASE_URL=http://127.0.0.1:1",
		"DEALHOUSE_API_KEY=very-secret"}}
}

// of returns the findings of one check.
func of(all []Finding, check string) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !strings.HasPrefix(f.Check, check) })
}

// Each check is made whatever the others find, no folder is created and no secret told (nothing is created by looking,
// one fault hides no other, no secret in a finding).
func TestAll(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	all := NewChecker(CheckOptions{Config: settings(dir)}).All(t.Context())
	for check, verdict := range map[string]string{"configuration": OK, "warehouse": Warn, "API": Failed} {
		found := of(all, check)
		if len(found) == 0 {
			t.Errorf("%s was not checked: %+v", check, all)
		}
		for _, f := range found {
			if verdict == Failed && (f.Verdict != Failed || len(f.Causes) == 0) || verdict == OK && f.Verdict == Failed {
				t.Errorf("%+v, want %s", f, verdict)
			}
			if strings.Contains(f.Detail, "very-secret") {
				t.Errorf("a secret was told: %s", f.Detail)
			}
		}
	}
	// The library has another version than the ClickHouse in it, and one table shows both.
	if found := of(all, "engine"); len(found) != 1 || chdb.Built && found[0].Verdict == OK &&
		!strings.HasPrefix(found[0].Detail, "libchdb "+chdb.Version) {
		t.Errorf("%+v", found)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

// What depends on a setting that is wrong is skipped, and what does not is checked (one fault hides no other).
func TestBrokenConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	source := settings(file)
	source.Env = source.Env[:1] // no account
	all := NewChecker(CheckOptions{Config: source}).All(t.Context())
	if found := of(all, "configuration"); len(found) == 0 || found[0].Verdict != Failed || len(found[0].Causes) != 1 {
		t.Errorf("%+v", all)
	}
	if found := of(all, "API"); len(found) != 1 || found[0].Verdict != Skipped {
		t.Errorf("%+v", all)
	}
	if len(of(all, "warehouse")) != 1 {
		t.Errorf("the warehouse was not checked: %+v", all)
	}
	for _, f := range NewChecker(CheckOptions{Config: source}).Offline(t.Context()) {
		if f.Check != "configuration" {
			t.Errorf("it is not to be looked at: %+v", f)
		}
	}
}

// An address that the API does not know is told whole, without what is secret in it.
func TestUnknownAddress(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	api := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	source := settings(filepath.Join(t.TempDir(), "data"))
	source.Env[1] = "DEALHOUSE_BASE_URL=" + api.URL + "/shop"
	found := of(NewChecker(CheckOptions{Config: source}).All(t.Context()), "API")
	if len(found) == 0 {
		t.Fatal("the API was not checked")
	}
	for _, f := range found {
		if f.Verdict != Failed || !strings.Contains(f.Detail, "check base_url") ||
			!strings.Contains(f.Detail, "[GET "+api.URL+"/shop/v") || strings.Contains(f.Detail, "very-secret") {
			t.Errorf("%+v", f)
		}
	}
}
