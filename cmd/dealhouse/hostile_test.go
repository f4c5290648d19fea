//go:build !noengine

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/term"
)

// hostile is what an upstream that wants the terminal writes: sequences that clear, colour, link and set the title, in
// both codings; marks that turn the direction; lines of ours, forged; a NUL; what shows as nothing.
const hostile = "=\u202e\x1b[2J\x1b[31m\u009b1A\u009d0;owned\u009c\x1b]8;;http://evil\a\u202egnp\u2066\u200b\u061c\u2028\u2029\ufeff\U000e0041\r\n" +
	"error: forged by the API\ntime=2026-01-01T00:00:00Z level=ERROR msg=\"forged by the API\"\n" +
	"\x00\b\v\f\x7f\t\u0085end"

// loneBytes stands in a record for bytes that are no UTF-8, which no JSON encoder would write.
const loneBytes = "LONE-BYTES"

// forgery finds a line that begins as ours do. The text may be shown within a line.
var forgery = regexp.MustCompile(`(?m)^\s*(error: |time=\S+ level=\S+ msg=\\?")forged by the API`)

// tame fails the test when an output holds what steers a terminal. In CSV and HTML a quoted line break is the
// grammar's, so lines are not looked at.
func tame(t *testing.T, what, output string, lines bool) {
	t.Helper()
	output = strings.TrimPrefix(output, "\ufeff") // the mark that CSV begins with
	if !utf8.ValidString(output) {
		t.Errorf("%s: bytes that are no text", what)
	}
	for at, r := range output {
		bad := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0x61c || r == 0x200b || r == 0x200e ||
			r == 0x200f ||
			r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff || r >= 0xe0000 && r < 0xe0080
		if bad {
			t.Errorf("%s: %U in %q", what, r, output[max(0, at-80):min(len(output), at+20)])
			return
		}
	}
	if line := forgery.FindString(output); lines && line != "" {
		t.Errorf("%s: a forged line: %q", what, line)
	}
}

// callHostile runs a command and looks at all that it prints.
func (b *bench) callHostile(t *testing.T, args ...string) outcome {
	t.Helper()
	got := b.call(t, args...)
	name := strings.Join(args, " ")
	name = name[:min(len(name), 80)]
	plain := !slices.Contains(args, "csv") && !slices.Contains(args, "html")
	tame(t, name, got.out, plain)
	tame(t, name+", stderr", got.err, true)
	for line := range strings.Lines(got.err) {
		if len(line) > 3*term.MaxEcho {
			t.Errorf("%s: a line of %d bytes on stderr: %.300s", name, len(line), line)
		}
	}
	if slices.Contains(args, "json") && got.out != "" && !json.Valid([]byte(got.out)) {
		t.Errorf("%s: no JSON: %.300s", name, got.out)
	}
	if slices.Contains(args, "csv") {
		if _, err := csv.NewReader(strings.NewReader(got.out)).ReadAll(); err != nil {
			t.Errorf("%s: no CSV: %v", name, err)
		}
	}
	return got
}

// poison puts records into a stream: one in which every text that may be anything is hostile, and for each field one
// in which only that is; fields of hostile names; and one that is hostile as a whole.
func (b *bench) poison(t *testing.T, stream string) {
	t.Helper()
	var original map[string]any
	for record := range b.sim.Truth(stream, "acme") {
		if err := json.Unmarshal(record, &original); err != nil {
			t.Fatal(err)
		}
		break
	}
	next := 0
	put := func(change func(map[string]any)) {
		record := map[string]any{}
		for name, value := range original {
			record[name] = value
		}
		next++
		switch stream {
		case apisim.StreamPayouts:
			record["id"] = 4711000 + next
		case apisim.StreamProducts:
			record["url"] = fmt.Sprintf("https://shop.example/%d", next)
		default:
			record["id"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", next)
		}
		change(record)
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte(loneBytes), []byte("\xff\x9b\xe2\x80"))
		if err := b.sim.Put(stream, "acme", text); err != nil {
			t.Fatal(err)
		}
	}
	put(func(record map[string]any) {
		for name, value := range record {
			text, is := value.(string)
			_, notTime := time.Parse(time.RFC3339, text)
			if is && notTime != nil && name != "id" && name != "url" && name != "status" {
				record[name] = hostile + loneBytes + name
			}
		}
		record[hostile+"unknown"] = hostile
		record[loneBytes] = "x"
	})
	for name := range original {
		put(func(record map[string]any) { record[name] = hostile + strings.Repeat("very long ", 1000) })
		put(func(record map[string]any) { record[name] = []any{map[string]any{hostile: hostile}} })
	}
	if err := b.sim.Put(stream, "acme", []byte(`"\u001b[2J`+"\u009b\u202e\xff"+`"`)); err != nil {
		t.Fatal(err)
	}
}

