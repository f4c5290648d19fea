//go:build !noengine && (linux || darwin)

package chdb

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestToolsAreServed: what BI tools and the official clients send when they connect and look around goes through.
func TestToolsAreServed(t *testing.T) {
	t.Parallel()
	srv := door(t, HandlerOptions{})
	db := connect(t)
	do(t, db, "CREATE TABLE s (a Int64, b String, at DateTime64(3, 'UTC'), amount Decimal(18, 4)) ENGINE = MergeTree ORDER BY a")
	do(t, db, "CREATE VIEW p AS SELECT a FROM s WHERE b = {b:String}")
	f, err := os.Open(filepath.Join("testdata", "tools.txt"))
	must(t, err)
	defer f.Close() //nolint:errcheck // it is only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		v := url.Values{}
		if rest, ok := strings.CutPrefix(line, "?"); ok {
			var query string
			query, line, _ = strings.Cut(rest, " ")
			v, err = url.ParseQuery(query)
			must(t, err)
		}
		v.Set("database", "t"+hexName(t))
		if status, body, _ := post(t, srv, line, v); status != http.StatusOK {
			t.Errorf("%s: %d %s", line, status, body)
		}
	}
}

var (
	sqlFence = regexp.MustCompile("(?s)```sql\n(.*?)```")
	rawSQL   = regexp.MustCompile(`"rawSql": *("(?:[^"\\]|\\.)*")`)
	inShell  = regexp.MustCompile(`dealhouse query "([^"]+)"`)
	// What Grafana fills in before it sends a query.
	quoted     = regexp.MustCompile(`'\$\{[^}]+:percentencode\}'`)
	variable   = regexp.MustCompile(`\$\{[^}]+\}`)
	macro      = regexp.MustCompile(`\$__[a-zA-Z_]+\([^)]*\)`)
	bareMacros = regexp.MustCompile(`\$__?[a-zA-Z_]+`)
)

// TestOwnQueriesAreAllowed: the guard has nothing against what the documents and dashboards ask.
func TestOwnQueriesAreAllowed(t *testing.T) {
	t.Parallel()
	var queries []string
	add := func(file string) {
		b, err := os.ReadFile(file)
		must(t, err)
		for _, m := range sqlFence.FindAllStringSubmatch(string(b), -1) {
			for part := range strings.SplitSeq(m[1], ";\n") {
				queries = append(queries, part)
			}
		}
		for _, m := range inShell.FindAllStringSubmatch(string(b), -1) {
			queries = append(queries, m[1])
		}
		for _, m := range rawSQL.FindAllStringSubmatch(string(b), -1) {
			sql, err := strconv.Unquote(m[1])
			must(t, err)
			sql = quoted.ReplaceAllString(sql, "'x'")
			sql = variable.ReplaceAllString(sql, "'x'")
			sql = macro.ReplaceAllString(sql, "toDateTime(1)")
			queries = append(queries, bareMacros.ReplaceAllString(sql, "1"))
		}
	}
	root := filepath.Join("..", "..")
	for _, name := range []string{"README.md", "schema/README.md", "schema/PAYOUTS.md", "schema/DICTIONARY.md", "deploy/README.md", "deploy/RUNBOOK.md"} {
		add(filepath.Join(root, filepath.FromSlash(name)))
	}
	dashboards, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "dashboards", "*.json"))
	must(t, err)
	for _, file := range dashboards {
		add(file)
	}
	for _, sql := range queries {
		sql = strings.TrimSpace(sql)
		if sql == "" || sql == "SQL" || strings.Contains(sql, "ON CLUSTER") {
			continue
		}
		q := &query{sql: sql, readOnly: true}
		st := parseStatement(sql)
		if err := shared.in.examine(context.Background(), q, &st, false); err != nil && !hasCode(err, codeUnknownFunction) { // a view with parameters that is not here
			t.Errorf("%s: %v", sql, err)
		}
	}
	t.Logf("%d queries", len(queries))
}

// TestPersistedIsJudged: what somebody has made past the doors is not served, and can be dropped.
func TestPersistedIsJudged(t *testing.T) {
	t.Parallel()
	db, file := connect(t), secret(t)
	do(t, db, "CREATE VIEW persisted_leak AS SELECT arrayMap(x -> file(x), ['"+file+"']) AS x")
	do(t, db, "CREATE VIEW persisted_good AS SELECT upper('a') AS x")
	in := shared.in
	c, err := in.connectExaminer()
	must(t, err)
	defer c.close()
	kinds, err := in.tokenKinds(c)
	must(t, err)
	names, err := (&persisted{}).judged(in, c, kinds)
	must(t, err)
	if !names["persisted_leak"] || names["persisted_good"] {
		t.Fatalf("judged: %v", names)
	}
	for sql, served := range map[string]bool{
		"SELECT * FROM persisted_leak": false, "SELECT * FROM `persisted_leak`": false, "SELECT * FROM Persisted_LEAK": false,
		"SELECT joinGet('persisted_leak', 'x', 1)": false, "DROP VIEW persisted_leak": true, "SELECT * FROM persisted_good": true,
	} {
		x := &examination{conn: c, kinds: kinds}
		must(t, x.split(sql))
		if err := x.avoid(names); (err == nil) != served {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// BenchmarkExamine is what the guard adds to a query.
func BenchmarkExamine(b *testing.B) {
	q := &query{readOnly: true, sql: `SELECT account, status, count(), sum(cashback), round(avg(x), 2) FROM (SELECT t.*, c.name FROM transactions AS t
 LEFT JOIN coupons AS c ON t.id = c.id WHERE t.a IN (1, 2, 3) AND toDate(t.at) >= today() - 30) GROUP BY ALL ORDER BY ALL LIMIT 10`}
	st := parseStatement(q.sql)
	for b.Loop() {
		must(b, shared.in.examine(context.Background(), q, &st, false))
	}
}
