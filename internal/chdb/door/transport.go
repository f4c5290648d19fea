//go:build !noengine && (linux || darwin)

package chdb

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// maxHead is how much of a body is read in search of the end of an INSERT's
// statement; behind it data may follow without bound.
const maxHead = 4 << 20

// transport is one of the ways from clickhouse-go to the engine.
type transport struct {
	engine   *Engine
	readOnly bool
}

// RoundTrip answers a request of clickhouse-go's HTTP protocol. It makes Engine
// an [http.RoundTripper] with every right; see [Engine.ClickHouseOptions].
func (e *Engine) RoundTrip(req *http.Request) (*http.Response, error) {
	return (&transport{engine: e}).RoundTrip(req)
}

// RoundTrip answers errors of the engine like a server does, with a status, a
// header and a text. Only a request that could not be made at all fails.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if t.engine.closed.Load() {
		return nil, ErrClosed
	}
	ctx := req.Context()
	// Closing the body wakes whoever waits on either end of it.
	interrupt := func() {
		if req.Body != nil {
			_ = req.Body.Close()
		}
	}
	defer context.AfterFunc(ctx, interrupt)()
	r, err := parseRequest(req.URL.Query(), req.Header, req.Body, maxHead)
	if err != nil {
		return respond(req, err)
	}
	r.interrupt = interrupt
	if t.readOnly {
		if err := r.confine(); err != nil {
			return respond(req, err)
		}
	}
	a, err := t.engine.serve(ctx, r)
	if err != nil {
		return respond(req, err)
	}
	resp := response(req, http.StatusOK)
	resp.Header.Set("Content-Type", contentType(a.format))
	if a.body == nil {
		resp.Body, resp.ContentLength = http.NoBody, 0
		return resp, nil
	}
	// -1, since clickhouse-go takes 0 for "no rows".
	resp.Body, resp.ContentLength = a.body, -1
	return resp, nil
}

// serve runs a request that either door has parsed.
func (e *Engine) serve(ctx context.Context, r *request) (*answer, error) {
	if r.handshake > 0 {
		b, err := e.in.hello(r.handshake)
		if err != nil {
			return nil, err
		}
		return r.finish(&answer{body: b, format: "Native"}), nil
	}
	a, err := e.in.run(ctx, &r.query)
	if err != nil {
		return nil, err
	}
	return r.finish(a), nil
}

func response(req *http.Request, status int) *http.Response {
	return &http.Response{
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{},
		Request: req,
	}
}

// respond makes an answer of an error that has a code, and passes others on.
func respond(req *http.Request, err error) (*http.Response, error) {
	var ex *clickhouse.Exception
	if !errors.As(err, &ex) {
		return nil, err
	}
	text := exceptionText(ex)
	resp := response(req, httpStatus(ex.Code))
	resp.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp.Header.Set("X-ClickHouse-Exception-Code", strconv.Itoa(int(ex.Code)))
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return resp, nil
}

// request is a query as it comes over HTTP.
type request struct {
	query
	id        string
	handshake uint64 // the client's protocol version, when it asks who is there
	compress  bool   // the answer goes into frames of the native protocol
}

// notSettings are the URL parameters that are the transport's own business.
var notSettings = map[string]bool{
	"query": true, "query_id": true, "default_format": true, "client_protocol_version": true,
	"compress": true, "decompress": true, "user": true, "password": true, "quota_key": true,
	"session_id": true, "session_timeout": true, "session_check": true, "close_session": true,
	"wait_end_of_query": true, "buffer_size": true, "stacktrace": true, "database": true,
}

// helloQuery is what clickhouse-go asks when it connects.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// parseRequest reads a request as ClickHouse does: the query is the URL
// parameter followed by the body, and what follows an INSERT is its data. At most
// maxText of the body is taken for SQL.
func parseRequest(v url.Values, h http.Header, body io.Reader, maxText int64) (*request, error) {
	r := &request{id: v.Get("query_id"), compress: v.Get("compress") == "1"}
	r.db = v.Get("database")
	if r.db == "" {
		r.db = h.Get("X-ClickHouse-Database")
	}
	r.format = v.Get("default_format")
	if r.format == "" {
		r.format = h.Get("X-ClickHouse-Format")
	}
	if r.format == "" {
		r.format = "TabSeparated"
	}
	for name, values := range v {
		value := values[len(values)-1]
		switch p, ok := strings.CutPrefix(name, "param_"); {
		case ok:
			r.params = append(r.params, param{p, value})
		case notSettings[name]:
		case !isSettingName(name):
			return nil, exception(codeUnknownSetting, "UNKNOWN_SETTING", fmt.Sprintf("Unknown setting %q", name))
		default:
			if r.settings == nil {
				r.settings = map[string]string{}
			}
			r.settings[name] = value
		}
	}
	if strings.HasPrefix(h.Get("Content-Type"), "multipart/form-data") {
		return nil, exception(codeNotImplemented, "NOT_IMPLEMENTED", "external tables are not supported by the embedded engine")
	}
	body, err := decodeBody(body, h.Get("Content-Encoding"), v.Get("decompress") == "1")
	if err != nil {
		return nil, err
	}
	if err := r.readText(v.Get("query"), body, maxText); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.sql) == helloQuery && r.format == "Native" {
		r.handshake, _ = strconv.ParseUint(v.Get("client_protocol_version"), 10, 32)
	}
	return r, nil
}

// readText puts the query together and leaves an INSERT's data in the body.
func (r *request) readText(sql string, body io.Reader, maxText int64) error {
	r.sql = sql
	if body == nil {
		return nil
	}
	if sql != "" {
		if st := parseStatement(sql); st.insert {
			r.data = body
			return nil
		}
		r.sql += "\n"
	}
	head, err := io.ReadAll(io.LimitReader(body, maxText+1))
	if err != nil {
		return fmt.Errorf("read the query: %w", err)
	}
	r.sql += string(head)
	if int64(len(head)) <= maxText {
		r.sql = strings.TrimSuffix(r.sql, "\n")
		return nil
	}
	if st := parseStatement(r.sql); st.insert && int64(len(st.head)) < maxText {
		r.data = body
		return nil
	}
	return exception(codeQueryTooLarge, "QUERY_IS_TOO_LARGE", fmt.Sprintf("the query is longer than %d bytes", maxText))
}

// begin waits for the first bytes of an INSERT's data.
func (r *request) begin() error {
	if r.data == nil {
		return nil
	}
	first := bufio.NewReaderSize(r.data, 64<<10)
	if _, err := first.Peek(64 << 10); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the insert's data: %w", err)
	}
	r.data = first
	return nil
}

// decodeBody undoes what the client has compressed the body with.
func decodeBody(body io.Reader, encoding string, framed bool) (io.Reader, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	switch encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, exception(codeBadArguments, "BAD_ARGUMENTS", "the body is not gzip: "+err.Error())
		}
		body = z
	case "deflate":
		z, err := zlib.NewReader(body)
		if err != nil {
			return nil, exception(codeBadArguments, "BAD_ARGUMENTS", "the body is not deflate: "+err.Error())
		}
		body = z
	default:
		return nil, exception(codeNotImplemented, "NOT_IMPLEMENTED", "Content-Encoding "+encoding+" is not supported by the embedded engine; use gzip, LZ4 or none")
	}
	if framed {
		body = deframe(body)
	}
	return body, nil
}

func isSettingName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) && s[i] != '.' || s[i] >= 0x80 {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}