// rude is a service whose failures are hostile to the last byte: status line, headers and body.
type rude struct {
	sim    http.Handler
	answer atomic.Pointer[string] // instead of the simulator's
}

func (s *rude) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := s.answer.Load()
	if answer == nil {
		s.sim.ServeHTTP(w, r)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close() //nolint:errcheck // whoever reads it has what was written
	_, _ = io.WriteString(conn, *answer)
}

// rudeAnswers are answers that fail in each way that a client tells apart.
func rudeAnswers() map[string]string {
	header := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(hostile)
	body, err := json.Marshal(map[string]any{"error": map[string]any{"code": hostile, "message": hostile}})
	if err != nil {
		panic(err)
	}
	all := map[string]string{
		"no HTTP":       hostile,
		"half a header": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n" + header,
		"cut":           "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + `{"data":[` + hostile,
		"encoding":      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: " + header + "\r\n\r\n{}",
		"bad header":    "HTTP/1.1 200 OK\r\nConnection: close\r\n" + header + ": x\r\n\r\n{}",
		"bad length":    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + header + "\r\n\r\n{}",
		"shape": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + `{"data":[],"` + "\u009b\u202e" + `":1,"error":` +
			string(body) + `}`,
		"cursor": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + `{"data":[{"id":"x"}],"nextPage":"` +
			"\u009b\u202e\\u001b" + `","meta":{"nextCursor":"` + "\u009b\u202e" + `"}}`,
	}
	for _, status := range []int{302, 400, 401, 404, 429, 500} {
		line := fmt.Sprintf("HTTP/1.1 %d %s\r\nConnection: close\r\nLocation: https://%s/\r\nRetry-After: %s\r\nDate: %s\r\nX-Evil: %s\r\n\r\n", status, header, header, header, header, header)
		all[fmt.Sprint(status)] = line + string(body)
		all[fmt.Sprint(status, " as text")] = line + hostile + strings.Repeat("very long ", 1000)
	}
	return all
}

// sample is what to try of many cases: all in CI, which sets TEST_SAMPLE=wide, and else every nth, beginning with the
// one that n gives, so that tests with one after the other still meet each kind.
func sample[T any](all []T, nth, first int) []T {
	if enginetest.Wide() {
		return all
	}
	var some []T
	for i := first % nth; i < len(all); i += nth {
		some = append(some, all[i])
	}
	return some
}

