package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// The requests of drivers, as they are in the drivers' own sources. Clients that can be installed are run.

// TestODBC sends what clickhouse-odbc sends (Power BI, Excel, Tableau): to /query, in its own format.
func TestODBC(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{MaxBufferedBytes: 1 << 20})
	const rows = 150_000
	v := url.Values{"default_format": {"ODBCDriver2"}, "database": {"default"}, "enable_http_compression": {"1"},
		"cast_keep_nullable": {"1"}, "prefer_column_name_to_alias": {"1"},
		"session_id":    {"0b2f2c9e-5a26-4e3c-a3f2-4c1f8f0b7c11"},
		"param_odbc_p1": {"7"}}
	for sql, want := range map[string]int{
		"SELECT 1": 1,
		"SELECT number, toString(number), NULL FROM numbers(" + strconv.Itoa(rows) + ") WHERE number >= {odbc_p1:Nullable(Int64)}":                                                                                                                                                                                                                                          rows - 7,
		"SELECT CAST(name, 'Nullable(String)') AS TABLE_CAT, CAST(NULL, 'Nullable(String)') AS TABLE_SCHEM, CAST(NULL, 'Nullable(String)') AS TABLE_NAME, CAST(NULL, 'Nullable(String)') AS TABLE_TYPE, CAST(NULL, 'Nullable(String)') AS REMARKS FROM system.databases WHERE name = 'default'":                                                                             1,
		"SELECT cast(database, 'Nullable(String)') AS TABLE_CAT, cast(table, 'String') AS TABLE_NAME, cast(name, 'String') AS COLUMN_NAME, cast(0, 'Int16') AS DATA_TYPE, cast(position, 'Int32') AS ORDINAL_POSITION FROM system.columns WHERE (1 == 1) AND TABLE_NAME LIKE 'one' AND coalesce(TABLE_CAT, '') = 'system' ORDER BY TABLE_CAT, TABLE_NAME, ORDINAL_POSITION": 1,
		"SELECT * FROM (SELECT cast('Int8', 'String') AS TYPE_NAME, cast(-6, 'Int16') AS DATA_TYPE, cast(NULL, 'Nullable(String)') AS LITERAL_PREFIX UNION ALL SELECT cast('String', 'String') AS TYPE_NAME, cast(12, 'Int16') AS DATA_TYPE, cast('''', 'Nullable(String)') AS LITERAL_PREFIX) ORDER BY DATA_TYPE":                                                          2,
		"SELECT 1 WHERE 0": 0,
	} {
		req, err := http.NewRequest(http.MethodPost, srv.URL+"/query?"+v.Encode(), io.MultiReader(strings.NewReader(sql)))
		must(t, err)
		req.Header.Set("Accept-Encoding", "zstd")
		req.SetBasicAuth("default", "")
		resp, err := plain.Do(req)
		must(t, err)
		b, err := io.ReadAll(resp.Body)
		must(t, errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != http.StatusOK || resp.Header.Get("X-ClickHouse-Format") != "ODBCDriver2" {
			t.Errorf("%s: %s %.300s", sql, resp.Status, b)
			continue
		}
		if got, err := odbcRows(b); err != nil || got != want {
			t.Errorf("%s: %d rows, want %d: %v", sql, got, want, err)
		}
	}
	resp, err := plain.Post(srv.URL+"/query?"+v.Encode(), "", strings.NewReader("SELECT * FROM nowhere"))
	must(t, err)
	must(t, resp.Body.Close())
	if resp.Header.Get("X-ClickHouse-Exception-Code") != "60" {
		t.Errorf("%v", resp.Header)
	}
}

// odbcRows counts the rows as the driver reads them: two rows with a number in front, then the cells one after another.
func odbcRows(b []byte) (rows int, err error) {
	next := func() int {
		if len(b) < 4 {
			err = io.ErrUnexpectedEOF
			return 0
		}
		n := int(int32(binary.LittleEndian.Uint32(b)))
		b = b[4:]
		return n
	}
	text := func() {
		if n := next(); n > len(b) {
			err = io.ErrUnexpectedEOF
		} else if n > 0 {
			b = b[n:]
		}
	}
	columns := 0
	for range next() {
		columns = next()
		for range columns {
			text()
		}
	}
	for len(b) > 0 && err == nil {
		rows++
		for range columns - 1 {
			text()
		}
	}
	return rows, err
}

