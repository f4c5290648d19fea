package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
)

// maxHead is how much of a body is read to find the end of an INSERT's statement. The data after it may have any
// length.
const maxHead = 4 << 20

// Transport answers the requests of clickhouse-go with an engine in this process. It is a
// [net/http.RoundTripper] that uses no network.
type Transport struct {
	Engine *engine.Engine
	// ReadOnly gives all requests the rights of the read-only door, and no others.
	ReadOnly bool
}

// Options returns options for [clickhouse.Open] that connect it to the engine. The database must exist by the
// time of the first query.
func (t *Transport) Options(database string) *clickhouse.Options {
	n := t.Engine.Writers()
	return &clickhouse.Options{
		Protocol: clickhouse.HTTP,
		// No address is ever dialled, but clickhouse-go requires one that looks right.
		Addr:          []string{"embedded:80"},
		Auth:          clickhouse.Auth{Database: database},
		TransportFunc: func(*http.Transport) (http.RoundTripper, error) { return t, nil },
		// The same number as the pool's, so that requests queue in one place.
		MaxOpenConns: n,
		MaxIdleConns: n,
		// Nothing is dialled, so this is how long a request waits for its turn: as long as its caller does.
		DialTimeout: longestWait,
	}
}

// longestWait is longer than any request waits for those before it.
const longestWait = 24 * time.Hour

// RoundTrip answers an error of the engine like a server does, with a status, a header and a text. It returns an error
// only for a request that the engine could not run at all.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if t.Engine.Closed() {
		return nil, contract.ErrClosed
	}
	ctx := req.Context()
	// Closing the body wakes the waiting side, on either end of it.
	interrupt := func() {
		if req.Body != nil {
			_ = req.Body.Close()
		}
	}
	defer context.AfterFunc(ctx, interrupt)()
	r, err := parseRequest(req.URL.Query(), req.Header, req.Body, maxHead, nil)
	if err != nil {
		return respond(req, err)
	}
	r.Interrupt = interrupt
	if t.ReadOnly {
		t.Engine.Settle(&r.Query)
		if err := r.confine(); err != nil {
			return respond(req, err)
		}
	}
	a, err := serve(ctx, t.Engine, r)
	if err != nil {
		return respond(req, err)
	}
	resp := response(req, http.StatusOK)
	resp.Header.Set("Content-Type", contentType(a.Format))
	if a.Body == nil {
		resp.Body, resp.ContentLength = http.NoBody, 0
		return resp, nil
	}
	// -1, since clickhouse-go takes 0 for "no rows".
	resp.Body, resp.ContentLength = a.Body, -1
	return resp, nil
}

