package engine_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// plain is a client that neither compresses nor keeps connections open.
var plain = &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}

func post(t testing.TB, srv *httptest.Server, sql string, v url.Values) (int, string, http.Header) {
	t.Helper()
	return ask(t, srv, http.MethodPost, sql, v, nil)
}

func ask(t testing.TB, srv *httptest.Server, method, body string, v url.Values,
	h http.Header) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, srv.URL+"/?"+v.Encode(), strings.NewReader(body))
	must(t, err)
	for k := range h {
		req.Header[k] = h[k]
	}
	if host := h.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := plain.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(b), resp.Header
}

func TestDoorBasics(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{MaxQueryBytes: 1000})
	for _, path := range []string{"/ping", "/", ""} {
		resp, err := plain.Get(srv.URL + path)
		must(t, err)
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		_ = resp.Body.Close()
		if string(b) != "Ok.\n" || resp.StatusCode != http.StatusOK {
			t.Errorf("%q: %s %q", path, resp.Status, b)
		}
	}
	for _, c := range []struct {
		name, method, body string
		v                  url.Values
		status             int
		says, code         string
	}{
		{"in the URL", "GET", "", url.Values{"query": {"SELECT 1"}}, 200, "1\n", ""},
		{"in both", "POST", "+ 1", url.Values{"query": {"SELECT 1"}}, 200, "2\n", ""},
		{"parameters", "GET", "", url.Values{"query": {"SELECT {a:Int8} + 1"}, "param_a": {"41"}}, 200, "42\n", ""},
		{"unknown table", "POST", "SELECT * FROM nowhere", nil, 404, "Code: 60. DB::Exception: ", "60"},
		{"syntax", "POST", "SELECT (", nil, 400, "Syntax error", "62"},
		{"empty", "POST", "", nil, 400, "Empty query", "62"},
		{"unknown setting", "POST", "SELECT 1", url.Values{"max_nothing": {"1"}}, 404, "max_nothing", "115"},
		{"unknown database", "POST", "SELECT 1", url.Values{"database": {"nowhere"}}, 404, "nowhere", "81"},
		{"too long", "POST", "SELECT '" + strings.Repeat("x", 1000) + "'", nil, 413, "1000 bytes", "55"},
		{"a block without a byte", "POST", "SELECT if(number < 70000, '', 'x') FROM numbers(140000) FORMAT RawBLOB", nil, 200,
			strings.Repeat("x", 70000), ""},
		{"at run time", "POST", "SELECT throwIf(1)", nil, 500, "FUNCTION_THROW_IF", "395"},
		{"write with GET", "GET", "", url.Values{"query": {"CREATE TABLE x (a Int8) ENGINE = Memory"}}, 403, "read-only",
			"164"},
		{"another method", "PUT", "SELECT 1", nil, 405, "", ""},
		{"a timeout", "POST", "SELECT sleepEachRow(1) FROM numbers(30)",
			url.Values{"max_execution_time": {"0.1"}, "max_block_size": {"1"}}, 408, "TIMEOUT", "159"},
	} {
		status, body, h := ask(t, srv, c.method, c.body, c.v, nil)
		if status != c.status || !strings.Contains(body, c.says) || h.Get("X-ClickHouse-Exception-Code") != c.code {
			t.Errorf("%s: %d %q code %q", c.name, status, body, h.Get("X-ClickHouse-Exception-Code"))
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: a CORS header", c.name)
		}
	}
	_, _, h := ask(t, srv, "GET", "", url.Values{"query": {"SELECT 1"}, "query_id": {"mine"}}, nil)
	if h.Get("X-ClickHouse-Query-Id") != "mine" {
		t.Errorf("headers: %v", h)
	}
	resp, err := plain.Get(srv.URL + "/?query=SELECT+1;+DROP+TABLE+x")
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a bad query string: %s", resp.Status)
	}
}