// jdbcTypes are some of the types that clickhouse-jdbc asks about.
const jdbcTypes = "('Bool',1,false,0,0),('Date',10,false,0,0),('DateTime64',29,false,0,9),('Int64',19,true,0,0)," +
	"('Decimal',76,true,0,76),('String',0,false,0,0),('LowCardinality',0,false,0,0)"

// TestJDBC sends what clickhouse-jdbc sends (DBeaver, Metabase, Looker).
func TestJDBC(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{MaxBufferedBytes: 1 << 20})
	v := url.Values{"default_format": {"RowBinaryWithNamesAndTypes"}, "compress": {"1"}}
	for _, sql := range []string{
		"SELECT currentUser() AS user, timezone() AS timezone, version() AS version, getSetting('readonly') AS readonly FORMAT RowBinaryWithNamesAndTypes",
		"SELECT name AS TYPE_NAME, CAST(0 as Int32) AS DATA_TYPE, CAST(attrs.c2 AS Nullable(Int32)) AS PRECISION, CAST(not(attrs.c3) AS Boolean) AS UNSIGNED_ATTRIBUTE FROM system.data_type_families dt  LEFT JOIN (SELECT * FROM VALUES ( " +
			jdbcTypes + ") ) as attrs ON (dt.name = attrs.c1) WHERE alias_to == ''  ORDER BY name",
		"SELECT c1 as NAME, c2 as MAX_LEN, c3 as DEFAULT_VALUE, c4 as DESCRIPTION FROM VALUES (('ApplicationName', 255, '', 'Client application name.'), ('ClientUser', 10, '', 'a (b), ''c'''))",
	} {
		status, body, _ := post(t, srv, sql, v)
		if status != http.StatusOK {
			t.Errorf("%.100s: %d %s", sql, status, body)
		}
	}
	// A result that is larger than what may be buffered, and the text of an error in its middle.
	const rows = 200_000
	for sql, reason := range map[string]string{
		"SELECT number, toString(number) AS s FROM numbers(200000)":                     "",
		"SELECT number, throwIf(number = 150000, 'in the middle') FROM numbers(200000)": "in the middle",
	} {
		v.Set("max_block_size", "1000")
		resp, err := plain.Post(srv.URL+"/?"+v.Encode(), "", strings.NewReader(sql))
		must(t, err)
		b, err := io.ReadAll(compress.NewReader(resp.Body))
		_ = resp.Body.Close()
		switch {
		case reason == "" && (err == nil || !errors.Is(err, io.EOF) && !strings.HasSuffix(err.Error(), ": EOF") || binary.LittleEndian.Uint64(b[len(b)-8-7:]) != rows-1):
			t.Errorf("%s: %v, %d bytes", sql, err, len(b))
		case reason != "" && (err == nil || !strings.Contains(string(b), "\r\n__exception__\r\n"+
			resp.Header.Get("X-ClickHouse-Exception-Tag")+"\r\nCode: 395.") || !strings.Contains(string(b), reason)):
			t.Errorf("%s: %v ... %q", sql, err, b[max(0, len(b)-300):])
		}
	}
}

