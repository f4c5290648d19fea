//go:build !noengine

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// yearly makes a configuration with schedules that do not come: the daemon runs each stream once, at its start.
func (b *bench) yearly(t *testing.T, only ...string) {
	t.Helper()
	text, err := os.ReadFile(b.hurried(t, "", only...))
	if err != nil {
		t.Fatal(err)
	}
	b.config = b.write(t, regexp.MustCompile(`"@every \w+"`).ReplaceAllString(string(text), `"0 0 1 1 *"`))
}

// besideDaemon is a command beside a daemon that has the embedded warehouse.
type besideDaemon struct {
	args      []string
	same      bool // it prints what it prints without a daemon
	wide      bool // another one here differs from it in form only: it is for wide samples
	code      int
	words     []string // on stderr
	elsewhere string   // the test that runs it beside a daemon
	got       string
}

// commandsBesideDaemon are all commands, by name (TestEveryCommandBesideDaemon).
var commandsBesideDaemon = []besideDaemon{
	{args: []string{"query", "SELECT count(), sum(cashback) FROM transactions"}, same: true},
	{args: []string{"query", "SELECT account, id, status FROM transactions ORDER BY id", "--output", "csv"}, same: true,
		wide: true},
	{args: []string{"schema", "--output", "json"}, same: true},
	{args: []string{"schema", "--output", "dbt"}, same: true, wide: true},
	{args: []string{"schema", "--output", "odcs"}, same: true, wide: true},
	{args: []string{"rejects", "--output", "json"}, same: true},
	{args: []string{"rejects", "retry", "--dry-run", "--output", "csv"}, same: true},
	{args: []string{"reconcile", "--output", "csv"}, same: true},
	{args: []string{"reconcile", "ack", "--payout", "999999", "--reason", "expected"}, same: true, code: 2,
		words: []string{"999999"}},
	{args: []string{"reconcile", "acks", "--output", "csv"}, same: true},
	{args: []string{"reconcile", "close", "--month", "2999-01"}, same: true, code: 2, words: []string{"2999-01"}},
	{args: []string{"reconcile", "packet", "--payout", "999999"}, same: true, code: 2, words: []string{"999999"}},
	{args: []string{"statement", "--month", "2026-01", "--output", "csv"}, same: true},
	{args: []string{"settlements", "--output", "csv"}, same: true},
	{args: []string{"settlements", "import", "nowhere.csv"}, same: true, code: 2, words: []string{"nowhere.csv"}},
	{args: []string{"journal", "--month", "2026-01", "--draft", "--output", "csv"}, same: true},
	{args: []string{"operate", "log", "--output", "csv"}, same: true},
	{args: []string{"notify", "list", "--output", "csv"}, same: true},
	{args: []string{"notify", "test"}, same: true, code: 2, words: []string{"receiver"}},
	{args: []string{"runs", "--output", "csv", "--stream", "products"},
		same: true}, // the daemon still looks up what others name
	{args: []string{"migrate"}, same: true},
	{args: []string{"migrate", "--dry-run"}, same: true, wide: true},
	{args: []string{"migrate", "--check"}, same: true},
	{args: []string{"check", "--offline"}, same: true},
	{args: []string{"version"}, same: true},
	{args: []string{"status"}, elsewhere: "TestCommandsBesideDaemon"},
	{args: []string{"check"}, elsewhere: "TestCommandsBesideDaemon"},
	{args: []string{"sync", "coupons"}, elsewhere: "TestLoadingBesideDaemon"},
	{args: []string{"backfill", "transactions"}, elsewhere: "TestLoadingBesideDaemon"},
	{args: []string{"verify", "coupons"}, elsewhere: "TestLoadingBesideDaemon"},
	{args: []string{"operate", "pause"}, elsewhere: "TestOperateBesideDaemon"},
	{args: []string{"operate", "resume"}, elsewhere: "TestOperateBesideDaemon"},
	{args: []string{"operate", "consent"}, elsewhere: "TestOperateBesideDaemon"},
	{args: []string{"operate", "run"}, elsewhere: "TestOperateDaemon"},
	{args: []string{"operate", "cancel"}, elsewhere: "TestOperateDaemon"},
	{args: []string{"operate", "reload"}, elsewhere: "TestOperateDaemon"},
	{args: []string{"backup", "x.tar"}, elsewhere: "TestBackup"},
	{args: []string{"restore", "x.tar"}, elsewhere: "TestBackup"},
	{args: []string{"forget", "--user", "nobody@example.test", "--dry-run", "--output", "csv"}, same: true},
	{args: []string{"copy"}, elsewhere: "TestCopy"},
	{args: []string{"healthcheck"}, elsewhere: "TestHealthcheck"},
	{args: []string{"serve-warehouse", "--listen", "127.0.0.1:0"}, code: 1,
		words: []string{"a daemon (process ", "stop it first", "`dealhouse query`"}},
	{args: []string{"run"}, elsewhere: "TestCommandsBesideDaemon"},
	{args: []string{"init", "http://127.0.0.1:1"}, elsewhere: "TestInit"}, // it opens no warehouse
	{args: []string{"probe"}, elsewhere: "TestProbe"},                     // nor does it
	{args: []string{"mcp"}, elsewhere: "TestMCP"},                         // it runs the others
	{args: []string{"demo"}, elsewhere: "TestDemo"},                       // its folder is its own
}

