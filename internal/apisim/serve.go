package apisim

import (
	"compress/gzip"
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP serves the nine operations.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, under := strings.CutPrefix(r.URL.Path, s.settings.Load().BasePath)
	if !under {
		path = ""
	}
	op := s.stage.route(path)
	s.journal.arrive(op.name)
	entry := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	defer func() { s.journal.done(op.name, entry) }()

	if f := s.before.Load(); f != nil {
		(*f)(r)
	}
	var fault Fault
	if f := s.fault.Load(); f != nil {
		fault = (*f)(r)
	}
	// A request sees one set of settings and, after its delay, one moment.
	set := s.settings.Load()
	if !wait(r.Context(), set.Latency+fault.Delay) {
		panic(http.ErrAbortHandler)
	}
	switch fault.Kind {
	case FaultHang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case FaultDrop:
		panic(http.ErrAbortHandler)
	}
	c := &call{sim: s, r: r, set: set, world: s.snapshot(), op: op}
	c.style = c.world.style(set)
	a := fault.instead()
	if a == nil {
		a = c.answer()
		entry.Org, entry.PayoutsKey = c.account.name, c.account.payoutsOnly
	}
	if fault.Kind == FaultInvalidJSON {
		fault.spoil(a)
		a.rows = 0
	}
	if c.buf != nil {
		defer func() { s.pages.put(c.buf) }()
	}
	entry.Status, entry.Rows, entry.Bytes = a.status, a.rows, len(a.body)
	c.deliver(w, a, &fault)
}

// wait waits for d of real time and reports whether the client is still there.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// call is one request.
type call struct {
	sim     *Sim
	r       *http.Request
	set     *Settings
	world   *world
	op      operation
	account account
	style   style
	buf     []byte // the page buffer, to be returned to the pool
}

// answer makes the checks that all operations have in common, and then calls the operation.
func (c *call) answer() *answer {
	if c.op.of == nil {
		return problem(http.StatusNotFound, "", "no such path")
	}
	if c.r.Method != http.MethodGet {
		a := problem(http.StatusMethodNotAllowed, "", "all operations are GET operations")
		a.header.Set("Allow", http.MethodGet)
		return a
	}
	acct, key, refusal := c.sim.authenticate(c.r)
	if refusal != nil {
		return refusal
	}
	c.account = acct
	if wait, ok := c.sim.limiter.spend(key, c.set.RateLimit, c.sim.wall()); !ok {
		return c.tooMany(wait)
	}
	if !acct.allowed(c.op.of.payouts, c.set) {
		return problem(http.StatusForbidden, "", "this API key is not allowed to read this resource")
	}
	if c.op.id != "" {
		return c.get()
	}
	return c.op.of.serve(c)
}

func (c *call) tooMany(wait time.Duration) *answer {
	a := problem(http.StatusTooManyRequests, "", "rate limit exceeded")
	seconds := max(math.Ceil(wait.Seconds()), 1)
	if c.set.RateLimit.RetryAfterDate {
		// HTTP dates have whole seconds: round up, or the client is early.
		at := c.date().Add(time.Duration(seconds)*time.Second + time.Second - 1).Truncate(time.Second)
		a.header.Set("Retry-After", at.Format(http.TimeFormat))
	} else {
		a.header.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	return a
}

// date returns the time for the Date header: the world's clock, which updatedAt follows too, and DateSkew.
func (c *call) date() time.Time {
	return time.UnixMilli(c.world.now).UTC().Add(c.set.DateSkew)
}

func (c *call) deliver(w http.ResponseWriter, a *answer, fault *Fault) {
	h := w.Header()
	if c.set.OmitDate {
		h["Date"] = nil // keeps net/http from setting its own
	} else {
		h.Set("Date", c.date().Format(http.TimeFormat))
	}
	if len(a.body) > 0 {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	for name, values := range a.header {
		h[name] = values
	}
	for name, values := range fault.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	body, status := a.body, a.status
	if tag := `"` + strconv.FormatUint(hashText(0, string(body)), 16) + `"`; c.set.ETags && status == http.StatusOK {
		h.Set("ETag", tag)
		if c.r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if c.set.Gzip && len(body) > 0 {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(c.r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = c.sim.compress(body)
			defer func() { c.sim.pages.put(body) }()
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if fault.Kind == FaultCut {
		// The client must notice the cut: at least the last byte is missing.
		_, _ = w.Write(body[:max(min(fault.After, len(body)-1), 0)])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	// An error means that the client is gone.
	_, _ = w.Write(body)
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q := strings.ReplaceAll(params, " ", "")
			return q != "q=0" && !strings.HasPrefix(q, "q=0.000")
		}
	}
	return false
}

// compress returns a pooled buffer with the body compressed.
func (s *Sim) compress(body []byte) []byte {
	out := sliceWriter{b: s.pages.get()}
	z, ok := s.zippers.Get().(*gzip.Writer)
	if ok {
		z.Reset(&out)
	} else {
		z, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is a valid one
	}
	defer s.zippers.Put(z)
	_, _ = z.Write(body) // a sliceWriter does not fail
	_ = z.Close()
	return out.b
}

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}