// TestKillQuery: the statement by which JDBC cancels ends the query that it names, and no other.
func TestKillQuery(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for _, writes := range []bool{false, true} {
		srv := openDoor(t, contract.HandlerOptions{AllowWrites: writes})
		type end struct {
			status int
			body   string
		}
		ended := map[string]chan end{"a-1": make(chan end, 1), "b-2": make(chan end, 1)}
		for id, c := range ended {
			go func() {
				resp, err := plain.Post(srv.URL+"/?query_id="+id, "", strings.NewReader(endless))
				if err != nil {
					c <- end{0, err.Error()}
					return
				}
				b, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				c <- end{resp.StatusCode, string(b)}
			}()
		}
		kill := func(sql, id string) {
			t.Helper()
			for begin := time.Now(); ; {
				status, body, _ := post(t, srv, sql, url.Values{"default_format": {"CSV"}})
				if status != http.StatusOK {
					t.Fatalf("%s: %d %s", sql, status, body)
				}
				if body != "" {
					if !strings.HasPrefix(body, `"waiting","`+id+`"`) {
						t.Errorf("%s: %s", sql, body)
					}
					return
				}
				if time.Since(begin) > patience { // it had not begun
					t.Fatalf("%s: no such query", sql)
				}
			}
		}
		kill("KILL QUERY WHERE query_id = 'a-1'", "a-1")
		if e := <-ended["a-1"]; e.status != 500 || !strings.Contains(e.body, "Code: 394.") {
			t.Errorf("%+v", e)
		}
		select {
		case e := <-ended["b-2"]:
			t.Errorf("the other query has ended too: %+v", e)
		default:
		}
		kill("kill query on cluster `main` where query_id='b-2' sync", "b-2")
		<-ended["b-2"]
		for _, sql := range []string{"KILL QUERY WHERE 1", "KILL QUERY WHERE query_id = 'x' OR 1", "KILL QUERY WHERE query_id = 'x' AND file('y') = ''",
			"KILL MUTATION WHERE 1", "KILL QUERY WHERE user = 'default'", "KILL QUERY WHERE query_id = 'a\\' OR 1 --'"} {
			if status, body, _ := post(t, srv, sql, nil); status == http.StatusOK {
				t.Errorf("%s: %s", sql, body)
			}
		}
	}
}

// form returns a body in parts. A name that ends in a ! is of a file.
func form(parts ...string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		h := textproto.MIMEHeader{}
		name, file := strings.CutSuffix(parts[i], "!")
		h.Set("Content-Disposition", `form-data; name="`+name+`"`)
		if file {
			h.Set("Content-Disposition", `form-data; name="`+name+`"; filename="`+name+`"`)
		}
		h.Set("Content-Type", "text/plain; charset=UTF-8")
		p, _ := w.CreatePart(h)
		_, _ = io.WriteString(p, parts[i+1])
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// TestForms: parameters, the query and settings may come as parts of the body.
func TestForms(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true, MaxQueryBytes: 1 << 20})
	var ids strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&ids, ",'id-%d'", i)
	}
	long := "[" + ids.String()[1:] + "]"
	for _, c := range []struct {
		name   string
		v      url.Values
		parts  []string
		status int
		says   string
	}{
		// clickhouse-connect and @clickhouse/client send the query so; an older JDBC has it in the URL.
		{"a long parameter", nil, []string{"query", "SELECT length({l:Array(String)}) FORMAT TSV", "param_l", long}, 200, "50000\n"},
		{"the query in the URL", url.Values{"query": {"SELECT {a:Int8} + {b:Int8}"}, "param_b": {"2"}},
			[]string{"param_a", "1"}, 200, "3\n"},
		{"a setting", nil, []string{"query", "SELECT getSetting('max_block_size')", "max_block_size", "7"}, 200, "7\n"},
		{"another format", nil, []string{"query", "SELECT 1 AS a", "default_format", "JSONEachRow"}, 200, "{\"a\":1}\n"},
		{"an external table", nil, []string{"query", "SELECT * FROM x", "x!", "1"}, 501, "Array(String)"},
		{"too long", nil, []string{"query", "SELECT 1", "param_l", strings.Repeat("x", 2<<20)}, 413, "1048576 bytes"},
		{"no query", nil, []string{"param_l", "1"}, 400, "Empty query"},
		{"a setting that nobody may change", nil, []string{"query", "SELECT 1", "format_schema", "/etc/passwd"}, 403, "format_schema"},
		{"a name of a parameter", nil, []string{"query", "SELECT * FROM {t:Identifier}", "param_t", "system.one"}, 403, "Identifier"},
	} {
		body, contentType := form(c.parts...)
		status, got, _ := ask(t, srv, http.MethodPost, body, c.v, http.Header{"Content-Type": {contentType}})
		if status != c.status || !strings.Contains(got, c.says) {
			t.Errorf("%s: %d %.300s", c.name, status, got)
		}
	}
	for _, contentType := range []string{"multipart/form-data", "multipart/form-data; boundary=x"} {
		if status, got, _ := ask(t, srv, http.MethodPost, "SELECT 1", nil,
			http.Header{"Content-Type": {contentType}}); status == http.StatusOK {
			t.Errorf("%s: %s", contentType, got)
		}
	}
	readOnly := openDoor(t, contract.HandlerOptions{})
	for _, parts := range [][]string{
		{"query", "CREATE TABLE forms (a Int8) ENGINE = Memory"}, {"query", "SELECT 1", "readonly", "0"},
		{"query", "SELECT 1; DROP TABLE forms"}, {"query", "SELECT 1", "additional_result_filter", "0"},
	} {
		body, contentType := form(parts...)
		if status, got, _ := ask(t, readOnly, http.MethodPost, body, nil,
			http.Header{"Content-Type": {contentType}}); status == http.StatusOK {
			t.Errorf("%q: %s", parts, got)
		}
	}
}