// Every command that there is has been tried beside a daemon, in a test that there is.
func TestEveryCommandBesideDaemon(t *testing.T) {
	t.Parallel()
	root := newRoot(newApp([]string{"dealhouse"}, strings.NewReader(""), io.Discard, io.Discard, nil))
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	tried := []string{"operate", "notify", "completion", "completion bash", "completion zsh", "completion fish",
		"completion powershell"} // they print help
	for _, c := range commandsBesideDaemon {
		cmd, _, err := root.Find(c.args)
		if err != nil {
			t.Error(err)
			continue
		}
		tried = append(tried, strings.TrimPrefix(cmd.CommandPath(), "dealhouse "))
		if c.elsewhere != "" && !strings.Contains(tests.String(), "\nfunc "+c.elsewhere+"(") {
			t.Errorf("%q is said to be tried by %s", c.args, c.elsewhere)
		}
	}
	for _, name := range commandNames(root, "") {
		if !slices.Contains(tried, name) {
			t.Errorf("%s is not tried beside a daemon", name)
		}
	}
}

// Every command works beside a daemon that has the embedded warehouse, and answers what it does without one, which is
// compared for a part of them unless a wide sample is asked for.
func TestCommandsBesideDaemon(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	streams := narrow("coupons", "transactions", "payouts", "products")
	b.migrated(t)
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	if info, err := os.Stat(filepath.Join(b.dir, "dealhouse.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	var same []besideDaemon // what does not depend on the time
	for _, c := range commandsBesideDaemon {
		if c.elsewhere != "" || c.wide && !enginetest.Wide() {
			continue
		}
		got := b.call(t, c.args...)
		got.want(t, c.code, c.words...)
		if c.same {
			c.got = got.out
			same = append(same, c)
		}
	}
	status, check := b.call(t, "status"), b.call(t, "check")
	status.want(t, 0)
	status.shows(t, "transactions")
	check.want(t, 0)
	check.shows(t, "ClickHouse", "up to date")
	b.call(t, "query", "SELECT * FROM file('/etc/passwd')").want(t, 2, "not allowed")
	b.call(t, "query", "TRUNCATE TABLE transactions_latest").want(t, 2, "read-only")
	b.call(t, "query", "SELECT number FROM numbers(1000)", "--max-result-rows", "10").want(t, 2, "396",
		"raise --max-result and --max-result-rows")
	b.call(t, "query", "SELECT groupArray(number) FROM numbers(10000000)", "--max-query-memory", "20").want(t, 2, "241",
		"raise --max-query-memory")
	b.showBroken(t)
	long := "SELECT sum(sleepEachRow(0.00001)) FROM numbers(1000000000000)"
	if enginetest.Wide() { // one that computes meanwhile
		long = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)"
	}
	b.call(t, "query", long, "--max-time", "1").want(t, 1, "159", "raise --max-time")
	second := start(t, b.env, "run", "--config", b.config)
	(&running{process: second}).until(t, "a second daemon waits for the first",
		func() bool { return strings.Contains(second.stderr.String(), "waiting for another process") })
	if said, want := second.stderr.String(), fmt.Sprintf("pid=%d\n", d.Process.Pid); !strings.Contains(said, want) {
		t.Errorf("it does not say that it waits for %s:\n%s", want, said)
	}
	second.signal(t, syscall.SIGTERM)
	second.finish(t).want(t, 143)
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143)

	release := engineTurn(t)
	closeEngine := hold(t, b.dir)
	for _, c := range sample(same, 3, 0) {
		if got := b.call(t, c.args...); got.out != c.got || got.code != c.code {
			t.Errorf("%q: without the daemon %d\n%s\nbeside it\n%s", c.args, got.code, got.out, c.got)
		}
	}
	closeEngine()
	release()
}

