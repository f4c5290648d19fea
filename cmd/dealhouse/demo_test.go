//go:build !noengine

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/service"
)

// The demo shows what it should, leaves behind what it says, can be looked into while it serves, and can be
// repeated on the same folder. It loads 80,000 transactions, so it is for wide samples. How long it takes is measured
// by .ci/run, without the race detector.
func TestDemo(t *testing.T) {
	enginetest.OnlyWide(t)
	dir := filepath.Join(t.TempDir(), "demo-data")
	p := start(t, nil, "demo", "--data", dir, "--serve")
	for _, text := range []string{
		"First sync", "^acme +transactions +full +39,999 +39,999 ", "Second sync, 3 days later", "incremental",
		"had to be read", "Cashback by retailer", "EUR", "GBP",
		"Transactions by month and status", "Payouts: the last 3",
		"8 match their transactions, 2 have transactions that changed", "Payout 623: 1 of 2,930 transactions is not loaded",
	} {
		p.find(t, text)
	}
	warehouse := p.find(t, `warehouse +(http://\S+) `)[1]
	api := p.find(t, `API +(http://\S+)`)[1]
	key := p.find(t, `key of acme +(\S+)`)[1]
	if status, body := ask(t, warehouse+"/?database=dealhouse", "",
		"SELECT count() > 80000 FROM transactions"); status != http.StatusOK || body != "1" {
		t.Errorf("%d %s", status, body)
	}
	call(t, []string{"DEALHOUSE_WAREHOUSE_DSN=" + warehouse + "/dealhouse"}, "status").want(t, 0)
	mine := []string{
		"DEALHOUSE_WAREHOUSE_DSN=embedded:" + filepath.Join(t.TempDir(), "my-data"), "DEALHOUSE_ACCOUNT=acme",
		"DEALHOUSE_BASE_URL=" + api, "DEALHOUSE_API_KEY=" + key,
	}
	turn := engineTurn(t)
	got := call(t, mine, "sync", "payouts", "-o", "csv")
	got.want(t, 0)
	got.shows(t, fmt.Sprintf("acme,payouts,snapshot,%d,", 11))
	p.find(t, "DEALHOUSE_ACCOUNT=acme")
	p.signal(t, syscall.SIGINT)
	ended := p.finish(t)
	ended.want(t, 130)
	fitsATerminal(t, ended)
	asTheReadmeShows(t, ended.out)

	release := hold(t, dir)
	env := []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + dir}
	got = call(t, env, "query", "SELECT status, count() FROM transactions GROUP BY ALL")
	got.want(t, 0)
	got.shows(t, "CONFIRMED")
	got = call(t, env, "query", "SELECT count() > 0 AS gone FROM coupons_history WHERE valid_to IS NOT NULL", "-o", "csv")
	got.shows(t, "gone\n1\n")
	call(t, env, "runs").shows(t, "globex   transactions     incremental")
	if os.Remove(filepath.Join(dir, service.DemoFile)) != nil {
		t.Error("the folder is not marked")
	}
	call(t, env, "demo", "--data", dir).want(t, 2, "something other than a demo")
	if err := os.WriteFile(filepath.Join(dir, service.DemoFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release()
	turn()

	p = start(t, nil, "demo", "--data", dir)
	p.find(t, "^acme +transactions +full +39,999 +39,999 ") // from the beginning again
	p.signal(t, syscall.SIGINT)
	p.finish(t).want(t, 130)
}

// What the demo says to type next leaves no variable behind, which the commands for an API of one's own would obey.
func TestNextStepsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	for kept, times := range map[bool]int{false: 1, true: 4} {
		var out bytes.Buffer
		d := demonstration{app: &app{program: "go run ./cmd/dealhouse", stdout: &out}, dir: "./demo-data", kept: kept}
		d.printNextSteps()
		steps := strings.ReplaceAll(out.String(), "\\\n", "")
		if n := strings.Count(steps, "  DEALHOUSE_WAREHOUSE_DSN=embedded:./demo-data     go run ./cmd/dealhouse "); n != times ||
			strings.Contains(steps, "export") {
			t.Errorf("kept %t: %d commands have the variable, want %d:\n%s", kept, n, times, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > demoWidth {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

// asTheReadmeShows: each line of the README's excerpt of a demo is one that the demo prints.
func asTheReadmeShows(t *testing.T, out string) {
	t.Helper()
	shown := 0
	for _, b := range readDocument(t, "README.md").blocks {
		if b.language != "text" {
			continue
		}
		for line := range strings.Lines(b.text) {
			line = strings.TrimSpace(line)
			if line == "" || line == "..." {
				continue
			}
			if shown++; !strings.Contains(out, line) {
				t.Errorf("the README shows a line that the demo does not print: %s", line)
			}
		}
	}
	if shown < 6 {
		t.Errorf("%d lines of the README are of a demo: it has another form than this test reads", shown)
	}
}

// fitsATerminal: no line that the demo shows is too wide, and no log line that repeats a table stands before or between
// its tables.
func fitsATerminal(t *testing.T, got outcome) {
	t.Helper()
	for line := range strings.Lines(got.out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > demoWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, text := range []string{"level=WARN", "stream ended", "requested deals"} {
		if strings.Contains(got.err, text) {
			t.Errorf("the log says what the tables say:\n%s", got.err)
			break
		}
	}
}