// TestSettingsAreTold: system.settings says which settings a client may choose, so that drivers send them, and what it
// calls free is taken. dbt cannot connect without three of them.
func TestSettingsAreTold(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]contract.HandlerOptions{"read-only": {}, "writes": {AllowWrites: true}} {
		srv := openDoor(t, o)
		_, got, _ := post(t, srv, "SELECT name, value, readonly as readonly FROM system.settings LIMIT 10000", nil)
		told := map[string]string{}
		for line := range strings.Lines(got) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			told[fields[0]] = fields[2]
		}
		for _, setting := range []string{"max_threads", "max_execution_time", "session_timezone", "join_use_nulls", "mutations_sync",
			"alter_sync", "insert_distributed_sync", "date_time_input_format", "cancel_http_readonly_queries_on_client_close"} {
			if told[setting] != "0" {
				t.Errorf("%s, %s: %q", name, setting, told[setting])
			}
		}
		for _, setting := range []string{"format_schema", "additional_result_filter", "dialect"} {
			if told[setting] != "1" {
				t.Errorf("%s, %s: %q", name, setting, told[setting])
			}
		}
		if status, body, _ := post(t, srv, "SELECT 1", url.Values{"mutations_sync": {"3"}, "alter_sync": {"3"},
			"insert_distributed_sync": {"1"}, "session_id": {"dbt::1"}, "wait_end_of_query": {"1"}}); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, body)
		}
		// The connection that has told it is no freer for the next query.
		for _, sql := range []string{"SELECT value FROM system.settings WHERE name = 'max_threads' SETTINGS readonly = 0",
			"SELECT value FROM system.settings SETTINGS additional_result_filter = '0'"} {
			free := o.AllowWrites && strings.Contains(sql, "readonly") // it is not locked
			if status, body, _ := post(t, srv, sql, nil); status == http.StatusOK && !free {
				t.Errorf("%s, %s: %s", name, sql, body)
			}
		}
		for sql, want := range map[string]string{
			"SELECT getSetting('max_block_size') SETTINGS max_block_size = 7": "7\n",
			"SELECT getSetting('readonly')":                                   map[string]string{"read-only": "1\n", "writes": "0\n"}[name],
		} {
			if _, body, _ := post(t, srv, sql, nil); body != want {
				t.Errorf("%s, %s: %s", name, sql, body)
			}
		}
	}
}

// TestSessions: nothing that only means something in a session is answered as if it had an effect.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, writes := range []bool{false, true} {
		srv := openDoor(t, contract.HandlerOptions{AllowWrites: writes})
		session := url.Values{"session_id": {"s1"}, "session_timeout": {"60"}}
		for _, sql := range []string{"SET max_threads = 1", "USE system", "CREATE TEMPORARY TABLE x (a Int8)",
			"create temporary table x as select 1", "SET ROLE DEFAULT"} {
			status, body, _ := post(t, srv, sql, session)
			if status == http.StatusOK || writes && !strings.Contains(body, "sessions are not kept here") && !strings.Contains(body, "not allowed") {
				t.Errorf("%s: %d %s", sql, status, body)
			}
		}
		if status, body, _ := post(t, srv, "SELECT temporary FROM (SELECT 1 AS temporary)", session); body != "1\n" {
			t.Errorf("%d %s", status, body)
		}
		session.Set("session_check", "1")
		if status, body, _ := post(t, srv, "SELECT 1", session); status != http.StatusNotFound || !strings.Contains(body, "372") {
			t.Errorf("%d %s", status, body)
		}
	}
}

