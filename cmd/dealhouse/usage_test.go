package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Mistakes of the user end with one message that says what to do, and code 2; an unreachable warehouse with code 1.
func TestMistakes(t *testing.T) {
	b := newBench(t)
	valid := "[[account]]\nname = \"acme\"\nbase_url = \"" + b.url + "\"\napi_key = \"env:ACME_KEY\"\n"
	empty := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		name   string
		config string
		args   []string
		code   int
		words  []string
	}{
		{"unknown key", "[warehouse]\ndns = \"x\"\n" + valid, []string{"sync"}, 2,
			[]string{"dealhouse.toml:2:1", "dns", "dsn"}},
		{"wrong type", "[defaults]\nbatch_rows = \"many\"\n" + valid, []string{"sync"}, 2,
			[]string{"dealhouse.toml:2:", "batch_rows"}},
		{"missing key file", strings.Replace(valid, "env:ACME_KEY", "file:"+empty, 1), []string{"sync"}, 2,
			[]string{"api_key", empty}},
		{"missing key variable", strings.Replace(valid, "ACME_KEY", "OTHER_KEY", 1), []string{"sync"}, 2,
			[]string{"OTHER_KEY"}},
		{"no accounts", "", []string{"sync"}, 2, nil},
		{"unknown stream", valid, []string{"sync", "coupon"}, 2,
			[]string{`"coupon"`, "the streams are promotions, coupons,"}},
		{"unknown account", valid, []string{"sync", "--account", "acne"}, 2, []string{`"acne"`, "it has acme"}},
		{"disabled stream", valid + "[account.streams.coupons]\nenabled = false\n", []string{"sync", "coupons"}, 2,
			[]string{"coupons is disabled"}},
		{"unknown flag", valid, []string{"sync", "--ful"}, 2, []string{"--ful", "see `dealhouse sync --help`"}},
		{"unknown command", valid, []string{"statu"}, 2, []string{`did you mean "status"?`}},
		{"unknown output", valid, []string{"status", "--output", "xml"}, 2, []string{"want table, json or csv"}},
		{"unknown log level", valid, []string{"status", "--log-level", "loud"}, 2,
			[]string{"want debug, info, warn or error"}},
		{"query without SQL", valid, []string{"query"}, 2, []string{"the SQL in quotes"}},
		{"query with an empty statement", valid, []string{"query", " ; "}, 2, []string{"empty"}},
		{"query with FORMAT", valid, []string{"query", "SELECT 1 FORMAT JSONEachRow"}, 2, []string{"--output"}},
		{"runs with a bad limit", valid, []string{"runs", "--limit", "0"}, 2, []string{"--limit"}},
		{"runs of an unknown stream", valid, []string{"runs", "--stream", "coupon"}, 2, []string{"--stream"}},
		{"rejects of an unknown stream", valid, []string{"rejects", "--stream", "coupon"}, 2, []string{"--stream"}},
		{"rejects for an unknown reason", valid, []string{"rejects", "--reason", "mising_key"}, 2,
			[]string{"--reason", "missing_key, unusable_key,"}},
		{"completion of an unknown shell", valid, []string{"completion", "foo"}, 2,
			[]string{`"foo"`, "see `dealhouse completion --help`"}},
		{"rejects of no run", valid, []string{"rejects", "retry", "--run", "17"}, 2, []string{"--run", "dealhouse runs"}},
		{"rejects since nothing", valid, []string{"rejects", "--since", "-3h"}, 2, []string{"--since", "36h"}},
		{"rejects with a bad limit", valid, []string{"rejects", "--limit", "0"}, 2, []string{"--limit"}},
		{"no warehouse yet", "[warehouse]\ndsn = \"embedded:" + empty + "\"\n", []string{"query", "SELECT 1"}, 2,
			[]string{empty, "dealhouse sync"}},
		{
			"unreachable warehouse", "[warehouse]\nmax_retry_elapsed = \"0s\"\ndsn = \"clickhouse://u:" + dsnSecret +
				"@127.0.0.1:1\"\n" + valid,
			[]string{"sync"},
			1,
			[]string{"clickhouse://u:***@127.0.0.1:1 cannot be reached", "check warehouse.dsn"},
		},
		{"serving a server", "[warehouse]\ndsn = \"clickhouse://127.0.0.1:1\"\n", []string{"serve-warehouse"}, 2,
			[]string{"ask it directly"}},
		{"serving strangers", "", []string{"serve-warehouse", "--listen", "0.0.0.0:0"}, 2,
			[]string{"--password", "--insecure"}},
		{"serving all addresses", "", []string{"serve-warehouse", "--listen", ":0"}, 2, []string{"--password"}},
		{"serving without a port", "", []string{"serve-warehouse", "--listen", "localhost"}, 2, []string{"host:port"}},
		{"password that is not there", "", []string{"serve-warehouse", "--password", "env:NOTHING"}, 2,
			[]string{"NOTHING is not set"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := call(t, b.env, append(test.args, "--config", b.write(t, test.config))...)
			got.want(t, test.code, test.words...)
			if got.out != "" {
				t.Errorf("a result was printed: %s", got.out)
			}
			if n := strings.Count(got.err, "error: "); n != 1 {
				t.Errorf("%d errors were printed, want 1:\n%s", n, got.err)
			}
			if strings.Contains(got.err, "Usage:") {
				t.Errorf("the whole usage was printed:\n%s", got.err)
			}
		})
	}
}

