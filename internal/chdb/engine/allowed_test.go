package engine_test

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

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
	"dealhouse/internal/enginetest"
)

// TestToolsAreServed: the queries that BI tools and the official clients send when they connect and
// look around are allowed.
func TestToolsAreServed(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	db := connect(t)
	execute(t, db, "CREATE TABLE s (a Int64, b String, at DateTime64(3, 'UTC'), amount Decimal(18, 4)) ENGINE = MergeTree ORDER BY a")
	execute(t, db, "CREATE VIEW p AS SELECT a FROM s WHERE b = {b:String}")
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

// TestViewOfADatabase: a view with a parameter may be called with the name of its database in
// front, and nothing else may.
func TestViewOfADatabase(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	db := connect(t)
	own := "t" + hexName(t)
	execute(t, db, "CREATE TABLE s (a Int64) ENGINE = MergeTree ORDER BY a")
	execute(t, db, "CREATE VIEW p AS SELECT a FROM s WHERE a = {a:Int64}")
	execute(t, db, "CREATE VIEW q AS SELECT a FROM "+own+".p(a = {a:Int64})")
	for from, want := range map[string]int{
		own + ".p(a = 1)": http.StatusOK, own + ".q(a = 1)": http.StatusOK, own + ".s(a = 1)": http.StatusNotFound,
		own + ".url(a = 1)": http.StatusNotFound, "system.p(a = 1)": http.StatusForbidden,
	} {
		if status, body, _ := post(t, srv, "SELECT * FROM "+from, url.Values{"database": {own}}); status != want {
			t.Errorf("%s: %d %s, want %d", from, status, body, want)
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

// TestOwnQueriesAreAllowed: the guard allows the queries in the documents and dashboards.
func TestOwnQueriesAreAllowed(t *testing.T) {
	t.Parallel()
	g := freshGuard(t)
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
	for _, pattern := range []string{"*.md", "schema/*.md", "deploy/*.md", "deploy/grafana/dashboards/*.json"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", pattern))
		must(t, err)
		for _, file := range files {
			add(file)
		}
	}
	for _, sql := range queries {
		sql = strings.TrimSpace(sql)
		if sql == "" || sql == "SQL" || strings.Contains(sql, "ON CLUSTER") || strings.Contains(sql, "\nGRANT ") ||
			strings.HasPrefix(sql, "GRANT ") {
			continue // for people who administer a server
		}
		if err := examine(g, guard.Request{SQL: sql, ReadOnly: true}); err != nil &&
			!hasCode(err, exception.UnknownFunction) { // a view with parameters that does not exist here
			t.Errorf("%s: %v", sql, err)
		}
	}
	t.Logf("%d queries", len(queries))
}

// examine has a guard examine one request.
func examine(g *guard.Guard, r guard.Request) error {
	st := engine.ParseStatement(r.SQL)
	r.Head = st.Head
	return g.Examine(context.Background(), &r)
}

// freshGuard returns a guard of the shared engine that has judged nothing yet.
func freshGuard(t testing.TB) *guard.Guard {
	t.Helper()
	g := shared.FreshGuard()
	t.Cleanup(g.Close)
	return g
}

// TestNoNameOfTheHost: clients get an answer when they ask for the host's name, but not the name of the machine.
func TestNoNameOfTheHost(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	if status, body, _ := ask(t, srv, http.MethodPost, "SELECT displayName(), timezone()", nil,
		nil); status != http.StatusOK || body != "chdb\tUTC\n" {
		t.Errorf("%d %q", status, body)
	}
}

// TestPersistedIsJudged: an object that was made past the doors and is not allowed is not served, and no object that
// needs it is. Both can be dropped.
func TestPersistedIsJudged(t *testing.T) {
	t.Parallel()
	db, file := connect(t), secret(t)
	execute(t, db, "CREATE VIEW persisted_leak AS SELECT arrayMap(x -> file(x), ['"+file+"']) AS x")
	execute(t, db, "CREATE VIEW persisted_good AS SELECT upper('a') AS x")
	execute(t, db, "CREATE VIEW persisted_upon AS SELECT x FROM `persisted_leak`")
	execute(t, db, "CREATE VIEW Persisted_upon_too AS SELECT 1 AS x WHERE x IN (SELECT 1 FROM persisted_upon)")
	execute(t, db, "CREATE VIEW persisted_far AS SELECT * FROM (SELECT x FROM Persisted_upon_too)")
	execute(t, db, `CREATE VIEW "persisted\\'odd" AS SELECT x FROM persisted_leak`)
	execute(t, db, `CREATE VIEW persisted_odd AS SELECT x FROM "persisted\\'odd"`)
	execute(t, db, "CREATE FUNCTION persisted_leaks AS x -> file(x)")
	execute(t, db, "CREATE FUNCTION persisted_calls AS x -> upper(persisted_leaks(x))")
	execute(t, db, "CREATE TABLE persisted_table (a String, b String DEFAULT persisted_leaks(a)) ENGINE = MergeTree ORDER BY a")
	execute(t, db, "CREATE TABLE persisted_note (a String COMMENT 'as persisted_leak') ENGINE = MergeTree ORDER BY a "+
		"COMMENT 'beside persisted_leak'")
	execute(t, db, "CREATE VIEW persisted_self AS SELECT 1 AS persisted_self")
	g := freshGuard(t)
	for sql, served := range map[string]bool{
		"SELECT * FROM persisted_leak": false, "SELECT * FROM `persisted_leak`": false, "SELECT * FROM Persisted_LEAK": false,
		"SELECT joinGet('persisted_leak', 'x', 1)": false, "SELECT 'd.persisted_leak'": false,
		"DROP VIEW persisted_leak": true, "SELECT * FROM persisted_good": true,
		"SELECT * FROM persisted_upon": false, "SELECT * FROM persisted_far": false, "SELECT 1 AS persisted_far": false,
		"SELECT * FROM persisted_odd": false, `SELECT * FROM "persisted\\'odd"`: false,
		"SELECT persisted_calls('a')": false, "SELECT a FROM persisted_table": false,
		"INSERT INTO persisted_table (a) SELECT 'x'": false, "DROP TABLE persisted_table": true,
		"SELECT * FROM persisted_note": true, "SELECT * FROM persisted_self": true,
	} {
		for range 2 {
			if err := examine(g, guard.Request{SQL: sql}); (err == nil) != served {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
}

// BenchmarkExamine measures what the guard adds to a query: to one that it has not seen lately, and to one that it has.
func BenchmarkExamine(b *testing.B) {
	const sql = `SELECT account, status, count(), sum(cashback), round(avg(x), 2) FROM (SELECT t.*, c.name FROM transactions AS t
 LEFT JOIN coupons AS c ON t.id = c.id WHERE t.a IN (1, 2, 3) AND toDate(t.at) >= today() - 30) GROUP BY ALL ORDER BY ALL LIMIT `
	for _, name := range []string{"new", "seen"} {
		b.Run(name, func(b *testing.B) {
			g, n := freshGuard(b), 10
			for b.Loop() {
				if name == "new" {
					n++
				}
				must(b, examine(g, guard.Request{SQL: sql + strconv.Itoa(n), ReadOnly: true}))
			}
		})
	}
}

// TestVerdictsAreRemembered: a statement that was allowed is allowed again only if nothing relevant has changed.
func TestVerdictsAreRemembered(t *testing.T) {
	t.Parallel()
	db, g := connect(t), freshGuard(t)
	for name, c := range map[string]struct{ good, bad guard.Request }{
		"other rights": {guard.Request{SQL: "INSERT INTO x SELECT 1"},
			guard.Request{SQL: "INSERT INTO x SELECT 1", ReadOnly: true}},
		"another database": {guard.Request{SQL: "SELECT * FROM disks"},
			guard.Request{SQL: "SELECT * FROM disks", Database: "system"}},
		"the head of other data": {guard.Request{SQL: "INSERT INTO x FORMAT CSV 1", Fed: true, Input: "CSV"},
			guard.Request{SQL: "INSERT INTO x"}},
		"with a setting": {guard.Request{SQL: "SELECT 1"},
			guard.Request{SQL: "SELECT 1", Settings: map[string]string{"format_schema": "/etc"}}},
		"with a parameter": {guard.Request{SQL: "SELECT {p:String}"},
			guard.Request{SQL: "SELECT {p:String}", Params: []library.Param{{Name: "p", Value: "file:/etc/passwd"}}}},
		"in another output format": {guard.Request{SQL: "SELECT 2"}, guard.Request{SQL: "SELECT 2", Format: "MySQLDump"}},
	} {
		for range 2 {
			must(t, examine(g, c.good))
			if err := examine(g, c.bad); err == nil {
				t.Errorf("%s: it was let through", name)
			}
		}
	}
	// A function that a user has made may be gone the next time.
	name := "f" + hexName(t)
	execute(t, db, "CREATE FUNCTION "+name+" AS x -> x + 1")
	made := guard.Request{SQL: "SELECT " + name + "(1)", ReadOnly: true}
	must(t, examine(g, made))
	execute(t, db, "DROP FUNCTION "+name)
	if err := examine(g, made); err == nil {
		t.Error("a function that is gone is let through")
	}
}
