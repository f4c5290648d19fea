package config

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
)

var update = flag.Bool("update", false, "write config.example.toml and the golden files")

const exampleFile = "../../config.example.toml"

func TestExampleFileIsCurrent(t *testing.T) {
	if *update {
		if err := os.WriteFile(exampleFile, []byte(exampleText()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != exampleText() {
		t.Error("config.example.toml is not what the schema says: run go generate ./...")
	}
}

// commentedKey matches a key of the example that is commented out.
var commentedKey = regexp.MustCompile(`(?m)^# ([a-z_]+ = .*)$`)

func exampleSource(text string) Source {
	return source(text, "DEALS_API_KEY=k-acme", "DEALS_PAYOUTS_KEY=k-payouts", "LINEAGE_KEY=k-lineage")
}

func TestExampleLoads(t *testing.T) {
	// Every value in it is a default, so that it equals the smallest configuration.
	got := mustLoad(t, exampleSource(exampleText()))
	if diff := cmp.Diff(standardConfig(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExampleUncommented(t *testing.T) {
	got := mustLoad(t, exampleSource(commentedKey.ReplaceAllString(exampleText(), "$1")))
	want := standardConfig()
	// These values are samples and not defaults: the example says so.
	want.Daemon.User, want.Daemon.TLSCert, want.Daemon.TLSKey = "ops", "/etc/dealhouse/tls.crt", "/etc/dealhouse/tls.key"
	want.Daemon.PublicURL = "https://deals.example.com"
	want.Lineage = Lineage{URL: "https://marquez:5000/api/v1/lineage", Key: NewSecret("k-lineage"),
		Namespace: "shop-warehouse"}
	dir := "/etc/dealhouse/warehouse"
	want.Warehouse.CAFile, want.Warehouse.CertFile, want.Warehouse.KeyFile = dir+"-ca.crt", dir+".crt", dir+".key"
	want.Warehouse.SigningKeyFile = "/etc/dealhouse/signing.pem"
	want.Warehouse.ViewsDatabase = "dealhouse_views"
	want.Finance.Settlements = "bank.receipts"
	want.Finance.BankCSV = map[string]string{"received_on": "Date", "amount": "Sum", "currency": "EUR", "text": "Info"}
	a := &want.Accounts[0]
	a.BankSenders = []string{"Acme Deals Ltd"}
	a.Params.UpdatedAfter, a.Params.UpdatedBefore = "updatedAtGreaterThan", "updatedAtLessThan"
	for i := range a.Streams {
		described, err := catalog.Find(a.Streams[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		a.Streams[i].Scope = catalog.NewScope(described, map[string][]string{
			"hostname": {"shop.example", "www.other.example"}, "name": {"Shop", "Other Shop"}, "category": {"Travel"},
			"country": {"DE", "FR"},
		})
	}
	a.Streams[3].InitialFrom = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	a.Streams[4].Key = NewSecret("k-payouts")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExampleShowsEveryKey(t *testing.T) {
	example := exampleText()
	for _, k := range vocabulary {
		line := regexp.MustCompile(`(?m)^(# ( {2})?)?` + k.name + ` = `)
		if !line.MatchString(example) {
			t.Errorf("%s is not in the example", k.name)
		}
		if k.doc == "" && !slices.ContainsFunc(vocabulary, func(o key) bool { return o.name == k.name && o.doc != "" }) {
			t.Errorf("%s is explained nowhere", k.name)
		}
	}
	for i, line := range strings.Split(example, "\n") {
		if len(line) > exampleWidth+len("# ") {
			t.Errorf("line %d is too long: %s", i+1, line)
		}
	}
}

// TestEveryKeyHasAVariable checks the promise that any value can be overridden: the file sets nothing, and each
// variable works without the others.
func TestEveryKeyHasAVariable(t *testing.T) {
	o := overrides{findings: &findings{}, targets: map[string][]target{}}
	root, err := parseTree(FileName, []byte(acme))
	if err != nil {
		t.Fatal(err)
	}
	o.collect(schema(), nil, nil, func() *node { return root })
	for name := range o.targets {
		got := problems(t, source(acme, acmeKey, name+"=\x01"))
		if len(got) != 1 || !strings.HasPrefix(got[0], "environment variable "+name+": ") ||
			strings.Contains(got[0], "unknown") {
			t.Errorf("%s=\\x01 gives %q", name, got)
		}
	}
	want := 9 + 12 + 3 + 3 + 13 + 4 + 2*15 + 5 + 8 // of the tables above the streams, in the order of the schema
	for _, s := range catalog.All() {
		want += 6 + len(s.Filters) // every stream has six
		if s.ByID {
			want++
		}
		switch s.Kind {
		case catalog.Incremental:
			want += 5
		case catalog.Walk:
			want += 2
		case catalog.Snapshot:
		}
	}
	if len(o.targets) != want {
		t.Errorf("%d variables, want %d", len(o.targets), want)
	}
}