// TestWholeResult: with wait_end_of_query, an error at the end of a result has its status.
func TestWholeResult(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	for _, name := range []string{"wait_end_of_query", "http_wait_end_of_query"} {
		for _, rows := range []int{1000, 600_000} {
			v := url.Values{name: {"1"}, "max_block_size": {"1000"}}
			sql := "SELECT number, throwIf(number = " + strconv.Itoa(rows-1) + ", 'at the end') FROM numbers(" + strconv.Itoa(rows) + ")"
			if status, body, h := post(t, srv, sql, v); status != http.StatusInternalServerError || !strings.HasPrefix(body, "Code: 395.") ||
				h.Get("X-ClickHouse-Exception-Code") != "395" {
				t.Errorf("%d rows: %d %.200s", rows, status, body)
			}
			status, body, _ := post(t, srv, "SELECT number FROM numbers("+strconv.Itoa(rows)+")", v)
			if want := strconv.Itoa(rows-1) + "\n"; status != http.StatusOK || !strings.HasSuffix(body, want) ||
				strings.Count(body, "\n") != rows {
				t.Errorf("%d rows: %d, %d bytes", rows, status, len(body))
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(shared.Dir(), "result-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// TestErrorsAreTheUsers: no error shows what this program adds to a query.
func TestErrorsAreTheUsers(t *testing.T) {
	t.Parallel()
	for _, writes := range []bool{false, true} {
		srv := openDoor(t, contract.HandlerOptions{AllowWrites: writes})
		for _, sql := range []string{"SELECT 1 SETTINGS max_threads = -1", "SELECT frob(1)", "SELECT x", "SELECT throwIf(1)", "SELEC 1",
			"SELECT 1 SETTINGS max_block_size = 'x'", "SELECT * FROM (SELECT 1 SETTINGS max_threads='y')", "SELECT {a:Int8}", "EXPLAIN SELECT x",
			"SELECT 1 FORMAT Nope", "SHOW CREATE TABLE nowhere", "DESCRIBE nowhere", "SELECT 1 SETTINGS a = [1]", "WITH x AS (", "INSERT INTO nowhere VALUES (1)"} {
			if status, body, _ := post(t, srv, sql, nil); status == http.StatusOK || strings.Contains(body, "chdb") && !strings.Contains(body, "internal/chdb/allow") ||
				strings.Contains(body, "/*") || strings.Contains(body, "tokenizeQuery") || strings.Contains(body, "formatQuery") {
				t.Errorf("%s: %d %s", sql, status, body)
			}
		}
	}
}

var progress = regexp.MustCompile(`(?m)^\{"progress":.*\n`)

// TestAnySize: results in the formats that drivers read are streamed, and are one document.
func TestAnySize(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{MaxBufferedBytes: 100_000})
	whole := openDoor(t, contract.HandlerOptions{})
	const rows = 30_000
	sql := "SELECT number AS n, toString(number) AS `s\t\"data\":`, toLowCardinality(toString(number % 7)) AS l, " +
		"if(number % 3 = 0, NULL, 'a\n\t],\n\n\t\"rows\": 5,\"b') AS x FROM numbers(30000)"
	for _, format := range []string{"RowBinaryWithNamesAndTypes", "RowBinaryWithNames", "ArrowStream", "JSON", "JSONCompact", "JSONStrings",
		"JSONCompactStrings", "JSONL", "JSONLines", "NDJSON", "JSONEachRow", "JSONStringsEachRow", "JSONEachRowWithProgress",
		"JSONCompactEachRowWithProgress", "JSONStringsEachRowWithProgress", "JSONCompactStringsEachRowWithProgress", "ODBCDriver2", "BSONEachRow",
		"Markdown", "MD", "Values", "Raw", "RawWithNames", "RawWithNamesAndTypes", "TabSeparatedRawWithNames", "CSVWithNamesAndTypes", "Native"} {
		v := url.Values{"default_format": {format}, "max_block_size": {"4096"}, "output_format_write_statistics": {"0"}}
		status, got, _ := post(t, srv, sql, v)
		v.Set("max_block_size", "100000") // one block, and so one piece
		if format == "ArrowStream" || format == "Native" {
			if status != http.StatusOK || len(got) < rows*8 {
				t.Errorf("%s: %d, %d bytes", format, status, len(got))
			}
			continue
		}
		_, want, _ := post(t, whole, sql, v)
		if strings.HasSuffix(format, "WithProgress") { // how far a query is depends on time
			got, want = progress.ReplaceAllString(got, ""), progress.ReplaceAllString(want, "")
		}
		if status != http.StatusOK || got != want {
			t.Errorf("%s: %d, %d bytes, want %d: %.300q", format, status, len(got), len(want), got)
		}
		if strings.HasPrefix(format, "JSON") && !strings.Contains(format, "Row") && !strings.Contains(format, "L") && !json.Valid([]byte(got)) {
			t.Errorf("%s is no document", format)
		}
	}
	// Totals and extremes come in a piece of their own.
	for _, c := range []string{"JSON", "CSVWithNames", "RowBinaryWithNamesAndTypes", "TSVWithNames", "JSONCompactEachRowWithNames", "ArrowStream"} {
		for _, sql := range []string{"SELECT number % 3 AS k, count() AS n FROM numbers(100) GROUP BY k WITH TOTALS ORDER BY k",
			"SELECT number AS k FROM numbers(10) SETTINGS extremes = 1"} {
			v := url.Values{"default_format": {c}, "output_format_write_statistics": {"0"}}
			_, got, _ := post(t, srv, sql, v)
			if want := direct(t, sql, c); got != want {
				t.Errorf("%s, %s: %q, want %q", sql, c, got, want)
			}
			v.Set("output_format_json_array_of_rows", "1")
			if _, got, _ := post(t, srv, "SELECT number FROM numbers(3)", url.Values{"default_format": {"JSONEachRow"}, "max_block_size": {"1"},
				"output_format_json_array_of_rows": {"1"}}); !json.Valid([]byte(got)) {
				t.Errorf("%q", got)
			}
		}
	}
}

// TestStreamsAreRead: what the engine itself reads of a streamed document is what was asked for.
func TestStreamsAreRead(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true, MaxBufferedBytes: 100_000})
	db := connect(t)
	database := url.Values{"database": {"t" + hexName(t)}}
	const columns = "n UInt64, s String, l LowCardinality(String), x Nullable(Decimal(18, 4)), a Array(UInt8)"
	for _, format := range []string{"ArrowStream", "RowBinaryWithNamesAndTypes", "RowBinaryWithNames", "Native", "JSON", "JSONCompact", "BSONEachRow",
		"Values", "JSONL"} {
		execute(t, db, "CREATE OR REPLACE TABLE s ("+columns+") ENGINE = MergeTree ORDER BY n")
		status, got, _ := post(t, srv, "SELECT number AS n, toString(number) AS s, toLowCardinality(toString(intDiv(number, 9000))) AS l, "+
			"if(number % 3 = 0, NULL, toDecimal64(number / 8, 4)) AS x, range(number % 5)::Array(UInt8) AS a FROM numbers(50000)",
			url.Values{"default_format": {format}, "max_block_size": {"4096"}, "output_format_arrow_low_cardinality_as_dictionary": {"1"}})
		if status != http.StatusOK {
			t.Errorf("%s: %d %.200s", format, status, got)
			continue
		}
		v := url.Values{"query": {"INSERT INTO s FORMAT " + format}}
		v["database"] = database["database"]
		if status, body, _ := post(t, srv, got, v); status != http.StatusOK {
			t.Errorf("%s is not read again: %d %s", format, status, body)
		}
		if sums := cell(t, db, "SELECT (count(), sum(n), countIf(s = toString(n)), sum(length(l)), sum(x), sum(length(a))) FROM s"); sums !=
			"(50000,1249975000,50000,50000,104164583.375,100000)" {
			t.Errorf("%s: %s", format, sums)
		}
	}
}

// TestDBT sends what dbt-clickhouse sends to a door that takes writes, each with the settings that it sets.
func TestDBT(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true})
	db := "t" + hexName(t)
	v := url.Values{"mutations_sync": {"3"}, "alter_sync": {"3"}, "insert_distributed_sync": {"1"}, "session_id": {"dbt::6f1c"},
		"wait_end_of_query": {"1"}}
	for _, sql := range []string{
		"/* {\"app\": \"dbt\"} */\n  create database if not exists `" + db + "`",
		"select name from system.databases where name = '" + db + "'",
		"create table `" + db + "`.`sales__dbt_backup` engine = MergeTree() order by (id) empty as (select number as id, toDecimal64(1, 4) as amount from numbers(3))",
		"insert into `" + db + "`.`sales__dbt_backup` (`id`, `amount`) select id, amount from (select number as id, toDecimal64(1, 4) as amount from numbers(3)) SETTINGS mutations_sync=2",
		"create or replace view `" + db + "`.`v` as (select * from `" + db + "`.`sales__dbt_backup`)",
		"select c.name, c.type from system.columns c where database = '" + db + "' and table = 'v'",
		"select t.name as name, t.database as schema, multiIf(engine in ('MaterializedView', 'View'), 'view', 'table') as type from system.tables as t where schema = '" + db + "'",
		"create table `" + db + "`.`sales` as `" + db + "`.`sales__dbt_backup`",
		"EXCHANGE TABLES `" + db + "`.`sales__dbt_backup` AND `" + db + "`.`sales`",
		"delete from `" + db + "`.`sales` where id = 1 settings lightweight_deletes_sync = 2",
		"alter table `" + db + "`.`sales` comment column `id` 'the key'",
		"select max(id) as max_loaded_at, now() as snapshotted_at from `" + db + "`.`sales`",
		"drop database `" + db + "` sync",
	} {
		if status, body, _ := post(t, srv, sql, v); status != http.StatusOK {
			t.Errorf("%s: %d %s", sql, status, body)
		}
	}
}