// serve runs a request that Handler or Transport has parsed.
func serve(ctx context.Context, e *engine.Engine, r *request) (*engine.Answer, error) {
	if r.handshake > 0 {
		b, err := hello(e.ServerVersion(), r.handshake)
		if err != nil {
			return nil, err
		}
		return r.finish(&engine.Answer{Body: b, Format: "Native"}), nil
	}
	a, err := e.Run(ctx, &r.Query)
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

// respond turns an error that has a code into a response, and returns any other error.
func respond(req *http.Request, err error) (*http.Response, error) {
	var ex *clickhouse.Exception
	if !errors.As(err, &ex) {
		return nil, err
	}
	text := exception.Text(ex)
	resp := response(req, httpStatus(ex.Code))
	resp.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp.Header.Set("X-ClickHouse-Exception-Code", strconv.Itoa(int(ex.Code)))
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return resp, nil
}

// request is a query as it arrives over HTTP.
type request struct {
	engine.Query
	id        string
	handshake uint64   // the client's protocol version, if the request is clickhouse-go's first question
	compress  bool     // the answer is sent in frames of the native protocol
	whole     bool     // the answer begins after its end is known
	lowered   []string // limits that hold instead of those that the client asks for
	bounds    *bounds
}

// confine makes the request a read-only one.
func (r *request) confine() error {
	r.ReadOnly, r.Guarded = true, true
	// The request is read-only anyway, so a client that asks for this must not be refused.
	if v := r.Settings["readonly"]; v == "1" || v == "2" {
		delete(r.Settings, "readonly")
	}
	return guard.CheckReaderSettings(r.Settings)
}

// isOn reads a switch of the URL.
func isOn(s string) bool { return s == "1" || strings.EqualFold(s, "true") }

// sessionNotFound is the code for a session that does not exist.
const sessionNotFound = 372

// notSettings are the URL parameters that are for the transport itself. All others are settings.
var notSettings = map[string]bool{
	"query": true, "query_id": true, "default_format": true, "client_protocol_version": true,
	"compress": true, "decompress": true, "user": true, "password": true, "quota_key": true,
	"session_id": true, "session_timeout": true, "session_check": true, "close_session": true,
	"wait_end_of_query": true, "buffer_size": true, "stacktrace": true, "database": true,
}

// helloQuery is the query that clickhouse-go sends when it connects.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// parseRequest reads a request as ClickHouse does: the query is the URL parameter followed by the body, and
// what follows an INSERT is its data. At most maxText bytes of the body are taken as SQL. b bounds the memory
// of a stranger's request.
func parseRequest(v url.Values, h http.Header, body io.Reader, maxText int64, b *bounds) (*request, error) {
	body, err := decodeBody(body, h.Get("Content-Encoding"), v.Get("decompress") == "1", b)
	if err != nil {
		return nil, err
	}
	if boundary, ok := formOf(h.Get("Content-Type")); ok {
		if err := readForm(v, body, boundary, maxText, b); err != nil {
			return nil, err
		}
		body = nil
	}
	if v.Get("session_check") == "1" {
		return nil, exception.New(sessionNotFound, "SESSION_NOT_FOUND",
			"there is no such session: sessions are not kept here, leave out session_check")
	}
	r := &request{id: v.Get("query_id"), compress: v.Get("compress") == "1", bounds: b}
	r.Session = v.Get("session_id") != ""
	r.whole = isOn(v.Get("wait_end_of_query")) || isOn(v.Get("http_wait_end_of_query"))
	r.Database = v.Get("database")
	if r.Database == "" {
		r.Database = h.Get("X-ClickHouse-Database")
	}
	r.Format = v.Get("default_format")
	if r.Format == "" {
		r.Format = h.Get("X-ClickHouse-Format")
	}
	if r.Format == "" {
		r.Format = "TabSeparated"
	}
	for name, values := range v {
		value := values[len(values)-1]
		switch p, ok := strings.CutPrefix(name, "param_"); {
		case ok:
			r.Params = append(r.Params, library.Param{Name: p, Value: value})
		case notSettings[name]:
		case !settingName.MatchString(name):
			return nil, exception.New(exception.UnknownSetting, "UNKNOWN_SETTING", fmt.Sprintf("Unknown setting %q", name))
		default:
			if r.Settings == nil {
				r.Settings = map[string]string{}
			}
			r.Settings[name] = value
		}
	}
	if err := r.readText(v.Get("query"), body, maxText); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.SQL) == helloQuery && r.Format == "Native" {
		r.handshake, _ = strconv.ParseUint(v.Get("client_protocol_version"), 10, 32)
	}
	return r, nil
}

// readText puts the text of the query together and leaves an INSERT's data in the body.
func (r *request) readText(sql string, body io.Reader, maxText int64) error {
	r.SQL = sql
	if body == nil {
		return nil
	}
	if sql != "" {
		if st := engine.ParseStatement(sql); st.Insert {
			r.Data = body
			return nil
		}
		r.SQL += "\n"
	}
	head, err := io.ReadAll(io.LimitReader(body, min(smallText, maxText+1)))
	if len(head) == smallText && err == nil {
		if err := r.bounds.large(); err != nil {
			return err
		}
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(body, maxText+1-smallText))
		head = append(head, rest...)
	}
	if err != nil {
		return fmt.Errorf("read the query: %w", err)
	}
	r.SQL += string(head)
	if int64(len(head)) <= maxText {
		r.SQL = strings.TrimSuffix(r.SQL, "\n")
		return nil
	}
	if st := engine.ParseStatement(r.SQL); st.Insert && int64(len(st.Head)) < maxText {
		r.Data = body
		return nil
	}
	return exception.New(exception.QueryTooLarge, "QUERY_IS_TOO_LARGE",
		fmt.Sprintf("the query is longer than %d bytes", maxText))
}

// awaitData waits for the first bytes of an INSERT's data.
func (r *request) awaitData() error {
	if r.Data == nil {
		return nil
	}
	first := bufio.NewReaderSize(r.Data, 64<<10)
	if _, err := first.Peek(64 << 10); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the insert's data: %w", err)
	}
	r.Data = first
	return nil
}

// settingName matches the names that a setting may have.
var settingName = regexp.MustCompile(`^[A-Za-z_.][A-Za-z0-9_.]*$`)
