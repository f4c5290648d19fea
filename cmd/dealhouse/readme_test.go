//go:build !noengine

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
)

const repository = "../.."

// block is one fenced block of the README.
type block struct{ language, text string }

func readBlocks(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{m[1], strings.TrimSpace(m[2])})
	}
	return blocks
}

// ranByCI are the commands that .ci/run gives as they stand here, because a test can't run its own suite.
var ranByCI = []string{"go run ./cmd/dealhouse demo", "go test ./..."}

// TestReadme runs every command and every query of the README, in its order, in a folder of a new user.
func TestReadme(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(repository, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	truth := answers{api: u.api, got: map[string][]map[string]any{}}
	commands, queries, checked := 0, 0, 0
	for _, b := range readBlocks(t) {
		if b.language == "sql" {
			queries++
			out := u.query(t, b.text)
			var rows []map[string]any
			for line := range strings.Lines(out) {
				var row map[string]any
				parseJSON(t, []byte(line), &row)
				rows = append(rows, row)
			}
			if len(rows) == 0 && !strings.Contains(b.text, "rejected_records") && !strings.Contains(b.text, "WHERE NOT ok") {
				t.Errorf("no rows from\n%s", b.text)
			}
			if truth.check(t, b.text, rows) {
				checked++
			}
		}
		if b.language != "sh" {
			continue
		}
		u.lookedEnough()
		commands++
		switch {
		case slices.Contains(ranByCI, b.text):
			if !strings.Contains(string(ci), "\n"+b.text) {
				t.Errorf(".ci/run does not run %q", b.text)
			}
		default:
			u.block(t, b.text)
		}
	}
	if commands < 10 || queries < 5 || checked < 8 {
		t.Errorf("%d commands and %d queries were found, %d of them to hold against the API: the README has another form than this test reads", commands, queries, checked)
	}
}

// user is someone with a shell, an empty folder, an API at hand, and the README.
type user struct {
	dir     string
	env     []string
	replace *strings.Replacer
	api     string
	daemon  string // where its port is
	door    string // where that of serve-warehouse is
	stop    func() // ends serve-warehouse, which has the warehouse to itself
	looking func() // ends that of query
}

// query asks as the README says to, of an engine that stays open from one query to the next: to open it takes longer.
func (u *user) query(t *testing.T, sql string) string {
	t.Helper()
	door := "DEALHOUSE_WAREHOUSE_DSN=http://" + u.door + "/dealhouse"
	if u.looking == nil {
		u.looking = u.up(t, "dealhouse serve-warehouse --listen "+u.door, "http://"+u.door+"/ping")
	}
	return u.shell(t, door+` dealhouse query - --output jsonl <<'END'`+"\n"+sql+"\nEND")
}

func (u *user) lookedEnough() {
	if u.looking != nil {
		u.looking()
		u.looking = nil
	}
}

// newUser starts the API that the README talks about, on a free port.
func newUser(t *testing.T) *user {
	t.Helper()
	bin := t.TempDir()
	wrapper := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", childVariable, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "dealhouse"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "dealsim"), "./cmd/dealsim")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	api, door, daemon := freeAddress(t), freeAddress(t), freeAddress(t)
	u := &user{
		dir: t.TempDir(), api: "http://" + api, daemon: daemon, door: door,
		env:     append(ambient(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOBIN="+t.TempDir(), "GOFLAGS=-buildvcs=false", "DEALHOUSE_DAEMON_LISTEN="+daemon),
		replace: strings.NewReplacer("127.0.0.1:8080", api, "127.0.0.1:8123", door, "DEALS_API_KEY=...", "DEALS_API_KEY=secret", "-o dealhouse ", "-o "+filepath.Join(t.TempDir(), "static")+" "),
	}
	for _, name := range []string{"config.example.toml"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(u.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was never used
	return l.Addr().String()
}

// block runs a block of commands as its reader would.
func (u *user) block(t *testing.T, text string) {
	t.Helper()
	text = u.replace.Replace(text)
	switch {
	case text == "go run ./cmd/dealhouse demo":
		// TestDemo runs it; once is long enough.
	case strings.HasPrefix(text, "go "), strings.HasPrefix(text, "CGO_ENABLED=0 go "):
		u.shellIn(t, repository, text)
	case strings.HasPrefix(text, "cp "):
		u.shell(t, text)
		u.fillIn(t)
	case strings.HasPrefix(text, "export "):
		u.env = append(u.env, "DEALS_API_KEY=secret")
		u.background(t, "dealsim --listen "+strings.TrimPrefix(u.api, "http://")+" --keys acme=secret --now now --page-size 1000 --transactions 12000 --products 1500", u.api+"/sim/status")
		u.shell(t, text)
		u.post(t, u.api+"/sim/advance?days=2")
		u.shell(t, text)
	case strings.HasPrefix(text, "dealsim "):
		// It is up already, with these flags: the reader is told to start it in another terminal.
		if want := "dealsim --listen " + strings.TrimPrefix(u.api, "http://") + " --keys acme=secret --now now"; text != want {
			t.Errorf("the README starts %q, the test %q", text, want)
		}
	case strings.HasPrefix(text, "DEALHOUSE_BASE_URL="):
		u.shellIn(t, t.TempDir(), text)
	case strings.HasPrefix(text, "dealhouse serve-warehouse "):
		u.stop = u.up(t, text, "http://"+strings.Fields(text)[3]+"/ping")
	case text == "dealhouse run":
		u.up(t, text, "http://"+u.daemon+"/readyz")()
	case strings.HasPrefix(text, "curl "):
		m := regexp.MustCompile(`^curl '([^']+)' -d '([^']+)'$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("a curl command of another form: %s", text)
		}
		resp, err := http.Post(m[1], "text/plain", strings.NewReader(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"rows": 1`) {
			t.Errorf("%s: %d %s %v", text, resp.StatusCode, body, err)
		}
		u.stop()
	default:
		u.shell(t, text)
	}
}

// fillIn does what the README asks for after copying the example.
func (u *user) fillIn(t *testing.T) {
	t.Helper()
	path := filepath.Join(u.dir, config.FileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.Replace(string(text), "https://api.example.com", u.api, 1)
	if filled == string(text) {
		t.Fatal("the example has no base_url to fill in")
	}
	if err := os.WriteFile(path, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (u *user) shell(t *testing.T, text string) string {
	t.Helper()
	return u.shellIn(t, u.dir, text)
}

func (u *user) shellIn(t *testing.T, dir, text string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", text)
	cmd.Dir, cmd.Env = dir, u.env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v\n%s%s", text, err, out, errs.String())
	}
	return string(out)
}

// background starts a command that stays up until the end of the test.
func (u *user) background(t *testing.T, text, ready string) {
	t.Helper()
	t.Cleanup(u.up(t, text, ready))
}

// up starts a command that stays up, and waits until it answers well.
func (u *user) up(t *testing.T, text, ready string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", "exec "+text)
	cmd.Dir, cmd.Env = u.dir, u.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		resp, err := http.Get(ready)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				tick.Stop()
				return stop
			}
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			stop()
			t.Fatalf("%s did not come up: %v", text, err)
		}
	}
}

func (u *user) post(t *testing.T, url string) {
	t.Helper()
	resp, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s: %s", url, resp.Status)
	}
}

// TestReadmeNamesTests holds the README's promises against the tests that it names.
func TestReadmeNamesTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	files, err := filepath.Glob(filepath.Join(repository, "*", "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(source)
	}
	names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 10 {
		t.Fatalf("only %d tests are named", len(names))
	}
	for _, m := range names {
		if !strings.Contains(sources.String(), "func "+m[1]+"(") {
			t.Errorf("the README names %s, which is not there", m[1])
		}
	}
}

// TestStreamNames ties the configuration's names to the catalog's: neither package imports the other.
func TestStreamNames(t *testing.T) {
	if !slices.Equal(config.StreamNames(), catalog.Names()) {
		t.Errorf("the configuration has %v, the catalog %v", config.StreamNames(), catalog.Names())
	}
}