// What loads works through the daemon too, and takes turns with its runs by the leases. For wide samples:
// TestOperateBesideDaemon loads through a daemon, and the others here ask through it.
func TestLoadingBesideDaemon(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	streams := narrow("coupons", "transactions", "payouts")
	b.migrated(t)
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	var coupons []string
	for record := range b.sim.Truth(apisim.StreamCoupons, "acme") {
		var c struct{ ID string }
		if err := json.Unmarshal(record, &c); err != nil {
			t.Fatal(err)
		}
		coupons = append(coupons, c.ID)
	}
	for _, id := range coupons[:len(coupons)/2] {
		if err := b.sim.Delete(apisim.StreamCoupons, "acme", id); err != nil {
			t.Fatal(err)
		}
	}
	b.call(t, "sync", "coupons", "--dry-run").want(t, 4, "stopped by a guard")
	b.call(t, "sync", "coupons").want(t, 4, "--allow-mass-delete")
	b.call(t, "sync", "coupons", "--allow-mass-delete").want(t, 0)
	b.call(t, "sync", "transactions", "payouts").want(t, 0)
	b.call(t, "backfill", "transactions", "--from", "2025-11-01T00:00:00Z", "--to", "2026-03-01T00:00:00Z").want(t, 0)
	b.call(t, "rejects", "retry").want(t, 0)
	b.call(t, "verify", "coupons").shows(t, "Everything is equal.")
	if got := b.call(t, "runs", "--output", "csv"); strings.Count(got.out, "coupons") < 3 {
		t.Errorf("the runs beside the daemon are not there:\n%s", got.out)
	}
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	release := engineTurn(t) // nobody answers at the socket that is left: the command opens the warehouse itself
	b.call(t, "query", "SELECT count() FROM coupons").want(t, 0)
	release()
}

// A command that only looks works through a sync that is under way, and one that loads waits for its end.
func TestCommandsBesideSync(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	held, open := make(chan struct{}, 1), make(chan struct{})
	b.sim.SetBefore(func(r *http.Request) {
		if strings.Contains(r.URL.Path, "coupons") {
			select {
			case held <- struct{}{}:
			default:
			}
			<-open
		}
	})
	syncing := start(t, b.env, "sync", "coupons", "--config", b.config)
	syncing.reaches(t, held)
	b.call(t, "query", "SELECT count() FROM coupons").want(t, 0, "another dealhouse has the embedded warehouse open")
	b.call(t, "status").want(t, 0)
	waiting := start(t, b.env, "sync", "payouts", "--config", b.config)
	(&running{process: waiting}).until(t, "the second sync waits",
		func() bool { return strings.Contains(waiting.stderr.String(), "waiting for another process") })
	close(open)
	syncing.finish(t).want(t, 0)
	waiting.finish(t).want(t, 0)
}

// showBroken wants to see how things stand beside a daemon that works on, though its file has become bad: whatever is
// wrong is said, and what comes after the place of the warehouse cannot be lost.
func (b *bench) showBroken(t *testing.T) {
	t.Helper()
	good, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(good), "[[account]]")
	for name, text := range map[string]string{
		"an unknown key":       strings.Replace(string(good), "[[account]]", "[daemon]\ntime_zon = 'UTC'\n[[account]]", 1),
		"a bad schedule":       string(good) + "\n[account.streams.promotions]\nschedule = 'soon'\n",
		"an unfinished table":  string(good) + "\n[account.streams.promotions\n",
		"an unfinished text":   string(good) + "\n[finance]\nsettlements = \"abc\n",
		"two of one table":     string(good) + "\n[warehouse]\n",
		"an account cut off":   string(good)[:at] + "[[account]]\nname = \n",
		"no address":           regexp.MustCompile(`base_url = .*`).ReplaceAllString(string(good), ""),
		"a key without a file": regexp.MustCompile(`api_key = .*`).ReplaceAllString(string(good), "api_key = 7"),
	} {
		broken := *b
		broken.config = b.write(t, text)
		for _, args := range [][]string{{"status"}, {"query", "SELECT count() FROM transactions"}, {"runs"}} {
			if name != "an unknown key" && args[0] != "status" {
				continue // they read it in the same way
			}
			got := broken.call(t, args...)
			if got.code != 0 || !strings.Contains(got.err, "the configuration cannot be read, and only its [warehouse] counts here") {
				t.Errorf("%s: %q: exit code %d, %s", name, args, got.code, got.err)
			}
		}
		broken.call(t, "check", "--offline").want(t, 2)
	}
	// Where the place of the warehouse itself is not known, no other one is taken for it.
	broken := *b
	broken.config = b.write(t, "[warehouse]\ndsn = 7\n")
	broken.call(t, "status").want(t, 2, "dsn")
	broken.config = b.write(t, "[daemon\n"+string(good))
	broken.call(t, "status").want(t, 2, "invalid TOML")
}