// TestNoUpstreamSpeaksToTheTerminal loads what a hostile upstream has to offer, and runs every command that shows any
// of it: in CI in every form and in the log of the daemon, else each command and each form once. For wide samples: a
// step of .ci/run has it; TestEscaping of the pages and the tests of package output escape the same.
func TestNoUpstreamSpeaksToTheTerminal(t *testing.T) {
	enginetest.OnlyWide(t)
	engineHere(t)
	b := newBench(t)
	upstream := &rude{sim: b.sim}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	b.config = b.write(t, fmt.Sprintf(`
[warehouse]
dsn = "embedded:%s"
[defaults]
requests_per_second = 1000
max_retry_elapsed = "0s"
max_rejected_ratio = 1
max_delete_ratio = 1
[[account]]
name = "acme"
base_url = %q
api_key = "env:ACME_KEY"
`, b.dir, server.URL))
	for _, stream := range apisim.Streams() {
		b.poison(t, stream)
	}
	b.callHostile(t, "migrate")
	defer hold(t, b.dir)()
	outputs := []string{"table", "json", "csv"}

	for i, output := range sample(outputs, len(outputs), 0) {
		got := b.callHostile(t, "sync", "--full", "--output", output, "--log-format", []string{"text", "json", "text"}[i])
		if i == 0 && (!strings.Contains(got.err, `\u202e`) || !strings.Contains(got.out, "success")) {
			t.Errorf("the hostile fields were not told of, or nothing was loaded:\n%s%s", got.out, got.err)
		}
	}
	for i, view := range []string{"promotions", "coupons", "cashback_offers", "transactions", "payouts", "products",
		"rejected_records", "sync_runs"} {
		for _, output := range sample([]string{"table", "json", "csv", "jsonl"}, 4, i) {
			sql := "SELECT * FROM " + view + " WHERE account = 'acme' ORDER BY ALL LIMIT 30"
			if got := b.callHostile(t, "query", sql, "--output", output); got.code != 0 || view == "coupons" &&
				!strings.Contains(got.out, `\u202e`) {
				t.Errorf("%s as %s: %d %s %.300s", view, output, got.code, got.err, got.out)
			}
		}
	}
	for _, sql := range []string{
		"SELECT toUInt64(code) FROM coupons WHERE code LIKE '%forged%'",
		"SELECT throwIf(1, " + sqlString(hostile) + ")",
		"SELECT * FROM `" + strings.NewReplacer("\\", `\\`, "\x00", "").Replace(hostile) + "`",
		"SELECT '" + strings.Repeat("a long statement ", 9000) + "' AS " + "\u202e\u009b",
	} {
		if got := b.callHostile(t, "query", sql); got.code == 0 || got.err == "" {
			t.Errorf("%.80s: %+v", sql, got)
		}
	}
	for _, output := range append(outputs, "jsonl") {
		b.callHostile(t, "query", "SELECT "+sqlString(hostile)+" AS `\u202e\u009b=x`, ["+sqlString(hostile)+
			"] AS list, -1 AS n", "--output", output)
	}
	for i, command := range []string{"runs", "status", "check", "reconcile", "rejects"} {
		for _, output := range sample(outputs, len(outputs), i) {
			b.callHostile(t, command, "--output", output)
		}
	}
	b.callHostile(t, "reconcile", "--output", "html")
	b.callHostile(t, "reconcile", "--payout", "4711001", "--output", "csv")
	b.callHostile(t, "rejects", "--all", "--output", "jsonl")
	b.callHostile(t, "rejects", "retry", "--dry-run")
	b.callHostile(t, "schema")
	b.callHostile(t, hostile)
	b.callHostile(t, "sync", hostile)
	b.callHostile(t, "status", "--"+hostile)
	if enginetest.Wide() {
		b.daemonLog(t)
	}

	answers := rudeAnswers()
	for _, name := range sample(slices.Sorted(maps.Keys(answers)), 8, 0) {
		answer := answers[name]
		upstream.answer.Store(&answer)
		args := []string{"sync", "coupons"}
		if len(name)%2 == 0 {
			args = append(args, "--log-format", "json", "--output", "json")
		}
		if got := b.callHostile(t, args...); got.code == 0 {
			t.Errorf("%s: it succeeded", name)
		}
	}
	for _, args := range [][]string{
		{"check"}, {"check", "-o", "json"}, {"healthcheck", "--url", server.URL}, {"runs"}, {"runs", "-o", "csv"}, {"status"},
		{"status", "-o", "csv"},
		{"backfill", "transactions", "--from", "2026-01-01", "--to", "2026-01-02"}, {"sync", "--push-gateway", server.URL},
	} {
		b.callHostile(t, args...)
	}
}

// sqlString is a string as SQL has it.
func sqlString(text string) string {
	return "'" + strings.NewReplacer("\\", `\\`, "'", `\'`, "\x00", `\0`).Replace(text) + "'"
}

// daemonLog runs the daemon until every stream has run once, and looks at its log and at its JSON.
func (b *bench) daemonLog(t *testing.T) {
	t.Helper()
	config := b.hurried(t, `listen = "127.0.0.1:0"`)
	for _, format := range []string{"text", "json"} {
		ctx, cancel := context.WithTimeout(t.Context(), comesWithin)
		logs, stderr := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			command(ctx, strings.NewReader(""), io.Discard, stderr, b.env, "run", "--config", config, "--log-format", format)
			_ = stderr.Close()
		}()
		lines := bufio.NewReader(logs)
		address := regexp.MustCompile(`listen"?[=:]"?([0-9.]+:\d+)`)
		done := map[string]bool{}
		var all strings.Builder
		var asking sync.WaitGroup
		var enough sync.Once
		for {
			line, err := lines.ReadString('\n')
			all.WriteString(line)
			if err != nil {
				break
			}
			if m := address.FindStringSubmatch(line); m != nil {
				asking.Go(func() { // the daemon answers only while its log is read
					for _, path := range []string{"/api/v1/status", "/api/v1/runs", "/readyz"} {
						resp, err := http.Get("http://" + m[1] + path)
						if err != nil {
							t.Error(err)
							return
						}
						tame(t, path, readAll(t, resp), true)
					}
				})
			}
			for _, stream := range catalog.Names() {
				if strings.Contains(line, stream) && strings.Contains(line, "outcome") {
					done[stream] = true
				}
			}
			if len(done) == len(catalog.Names()) {
				enough.Do(func() {
					go func() {
						asking.Wait()
						cancel()
					}()
				})
			}
		}
		cancel()
		asking.Wait()
		<-ended
		tame(t, "the log of the daemon, "+format, all.String(), true)
		if !strings.Contains(all.String(), "u202e") {
			t.Errorf("the daemon's log tells nothing of the hostile fields:\n%s", all.String())
		}
	}
}
