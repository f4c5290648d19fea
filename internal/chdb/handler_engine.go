//go:build !noengine && (linux || darwin)

package chdb

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// writeTimeout is how long a client may take for one piece of a result. A client
// that has stopped reading must not hold a connection.
const writeTimeout = time.Minute

// handler is the HTTP door.
type handler struct {
	engine *Engine
	o      HandlerOptions
	// writers leaves half of the connections to the program itself.
	writers chan struct{}
}

// Handler is ClickHouse's HTTP interface to the engine, for curl, BI tools and
// clickhouse-go. Unless o says otherwise it is read-only and only for clients
// that address it as localhost or by a number.
func (e *Engine) Handler(o HandlerOptions) http.Handler {
	return &handler{
		engine:  e,
		o:       o.withDefaults(e.in.log),
		writers: make(chan struct{}, max(1, e.in.writers.size()/2)),
	}
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if status, err := h.admit(req); err != nil {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse"`)
		}
		h.fail(w, status, err)
		return
	}
	switch req.URL.Path {
	case "/ping":
		ok(w)
		return
	case "", "/":
	default:
		http.Error(w, "There is no handler for "+req.URL.Path+": use / or /ping", http.StatusNotFound)
		return
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		// Parameters that cannot be read are an error that query reports.
		if v, err := url.ParseQuery(req.URL.RawQuery); err == nil && !v.Has("query") {
			ok(w)
			return
		}
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
		return
	}
	if h.engine.closed.Load() {
		http.Error(w, ErrClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	h.query(w, req)
}

func ok(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "Ok.\n")
}

// query runs what the request asks for and writes the answer.
func (h *handler) query(w http.ResponseWriter, req *http.Request) {
	r, err := h.parse(req)
	if err != nil {
		h.fail(w, 0, err)
		return
	}
	rc := http.NewResponseController(w)
	ctx := req.Context()
	r.interrupt = func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) }
	id := cmp.Or(printable(r.id), rand.Text())
	w.Header().Set("X-ClickHouse-Query-Id", id)
	w.Header().Set("X-ClickHouse-Timezone", "UTC")
	if !r.readOnly {
		select {
		case h.writers <- struct{}{}:
			defer func() { <-h.writers }()
		case <-ctx.Done():
			return
		}
	}
	a, err := h.engine.serve(ctx, r)
	if err != nil {
		h.fail(w, 0, err)
		return
	}
	w.Header().Set("Content-Type", contentType(a.format))
	w.Header().Set("X-ClickHouse-Format", a.format)
	if a.body == nil {
		return
	}
	defer a.body.Close()
	h.send(w, req, rc, a.body, r.compress)
}

// parse reads the request and decides what it may do.
func (h *handler) parse(req *http.Request) (*request, error) {
	values, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, exception(codeBadArguments, "BAD_ARGUMENTS", "the URL's parameters cannot be read: "+err.Error())
	}
	r, err := parseRequest(values, req.Header, req.Body, h.o.MaxQueryBytes)
	if err != nil {
		return nil, err
	}
	r.guarded = true
	r.maxBuffered = h.o.MaxBufferedBytes
	asked := r.settings["readonly"]
	if !h.o.AllowWrites || req.Method != http.MethodPost || asked == "1" || asked == "2" {
		return r, r.confine()
	}
	delete(r.settings, "readonly")
	return r, nil
}

// send streams the result. What goes wrong now can only be told inside the body.
func (h *handler) send(w http.ResponseWriter, req *http.Request, rc *http.ResponseController, body io.Reader, framed bool) {
	tag := strings.ToLower(rand.Text())[:16]
	w.Header().Set("X-ClickHouse-Exception-Tag", tag)
	var dst io.Writer = &patient{w: w, rc: rc}
	var zip *gzip.Writer
	if !framed && acceptsGzip(req.Header) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		// Speed counts: the client is usually on the same machine.
		zip, _ = gzip.NewWriterLevel(dst, gzip.BestSpeed)
		dst = zip
	}
	_, err := io.Copy(dst, body)
	if err == nil && zip != nil {
		err = zip.Close()
	}
	if err == nil {
		return
	}
	var ex *clickhouse.Exception
	if errors.As(err, &ex) && !framed {
		// The frame in which a server tells of an error after the fact.
		text := exceptionText(ex)
		fmt.Fprintf(dst, "\r\n__exception__\r\n%s\r\n%s%d %s\r\n__exception__\r\n", tag, text, len(text), tag)
		if zip != nil {
			_ = zip.Flush()
		}
		_ = rc.Flush()
	}
	if req.Context().Err() == nil {
		h.o.Logger.Warn("a result broke off", "error", err)
	}
	// The response must not look complete: this cuts the connection.
	panic(http.ErrAbortHandler)
}

// fail writes an error before any result. A status of 0 means: by the error's code.
func (h *handler) fail(w http.ResponseWriter, status int, err error) {
	var ex *clickhouse.Exception
	switch {
	case errors.As(err, &ex):
	case errors.Is(err, ErrClosed):
		status = http.StatusServiceUnavailable
		ex = exception(codeQueryCancelled, "QUERY_WAS_CANCELLED", err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		ex = exception(codeQueryCancelled, "QUERY_WAS_CANCELLED", "the query was cancelled")
	default:
		status = cmp.Or(status, http.StatusBadRequest)
		ex = exception(codeUnknownError, "UNKNOWN_EXCEPTION", err.Error())
	}
	status = cmp.Or(status, httpStatus(ex.Code))
	if status >= http.StatusInternalServerError {
		h.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a query over HTTP failed",
			slog.Int("code", int(ex.Code)), slog.String("error", ex.Message))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(int(ex.Code)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, exceptionText(ex)) //nolint:gosec // G705: plain text by its type, which nosniff makes a browser believe
}

// patient gives the client its time for each write, and no more.
type patient struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	// A ResponseWriter without deadlines, as in tests, is as good.
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := p.w.Write(b)
	if err != nil {
		return n, fmt.Errorf("send the result: %w", err)
	}
	return n, nil
}

func acceptsGzip(h http.Header) bool {
	for part := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q = strings.ReplaceAll(q, " ", "")
			return q != "q=0" && q != "q=0.0"
		}
	}
	return false
}

// printable makes a client's query id fit for a header.
func printable(s string) string {
	if len(s) > 128 {
		return ""
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return ""
		}
	}
	return s
}
