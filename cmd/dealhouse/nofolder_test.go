//go:build !noengine

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// makers are the commands that make the folder of an embedded warehouse, since they load or make the schema.
var makers = []string{"demo", "sync", "run", "backfill", "migrate", "restore"}

// lookers are how commands are called so that they only look, or do what makes no folder; one that is not here, without
// arguments.
var lookers = map[string][]string{
	"sync": {"--dry-run"}, "migrate": {"--dry-run"}, "restore": {"--check", "nothing"}, "query": {"SELECT 1"},
	"backup":        {"nowhere/x"},
	"reconcile ack": {"1", "--reason", "expected"}, "reconcile close": {"--month", "2026-01"},
	"statement":     {"--month", "2026-01"},
	"operate pause": {"coupons"}, "operate resume": {"coupons"}, "operate consent": {"coupons"},
	"serve-warehouse": {"--listen", "127.0.0.1:0"},
}

// No command but those that load makes the folder of an embedded warehouse.
func TestOnlyLoadingMakesTheFolder(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	tried := map[string]bool{}
	for _, name := range commandNames(newRoot(newApp([]string{"dealhouse"}, strings.NewReader(""), new(bytes.Buffer),
		new(bytes.Buffer), nil)), "") {
		args, looks := lookers[name]
		tried[name] = true
		if !looks && slices.Contains(makers, name) {
			continue
		}
		got := b.call(t, append(strings.Fields(name), args...)...)
		if _, err := os.Stat(b.dir); err == nil {
			t.Errorf("%s %q has made %s\n%s%s", name, args, b.dir, got.out, got.err)
			if err := os.RemoveAll(b.dir); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(got.err, "unknown flag") || strings.Contains(got.err, "arg(s)") ||
			strings.Contains(got.err, "required flag") {
			t.Errorf("%s %q is not understood: %s", name, args, got.err)
		}
	}
	for name := range lookers {
		if !tried[name] {
			t.Errorf("there is no command %s", name)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(b.dir)); err != nil || len(entries) > 0 {
		t.Errorf("left beside the folder: %v %v", entries, err)
	}
}

// A configuration is checked without its secrets, without network and without a warehouse, and all its mistakes are
// told at once.
func TestCheckOffline(t *testing.T) {
	t.Parallel()
	const good = `
[warehouse]
dsn = "file:/nowhere/dsn"
[daemon]
user = "ops"
password = "file:/nowhere/password"
[[account]]
name = "acme"
base_url = "https://api.example.invalid"
api_key = "env:NOWHERE_KEY"
[account.streams.payouts]
api_key = "file:/nowhere/payouts"
[account.streams.coupons]
schedule = "*/5 * * * *"
`
	b := &bench{}
	offline := func(text string, env ...string) outcome {
		return call(t, env, "check", "--offline", "--output", "csv", "--config", b.write(t, text))
	}
	got := offline(good)
	got.want(t, 0)
	got.shows(t, "1 account, 6 streams", "/nowhere/dsn", "/nowhere/password", "NOWHERE_KEY", "/nowhere/payouts")
	if n := strings.Count(got.out, "not checked"); n != 4 {
		t.Errorf("%d are not looked at, want 4\n%s", n, got.out)
	}
	got = offline(good, "NOWHERE_KEY=Bearer x")
	got.want(t, 2)
	got.shows(t, "FAILED", "Bearer")
	bad := strings.NewReplacer("*/5 *", "61 *", `"acme"`, `"Acme!"`, `"ops"`, `"ops"
grace = "5"
time_zone = "Nowhere"`, "https:", "http:", "file:/nowhere/dsn", "clickhouse://u:p@host:port/x").Replace(good)
	got = offline(bad)
	got.want(t, 2)
	got.shows(t, "schedule", "name:", "grace", "time_zone", "base_url", "dsn", "NOWHERE_KEY")
	server := strings.Replace(good, `"file:/nowhere/dsn"`, `"clickhouse://u:p@host:9000/x"
ca_file = "/nowhere/ca.pem"`, 1)
	got = offline(server)
	got.want(t, 0)
	got.shows(t, "/nowhere/ca.pem is not on this machine")
}

// A folder that holds something else is left as it is by commands that only look.
func TestLookingLeavesOtherFolders(t *testing.T) {
	engineHere(t)
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "mine"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status"}, {"query", "SELECT 1"}, {"runs"}, {"check"}} {
		got := b.call(t, args...)
		entries, err := os.ReadDir(b.dir)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%q has left %v (%v)\n%s%s", args, entries, err, got.out, got.err)
		}
	}
	b.call(t, "query", "SELECT 1").want(t, 2, "there is no warehouse in")
}