// commandNames are the commands that do something, with those above them.
func commandNames(cmd *cobra.Command, above string) (names []string) {
	for _, c := range cmd.Commands() {
		name := strings.TrimSpace(above + " " + c.Name())
		if c.Runnable() && c.Name() != "help" {
			names = append(names, name)
		}
		names = append(names, commandNames(c, name)...)
	}
	return names
}

// Every command explains itself, and the README names it.
func TestHelp(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(newApp([]string{"dealhouse"}, strings.NewReader(""), io.Discard, io.Discard, nil))
	for _, name := range append(commandNames(root, ""), "completion") {
		got := call(t, nil, append(strings.Fields(name), "--help")...)
		got.want(t, 0)
		got.shows(t, "Usage:\n  dealhouse "+name)
		explained, _, _ := strings.Cut(got.out, "\nUsage:\n")
		for line := range strings.Lines(explained) {
			if n := utf8.RuneCountInString(line); n > 110 {
				t.Errorf("%s --help has a line of %d characters: %s", name, n, line)
			}
		}
		if top, _, _ := strings.Cut(name, " "); !strings.Contains(string(readme), "`dealhouse "+top) {
			t.Errorf("README.md does not name dealhouse %s", top)
		}
	}
	call(t, nil, "rejects", "retry", "--help").shows(t, "--dry-run")
	got := call(t, nil, "sync", "--help")
	got.shows(t, "Exit codes:", "4 stopped by a guard", "Examples:")
}

func TestCompletion(t *testing.T) {
	b := newBench(t)
	call(t, nil, "completion", "bash").shows(t, "__start_dealhouse")
	call(t, b.env, "__complete", "sync", "").shows(t, "cashback_offers\n", "products\n")
	got := call(t, b.env, "__complete", "sync", "--config", b.config, "--account", "")
	got.shows(t, "acme\n", "globex\n")
}

// With --log-format json every line on stderr is a JSON object, errors included.
func TestJSONLog(t *testing.T) {
	got := call(t, nil, "query", "SELECT 1", "--log-format", "json", "--config", filepath.Join(t.TempDir(), "none.toml"))
	got.want(t, 2, `"level":"ERROR"`)
	for line := range strings.Lines(got.err) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestVersion(t *testing.T) {
	got := call(t, nil, "version")
	got.want(t, 0)
	got.shows(t, "dealhouse ", "go        go1.", "engine    ")
}

func TestWorst(t *testing.T) {
	for want, codes := range map[int][]int{0: {}, 1: {0, 1}, 2: {1, 2, 1}, 3: {2, 3, 1}, 4: {3, 4, 2, 1}} {
		if got := worst(codes...); got != want {
			t.Errorf("worst(%v) = %d, want %d", codes, got, want)
		}
	}
}
