package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/launch"
	"dealhouse/internal/sandbox"
)

// childVariable makes the test binary be the program.
const childVariable = "CLI_TEST_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" || os.Getenv(launch.Variable) != "" {
		if err := handicap(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(sandbox.Aside(func() int { return standalone(asInTests) }))
	}
	enginetest.CollectLess()
	if err := enginetest.InMemory(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Most tests wait for processes that they have started.
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", "4"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if err := removeShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Secrets of the tests. None may ever be printed.
const (
	acmeKey    = "acme-secret-1f0c"
	globexKey  = "globex-secret-77ab"
	wrongKey   = "wrong-secret-93de"
	dsnSecret  = "dsn-secret-52cc"
	httpSecret = "http-secret-6a1e"
)

// stackTrace finds what a panic prints.
var stackTrace = regexp.MustCompile(`goroutine \d+|panic:|\.go:\d+ \+0x`)

// clean fails the test when an output holds what no output may hold.
func clean(t *testing.T, output string) {
	t.Helper()
	for _, secret := range []string{acmeKey, globexKey, wrongKey, dsnSecret, httpSecret} {
		if strings.Contains(output, secret) {
			t.Errorf("a secret was printed:\n%s", output)
		}
	}
	if stackTrace.MatchString(output) {
		t.Errorf("a stack trace was printed:\n%s", output)
	}
}

// patient is how long a program waits for others that the slowest machine may have to answer.
func patient() waits {
	const longer = 10 * time.Minute
	return waits{folder: longer, exports: longer, notifying: longer, asking: 1e6, pages: web.Waits{
		Read: longer, Detail: longer, Compare: longer, Viewer: longer, Act: longer, Header: longer, Request: longer,
		Answer: 2 * longer,
	}}
}

// asInTests makes a program wait for others as long as the slowest machine needs, and its engine compile
// nothing for a few rows.
func asInTests(a *app) { a.waits, a.fewRows = patient(), enginetest.FewRows() }

// command runs a command in this process, and returns its exit code.
func command(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, env []string, args ...string) int {
	args = append([]string{"dealhouse"}, args...)
	a := newApp(args, stdin, stdout, stderr, env)
	asInTests(a)
	return a.run(ctx, args)
}

// outcome is how a command ended.
type outcome struct {
	code     int
	out, err string
}

// call runs a command in this process.
func call(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	return callWith(t, "", env, args...)
}

func callWith(t *testing.T, stdin string, env []string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := command(t.Context(), strings.NewReader(stdin), &out, &errs, env, args...)
	clean(t, out.String()+errs.String())
	return outcome{code, out.String(), errs.String()}
}

// want fails the test unless the command ended with the code, and stderr holds the words.
func (o outcome) want(t *testing.T, code int, words ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.out, o.err)
	}
	for _, w := range words {
		if !strings.Contains(o.err, w) {
			t.Errorf("stderr does not say %q:\n%s", w, o.err)
		}
	}
}

// shows fails the test unless stdout holds the words.
func (o outcome) shows(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(o.out, w) {
			t.Errorf("stdout does not show %q:\n%s", w, o.out)
		}
	}
}

// bench is a small simulated world with a configuration that reads it.
type bench struct {
	sim    *apisim.Sim
	url    string
	dir    string // of the embedded warehouse
	config string // file
	env    []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey}, apisim.Org{Name: "globex", Key: globexKey})
}

func newBenchOf(t *testing.T, accounts ...apisim.Org) *bench {
	t.Helper()
	sim, err := apisim.New(apisim.Options{
		Orgs:      accounts,
		Retailers: 40, Promotions: 60, Coupons: 80, CashbackOffers: 70, Transactions: 300, Products: 90, HistoryDays: 3,
		Settings: apisim.Settings{PageSize: 50},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	b := &bench{sim: sim, url: server.URL, dir: filepath.Join(t.TempDir(), "data")}
	config := fmt.Sprintf(`
[warehouse]
dsn = "embedded:%s"
[defaults]
requests_per_second = 1000
max_retry_elapsed = "0s"
`, b.dir)
	for _, account := range accounts {
		variable := strings.ToUpper(account.Name) + "_KEY"
		b.env = append(b.env, variable+"="+account.Key)
		config += fmt.Sprintf("[[account]]\nname = %q\nbase_url = %q\napi_key = \"env:%s\"\n", account.Name, b.url, variable)
	}
	b.config = b.write(t, config)
	return b
}

// write writes a configuration file.
func (b *bench) write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dealhouse.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// call runs a command with the configuration of the bench; env is put before its environment.
func (b *bench) call(t *testing.T, args ...string) outcome {
	t.Helper()
	return call(t, b.env, append(args, "--config", b.config)...)
}
