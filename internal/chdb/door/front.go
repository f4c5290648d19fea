package door

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/exception"
)

// clientHeader has the address of a client, for the process that has the engine. Only a front sets it.
const clientHeader = "X-Dealhouse-Client"

// Front is the door of a process without an engine. It passes each request on to a process that has one, and answers
// itself when that one has ended (chdb-13).
type Front struct {
	o         contract.HandlerOptions
	path      string // before the path of each request
	engine    contract.Kept
	transport *http.Transport

	mu    sync.Mutex
	under map[*http.Request]time.Time // requests under way
}

// NewFront makes a front. dial connects to the process that has the engine, where path is before that of each request.
func NewFront(dial func(context.Context) (net.Conn, error), path string, engine contract.Kept,
	o contract.HandlerOptions) *Front {
	return &Front{o: withDefaults(o, o.Logger), path: path, engine: engine, under: map[*http.Request]time.Time{},
		transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableCompression: true, MaxIdleConnsPerHost: maxConnections, IdleConnTimeout: idle / 2,
			WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10,
		}}
}

// Answers waits until the process that has the engine answers.
func (f *Front) Answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/ping", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Serve serves clients until ctx ends, and returns what ended it once the requests under way are done.
func (f *Front) Serve(ctx context.Context, l net.Listener) error {
	defer f.transport.CloseIdleConnections()
	return serveHandler(ctx, l, f)
}

// UnderWay returns the ids that clients have given to their requests under way, the oldest first, and how many requests
// there are.
func (f *Front) UnderWay() (ids []string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*http.Request
	for r := range f.under {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *http.Request) int { return f.under[a].Compare(f.under[b]) })
	for _, r := range all {
		if id := printable(r.URL.Query().Get("query_id")); id != "" && len(ids) < 20 {
			ids = append(ids, id)
		}
	}
	return ids, len(all)
}

// note has a request counted as under way until over is called.
func (f *Front) note(req *http.Request) (over func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.under[req] = time.Now()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.under, req)
	}
}

// notPassed are headers that are about one connection only.
var notPassed = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade", "Expect"}

// ServeHTTP passes a request on, and its answer back.
func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if f.o.Agent != nil && req.URL.Path == "/mcp" {
		h := handler{o: f.o}
		if h.admitted(w, req) {
			req.Body = pacedBody{f.peer(w), req.Body}
			f.o.Agent.ServeHTTP(w, req)
		}
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), 2*f.o.MaxWait)
	err := f.engine.Up(ctx)
	cancel()
	if err != nil {
		f.unanswered(w, err)
		return
	}
	defer f.note(req)()
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", "engine", ""
	out.URL.Path, out.URL.RawPath = f.path+"/"+strings.TrimPrefix(req.URL.Path, "/"), ""
	for _, listed := range req.Header.Values("Connection") {
		for name := range strings.SplitSeq(listed, ",") {
			out.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range notPassed {
		out.Header.Del(name)
	}
	out.Header.Set(clientHeader, req.RemoteAddr)
	sent := &sending{ReadCloser: pacedBody{f.peer(w), req.Body}, req: req}
	defer sent.over()
	if out.Body = sent; req.ContentLength == 0 {
		out.Body = nil
		sent.whole()
	}
	resp, err := f.transport.RoundTrip(out)
	if err != nil {
		if req.Context().Err() == nil {
			f.unanswered(w, f.engine.Ended(req.Context()))
		}
		return
	}
	defer resp.Body.Close()
	header := w.Header()
	for name, values := range resp.Header {
		if !slices.Contains(notPassed, name) {
			header[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	if err := f.pass(w, resp.Body); err != nil {
		_ = f.engine.Ended(req.Context()) // if it has: the log is to name this request
		panic(http.ErrAbortHandler)       // the answer must not look complete
	}
}

// sending is what a client sends. Its connection counts as busy once all has come.
type sending struct {
	io.ReadCloser
	req  *http.Request
	mu   sync.Mutex
	idle func()
	done bool
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		s.whole()
	} else if n > 0 {
		touch(s.req)
	}
	return n, err
}

func (s *sending) whole() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil && !s.done {
		s.idle = keepOpen(s.req)
	}
}

// over ends the reading, also for a transport that has returned and reads on.
func (s *sending) over() {
	_ = s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done = true; s.idle != nil {
		s.idle()
	}
}

var pieces = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// peer has a clock for one direction: a request may still be sent while its answer is read.
func (f *Front) peer(w http.ResponseWriter) *peer {
	return &peer{rc: http.NewResponseController(w), grace: f.o.Grace, rate: f.o.MinRate}
}

// pass sends each piece of an answer as soon as it comes.
func (f *Front) pass(w http.ResponseWriter, answer io.Reader) error {
	client := f.peer(w)
	to := pacedWriter{client, w}
	piece := pieces.Get().(*[64 << 10]byte)
	defer pieces.Put(piece)
	for {
		n, err := answer.Read(piece[:])
		if n > 0 {
			if _, err := to.Write(piece[:n]); err != nil {
				return err
			}
			_ = client.rc.Flush() // if it fails, so does the next write
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// unanswered tells a client why there is no answer from the engine, in the form of ClickHouse's own errors. The code is
// that of a connection that failed: clients know that they may try again.
func (f *Front) unanswered(w http.ResponseWriter, err error) {
	h := handler{o: f.o}
	h.fail(w, http.StatusServiceUnavailable, exception.New(exception.NetworkError, "NETWORK_ERROR", err.Error()))
}