// direct asks the engine for a whole document, past the doors.
func direct(t *testing.T, sql, format string) string {
	t.Helper()
	c, err := shared.ConnectReader()
	must(t, err)
	defer c.Close()
	sql = strings.Replace(sql, " SETTINGS extremes = 1", "", 1)
	if sql != strings.TrimSpace(sql) {
		t.Fatal(sql)
	}
	must(t, c.Exec("SET readonly = DEFAULT"))
	must(t, c.Exec("SET output_format_write_statistics = 0"))
	if strings.Contains(sql, "numbers(10)") {
		must(t, c.Exec("SET extremes = 1"))
	}
	b, err := c.Buffered(sql, format, nil)
	must(t, err)
	return string(b)
}

// TestGoClient runs clickhouse-go over HTTP, as Grafana does.
func TestGoClient(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	u, err := url.Parse(srv.URL)
	must(t, err)
	for _, method := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionZSTD,
		clickhouse.CompressionGZIP} {
		db, err := clickhouse.Open(&clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{u.Host},
			Compression: &clickhouse.Compression{Method: method}, Settings: clickhouse.Settings{"max_block_size": 1000, "max_threads": 8}})
		must(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // it sends max_execution_time then
		rows, err := db.Query(ctx, "SELECT number FROM numbers(100000)")
		must(t, err)
		n := 0
		for rows.Next() {
			n++
		}
		if must(t, rows.Err()); n != 100_000 {
			t.Errorf("%s: %d rows", method, n)
		}
		rows, err = db.Query(ctx, "SELECT throwIf(number = 50000, 'in the middle') FROM numbers(100000)")
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
		}
		if err == nil || !strings.Contains(err.Error(), "in the middle") {
			t.Errorf("%s: %v", method, err)
		}
		cancel()
		must(t, db.Close())
	}
}

// TestJSClient runs @clickhouse/client, which npm installs.
func TestJSClient(t *testing.T) {
	t.Parallel()
	if !enginetest.Wide() {
		t.Skip("it is a part of the wide sample")
	}
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "@clickhouse/client@1.23.1")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm: %v: %s", err, out)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "client.mjs"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "client.mjs"), script, 0o600))
	srv := httptest.NewServer(shared.Handler(contract.HandlerOptions{MaxWait: patience, MaxBufferedBytes: 1 << 20}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	node := exec.CommandContext(ctx, "node", filepath.Join(dir, "client.mjs"), srv.URL)
	if out, err := node.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