func TestDoorFormats(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	// More than one block, so that it would show if a format with a frame were sent in pieces.
	const rows = 150000
	sql := fmt.Sprintf("SELECT number AS n, 'a\"\n' AS `x\ny` FROM numbers(%d)", rows)
	for _, c := range []struct{ format, typ, begin, end string }{
		{"CSV", "text/csv", "0,\"a\"\"\n\"\n1,", fmt.Sprintf("%d,\"a\"\"\n\"\n", rows-1)},
		{"CSVWithNames", "text/csv", "\"n\",\"x\ny\"\n0,", fmt.Sprintf("%d,\"a\"\"\n\"\n", rows-1)},
		{"TabSeparatedWithNamesAndTypes", "text/tab", "n\tx\\ny\nUInt64\tString\n0\t", fmt.Sprintf("%d\ta\"\\n\n", rows-1)},
		{"TSVWithNames", "text/tab", "n\tx\\ny\n0\t", fmt.Sprintf("%d\ta\"\\n\n", rows-1)},
		{"JSONCompactEachRowWithNames", "application/x-ndjson", `["n", "x\ny"]`, "]\n"},
		{"JSONEachRow", "application/x-ndjson", `{"n":0,`, "}\n"},
		{"JSONCompact", "application/json", "{", "}\n"},
		{"XML", "application/xml", "<?xml", "</result>\n"},
		{"Parquet", "application/vnd.apache.parquet", "PAR1", "PAR1"},
		{"Values", "text/plain", "(0,'a\"", ")"},
	} {
		t.Run(c.format, func(t *testing.T) {
			t.Parallel()
			for _, v := range []url.Values{{"default_format": {c.format}},
				{"default_format": {"TSV"}, "query": {sql + " FORMAT " + c.format}}} {
				body := sql
				if v.Has("query") {
					body = ""
				}
				status, got, h := post(t, srv, body, v)
				if status != 200 || !strings.HasPrefix(got, c.begin) || !strings.HasSuffix(got, c.end) ||
					!strings.HasPrefix(h.Get("Content-Type"), c.typ) {
					t.Errorf("%d %v %.60q ... %.60q", status, h, got, got[max(0, len(got)-60):])
				}
				switch {
				case strings.Contains(c.format, "WithNames"):
					if header := strings.SplitN(c.begin, "0", 2)[0]; strings.Count(got, strings.TrimSuffix(header, "\n")) != 1 {
						t.Error("the header is repeated")
					}
				case c.format == "JSONCompact":
					if !json.Valid([]byte(got)) {
						t.Error("it is not one JSON document")
					}
				}
			}
		})
	}
	if _, got, h := ask(t, srv, "POST", "SELECT 1 AS a", nil,
		http.Header{"X-Clickhouse-Format": {"JSONEachRow"}}); got != "{\"a\":1}\n" ||
		h.Get("X-ClickHouse-Format") != "JSONEachRow" {
		t.Errorf("by header: %q", got)
	}
	if _, got, _ := post(t, srv, "SELECT 1 AS a WHERE 0",
		url.Values{"default_format": {"CSVWithNames"}}); got != "\"a\"\n" {
		t.Errorf("no rows: %q", got)
	}
	small := openDoor(t, contract.HandlerOptions{MaxBufferedBytes: 1000})
	for _, v := range []url.Values{{}, {"max_result_bytes": {"0"}}, {"max_result_bytes": {"1000000000"}}} {
		v.Set("default_format", "Parquet")
		if status, body, _ := post(t, small, sql, v); status == 200 || !strings.Contains(body, "--max-buffered") {
			t.Errorf("a large Parquet result was buffered: %.100s", body)
		}
	}
	if status, body, _ := post(t, small, sql, url.Values{"default_format": {"CSV"}}); status != 200 || len(body) < 1000 {
		t.Errorf("a large CSV result was not streamed: %d", status)
	}
}

func TestDoorCompression(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true})
	req, err := http.NewRequest(http.MethodGet, srv.URL+"/?query="+url.QueryEscape("SELECT number FROM numbers(100000)"),
		nil)
	must(t, err)
	req.Header.Set("Accept-Encoding", "br, gzip;q=0.5")
	resp, err := plain.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("headers: %v", resp.Header)
	}
	zr, err := gzip.NewReader(resp.Body)
	must(t, err)
	b, err := io.ReadAll(zr)
	must(t, err)
	if !bytes.HasSuffix(b, []byte("\n99999\n")) {
		t.Errorf("it ends in %q", b[len(b)-20:])
	}
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, err = zw.Write([]byte("SELECT 'zipped'"))
	must(t, err)
	must(t, zw.Close())
	h := http.Header{"Content-Encoding": {"gzip"}}
	if status, body, _ := ask(t, srv, "POST", zipped.String(), nil, h); body != "zipped\n" {
		t.Errorf("a zipped query: %d %s", status, body)
	}
	if status, _, _ := ask(t, srv, "POST", "not zipped", nil, h); status != 400 {
		t.Errorf("a bad body: %d", status)
	}
	if status, _, _ := ask(t, srv, "POST", "x", nil, http.Header{"Content-Encoding": {"xz"}}); status != 501 {
		t.Errorf("an unknown encoding: %d", status)
	}
}

