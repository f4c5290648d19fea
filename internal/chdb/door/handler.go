package door

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
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
)

// handler is the HTTP door.
type handler struct {
	engine *engine.Engine
	o      contract.HandlerOptions
	// readers and writers are separate, so that neither keeps the other waiting. writers leaves half of the connections
	// to the program itself.
	readers, writers *turns
	// large has the places: a request that sends much before it has a turn needs one.
	large   *turns
	running running
	storage storage
}

// Handler returns ClickHouse's HTTP interface to the engine, for curl, BI tools and clickhouse-go. Unless o says
// otherwise, it is read-only, and only for clients that address it as localhost or by a number.
func Handler(e *engine.Engine, o contract.HandlerOptions) http.Handler {
	o = withDefaults(o, e.Logger())
	n := e.Readers()
	if o.MaxQueries > 0 {
		n = min(n, o.MaxQueries)
	}
	return &handler{engine: e, o: o, readers: newTurns(n), writers: newTurns(max(1, min(n, e.Writers()/2))),
		large: newTurns(n), storage: storage{dir: e.Dir(), most: e.Limits().Disk}}
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if h.o.Behind {
		req.RemoteAddr = req.Header.Get(clientHeader)
	}
	if !h.admitted(w, req) {
		return
	}
	switch req.URL.Path {
	case "/ping":
		ok(w)
		return
	case "", "/", "/query": // the last is where ODBC asks
	default:
		http.Error(w, "There is no handler for "+req.URL.Path+": use /, /query or /ping", http.StatusNotFound)
		return
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		// If the parameters cannot be read, query reports that.
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
	if h.engine.Closed() {
		http.Error(w, contract.ErrClosed.Error(), http.StatusServiceUnavailable)
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
	rc := http.NewResponseController(w)
	client := &peer{rc: rc, grace: h.o.Grace, rate: h.o.MinRate}
	if req.Body != nil {
		req.Body = pacedBody{client, req.Body}
	}
	b := &bounds{place: func() (over func(), err error) {
		_, over, err = h.large.acquire(req.Context(), client, source{}, h.o.MaxWait, false)
		return over, err
	}}
	defer b.release()
	r, err := h.parse(req, b)
	if err != nil {
		h.fail(w, 0, err)
		return
	}
	r.Interrupt = client.stopReading
	id := cmp.Or(printable(r.id), rand.Text())
	w.Header().Set("X-ClickHouse-Query-Id", id)
	if len(r.lowered) > 0 {
		w.Header().Set("X-Dealhouse-Limits", strings.Join(r.lowered, ", "))
	}
	h.killing(r)
	connected := req.Context()
	ctx, ended := h.running.add(connected, id)
	defer ended()
	req = req.WithContext(ctx)
	w.Header().Set("X-ClickHouse-Timezone", "UTC")
	turns := h.readers
	if !r.ReadOnly {
		turns = h.writers
		// A client that has not begun to send gets no turn yet.
		if err := r.awaitData(); err != nil {
			h.fail(w, 0, err)
			return
		}
	}
	b.free = true // from now on, its turn bounds what it holds
	a, over, err := h.answer(req, client, turns, r)
	if err != nil {
		h.fail(w, 0, err)
		return
	}
	defer over()
	if r.whole && a.Body != nil {
		if a.Body, err = h.storage.whole(a.Body); err != nil {
			h.fail(w, 0, err)
			return
		}
	}
	w.Header().Set("Content-Type", contentType(a.Format))
	w.Header().Set("X-ClickHouse-Format", a.Format)
	if a.Body == nil {
		return
	}
	defer a.Body.Close()
	// The clock starts again: the time that the client took to send its request does not count.
	client.waited, client.bytes = 0, 0
	h.send(connected, w, req, client, a.Body, r.compress)
}

// answer waits for a turn and does what the request asks for, up to the point where its result can be sent; over ends
// the turn after that.
func (h *handler) answer(req *http.Request, client *peer, turns *turns,
	r *request) (a *engine.Answer, over func(), err error) {
	ctx, begin, s := req.Context(), time.Now(), sourceOf(req, r)
	// A request that sets its own limit of memory keeps that limit, so it gets no trial, which has a lower one.
	for brief := r.Data == nil && !strings.Contains(strings.ToLower(r.SQL), "max_memory_usage"); ; brief = false {
		trial, end, err := turns.acquire(ctx, client, s, h.o.MaxWait-time.Since(begin), brief)
		if err != nil {
			return nil, nil, err
		}
		idle := keepOpen(req)
		over := func() { idle(); end() }
		if trial == nil {
			a, err = serve(ctx, h.engine, r)
		} else {
			a, err = trial.try(ctx, h.engine, *r)
			over()
			over = func() {}
		}
		if err == nil {
			return a, over, nil
		}
		over()
		if !errors.Is(err, errNotBrief) && !errors.Is(err, engine.ErrNotRead) {
			return nil, nil, err
		}
	}
}

// parse reads the request and decides what it may do.
func (h *handler) parse(req *http.Request, b *bounds) (*request, error) {
	values, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, exception.New(exception.BadArguments, "BAD_ARGUMENTS",
			"the URL's parameters cannot be read: "+err.Error())
	}
	r, err := parseRequest(values, req.Header, req.Body, h.o.MaxQueryBytes, b)
	if err != nil {
		return nil, err
	}
	r.Guarded = true
	r.Database = cmp.Or(r.Database, h.o.Database)
	r.MaxBuffered = h.o.MaxBufferedBytes
	r.lowered = h.engine.Settle(&r.Query)
	asked := r.Settings["readonly"]
	if !h.o.AllowWrites || req.Method != http.MethodPost || asked == "1" || asked == "2" {
		return r, r.confine()
	}
	delete(r.Settings, "readonly")
	return r, nil
}

// lastLook is how long a client may take to find out why its result ends, after it has been sent.
const lastLook = 250 * time.Millisecond

// send streams the result. An error from now on can only be reported inside the body.
func (h *handler) send(connected context.Context, w http.ResponseWriter, req *http.Request, client *peer, body io.Reader,
	framed bool) {
	tag := strings.ToLower(rand.Text())[:16]
	w.Header().Set("X-ClickHouse-Exception-Tag", tag)
	var dst io.Writer = pacedWriter{client, w}
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
	if errors.As(err, &ex) {
		// A server reports an error in this frame after it has begun to send a result.
		text := exception.Text(ex)
		frame := fmt.Appendf(nil, "\r\n__exception__\r\n%s\r\n%s%d %s\r\n__exception__\r\n", tag, text, len(text), tag)
		if framed {
			frame = framedText(frame)
		}
		_, _ = dst.Write(frame)
		if zip != nil {
			_ = zip.Flush()
		}
		_ = client.rc.Flush()
		if zip != nil || framed {
			// A client that unpacks what it reads would see the cut before the frame. One that has seen the frame goes.
			select {
			case <-connected.Done():
			case <-time.After(lastLook):
			}
		}
	}
	if req.Context().Err() == nil {
		h.o.Logger.Warn("a result broke off", "error", err)
	}
	// The response must not look complete. This cuts the connection.
	panic(http.ErrAbortHandler)
}

// fail writes an error before any result. If status is 0, the error's code decides.
func (h *handler) fail(w http.ResponseWriter, status int, err error) {
	var ex *clickhouse.Exception
	switch {
	case errors.As(err, &ex):
	case errors.Is(err, contract.ErrClosed):
		status = http.StatusServiceUnavailable
		ex = exception.New(exception.QueryCancelled, "QUERY_WAS_CANCELLED", err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		ex = exception.New(exception.QueryCancelled, "QUERY_WAS_CANCELLED", "the query was cancelled")
	case errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusRequestTimeout
		ex = exception.New(exception.SocketTimeout, "SOCKET_TIMEOUT",
			fmt.Sprintf("the request came too slowly: send at least %d bytes a second", h.o.MinRate))
	default:
		status = cmp.Or(status, http.StatusBadRequest)
		ex = exception.New(exception.Unknown, "UNKNOWN_EXCEPTION", err.Error())
	}
	status = cmp.Or(status, httpStatus(ex.Code))
	if status >= http.StatusInternalServerError {
		h.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a query over HTTP failed",
			slog.Int("code", int(ex.Code)), slog.String("error", ex.Message))
	}
	// The deadline of an earlier request on the same connection must not apply.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.o.Grace))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(int(ex.Code)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, exception.Text(ex))
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

// printable returns a client's query id if it is fit for a header, and otherwise "".
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