// TestDoorEncodings sends a query in each encoding that clients have, half of it, and something else under its name.
// What unpacks to more than a query may have is refused.
func TestDoorEncodings(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{MaxQueryBytes: 1 << 20})
	for name, open := range map[string]func(io.Writer) io.WriteCloser{
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			must(t, err)
			return z
		},
		"br":  func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"lz4": func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) },
	} {
		pack := func(text string) string {
			var packed bytes.Buffer
			z := open(&packed)
			_, err := io.WriteString(z, text)
			must(t, err)
			must(t, z.Close())
			return packed.String()
		}
		h := http.Header{"Content-Encoding": {name}}
		query := pack("SELECT 'packed' -- " + hexName(t))
		if status, body, _ := ask(t, srv, "POST", query, nil, h); body != "packed\n" {
			t.Errorf("%s: %d %s", name, status, body)
		}
		for what, body := range map[string]string{"half": query[:len(query)/2], "something else": "SELECT 1", "a bomb": pack("SELECT 1" + strings.Repeat(" ", 64<<20))} {
			if status, body, _ := ask(t, srv, "POST", body, nil, h); status < 400 || status >= 500 {
				t.Errorf("%s, %s: %d %s", name, what, status, body)
			}
		}
	}
}

func TestDoorAuthentication(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{User: "ana", Password: "s3cret"})
	basic := func(user, password string) http.Header {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header
	}
	for _, c := range []struct {
		h    http.Header
		v    url.Values
		want int
	}{
		{nil, nil, 401},
		{basic("ana", "s3cret"), nil, 200},
		{basic("ana", "s3cre"), nil, 401},
		{basic("ana", ""), nil, 401},
		{basic("bob", "s3cret"), nil, 401},
		{http.Header{"X-Clickhouse-User": {"ana"}, "X-Clickhouse-Key": {"s3cret"}}, nil, 200},
		{http.Header{"X-Clickhouse-User": {"ana"}}, nil, 401},
		{nil, url.Values{"user": {"ana"}, "password": {"s3cret"}}, 200},
		{nil, url.Values{"user": {"ana"}, "password": {"S3cret"}}, 401},
		// A wrong password is not made good by a right one in another place.
		{basic("ana", "no"), url.Values{"user": {"ana"}, "password": {"s3cret"}}, 401},
		{http.Header{"Host": {"warehouse.example"}, "Authorization": basic("ana", "s3cret")["Authorization"]}, nil, 200},
	} {
		status, body, h := ask(t, srv, "POST", "SELECT 1", c.v, c.h)
		if status != c.want || status == 401 && (h.Get("WWW-Authenticate") == "" || strings.Contains(body, "s3cret")) {
			t.Errorf("%v %v: %d %s", c.h, c.v, status, body)
		}
	}
	resp, err := plain.Get(srv.URL + "/ping")
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/ping: %s", resp.Status)
	}
}

func TestDoorHostAndOrigin(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowedHosts: []string{"warehouse.internal"}, AllowWrites: true})
	for _, c := range []struct {
		h    http.Header
		want int
	}{
		{http.Header{"Host": {"localhost:8123"}}, 200},
		{http.Header{"Host": {"127.0.0.1:8123"}}, 200},
		{http.Header{"Host": {"[::1]:8123"}}, 200},
		{http.Header{"Host": {"LOCALHOST."}}, 200},
		{http.Header{"Host": {"warehouse.internal:8123"}}, 200},
		{http.Header{"Host": {"evil.example:8123"}}, 403},
		{http.Header{"Host": {"127.0.0.1.evil.example"}}, 403},
		{http.Header{"Host": {"localhost"}, "Origin": {"http://evil.example"}}, 403},
		{http.Header{"Host": {"localhost"}, "Origin": {"null"}}, 403},
		{http.Header{"Host": {"localhost:1"}, "Origin": {"http://localhost:1"}}, 200},
		{http.Header{"Host": {"localhost"}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		{http.Header{"Host": {"localhost"}, "Sec-Fetch-Site": {"same-origin"}}, 200},
	} {
		if status, body, _ := ask(t, srv, "POST", "SELECT 1", nil, c.h); status != c.want {
			t.Errorf("%v: %d %s", c.h, status, body)
		}
	}
}
