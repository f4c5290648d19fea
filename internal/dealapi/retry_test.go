package dealapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serverFault is one way an attempt can go wrong at the server.
type serverFault struct {
	handler http.HandlerFunc
	kind    Kind
	retried bool
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// hijack breaks the connection off after writing raw bytes.
func hijack(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffer.WriteString(raw)
		_ = buffer.Flush()
		_ = conn.Close()
	}
}

func serverFaults() map[string]serverFault {
	faults := map[string]serverFault{
		"connection closed": {hijack(""), KindNetwork, true},
		"no HTTP":           {hijack("SSH-2.0\r\n\r\n"), KindNetwork, true},
		"body broken off":   {hijack("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"data\":["), KindNetwork, true},
		"chunk broken off": {hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n63\r\n{\"da"), KindNetwork,
			true},
		"truncated JSON":       {text(`{"data":[{"id":`), KindMalformed, true},
		"HTML":                 {text(`<html>maintenance</html>`), KindMalformed, true},
		"empty body":           {text(``), KindMalformed, true},
		"error object":         {text(`{"error":{"code":17}}`), KindMalformed, true},
		"data not an array":    {text(`{"data":{"id":1}}`), KindMalformed, true},
		"data an object":       {text(`{"data":{}}`), KindMalformed, true},
		"bare array":           {text(`[]`), KindMalformed, true},
		"cursor not a string":  {text(`{"data":[],"cursor":7}`), KindMalformed, true},
		"garbage after":        {text(`{"data":[]} {"data":[]}`), KindMalformed, true},
		"no content":           {status(204, ""), KindMalformed, true},
		"created":              {status(201, `{"data":[]}`), KindMalformed, true},
		"unknown encoding":     {header("Content-Encoding", "br", text("x")), KindMalformed, true},
		"false gzip":           {header("Content-Encoding", "gzip", text(`{"data":[]}`)), KindMalformed, true},
		"redirect to nowhere":  {status(302, ""), KindRedirect, false},
		"not modified":         {status(304, ""), KindRedirect, false},
		"endless redirect":     {header("Location", "?x", status(307, "")), KindRedirect, false},
		"redirect elsewhere":   {header("Location", "https://evil.example/", status(302, "")), KindRedirect, false},
		"redirect unreadable":  {header("Location", "http://[", status(302, "")), KindRedirect, false},
		"redirect with a name": {header("Location", "//u:p@127.0.0.1/", status(302, "")), KindRedirect, false},
		"body too large":       {text(`{"data":["` + strings.Repeat("x", 5000) + `"]}`), KindTooLarge, false},
	}
	for code, kind := range map[int]Kind{
		400: KindBadRequest, 405: KindBadRequest, 422: KindBadRequest, 401: KindAuth, 403: KindAuth,
		404: KindNotFound, 410: KindNotFound,
	} {
		faults[http.StatusText(code)] = serverFault{status(code, `{"message":"no"}`), kind, false}
	}
	for code, kind := range map[int]Kind{
		408: KindServer, 425: KindServer, 429: KindRateLimited, 500: KindServer, 502: KindServer, 503: KindServer,
		504: KindServer,
	} {
		faults[http.StatusText(code)] = serverFault{status(code, `oops`), kind, true}
	}
	return faults
}

func header(name, value string, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set(name, value)
		then(w, req)
	}
}

// TestFaultOnceHealsFaultAlwaysEnds is the fault matrix of a single request.
func TestFaultOnceHealsFaultAlwaysEnds(t *testing.T) {
	for name, tc := range serverFaults() {
		for _, times := range []int32{1, 1 << 30} {
			t.Run(fmt.Sprintf("%s/%d", name, times), func(t *testing.T) {
				var pages, requests atomic.Int32
				var last RequestInfo
				r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
					if req.URL.Query().Get("cursor") == "" && req.URL.RawQuery == "" {
						pages.Add(1)
					}
					if requests.Add(1) <= times {
						tc.handler(w, req)
						return
					}
					text(`{"data":[{"id":"ok"}]}`)(w, req)
				}, func(o *Options) {
					o.MaxBodyBytes, o.MaxAttempts, o.OnRequest = 4096, 4, func(i RequestInfo) { last = i }
				})
				got, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
				if tc.retried && times == 1 {
					if err != nil || len(got) != 1 || got[0].Retries != 1 {
						t.Fatalf("not healed: %v %v", got, err)
					}
					if s := r.Stats(); s.Succeeded != 1 || s.Retries != 1 {
						t.Errorf("stats %+v", s)
					}
					return
				}
				if name == "endless redirect" && times == 1 {
					return // a single redirect is simply followed
				}
				e := ofKind(t, err, tc.kind)
				if tc.kind == KindRedirect && (last.Status < 300 || last.class() != "3xx") {
					t.Errorf("told as status %d, class %s", last.Status, last.class())
				}
				attempts := 1
				if tc.retried {
					attempts = 4
				}
				if e.Attempts != attempts || int(pages.Load()) != attempts {
					t.Errorf("%d attempts, %d requests, want %d", e.Attempts, pages.Load(), attempts)
				}
				if !strings.HasPrefix(e.Error(), "account acme: list /v1/deals/coupons: ") {
					t.Errorf("message: %v", e)
				}
			})
		}
	}
}

func TestBackoffGrowsWithJitter(t *testing.T) {
	r := newRig(t, status(500, ""), nil)
	_, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	wantKind(t, err, KindServer)
	waits := r.clock.slept()
	if len(waits) != defaultMaxAttempts-1 {
		t.Fatalf("%d waits", len(waits))
	}
	for i, wait := range waits {
		base := min(defaultBackoff<<i, defaultMaxBackoff)
		if wait < base/2 || wait > base*3/2 {
			t.Errorf("wait %d is %s, want about %s", i, wait, base)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		value    string
		min, max time.Duration
		attempts int
	}{
		"seconds":           {"20", 20 * time.Second, 20 * time.Second, 2},
		"date":              {now.Add(40 * time.Second).UTC().Format(http.TimeFormat), 40 * time.Second, 41 * time.Second, 2},
		"date in the past":  {now.Add(-time.Hour).UTC().Format(http.TimeFormat), 0, time.Second, 2},
		"zero":              {"0", 0, time.Second, 2},
		"rubbish":           {"soon", 0, time.Second, 2},
		"over the ceiling":  {"86400", time.Minute, time.Minute, 2},
		"beyond all bounds": {"99999999999999999999", time.Minute, time.Minute, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
				if requests.Add(1) == 1 {
					w.Header().Set("Date", now.UTC().Format(http.TimeFormat)) // the same, however late the answer is
					w.Header().Set("Retry-After", tc.value)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				text(`{"data":[]}`)(w, req)
			}, func(o *Options) { o.MaxRetryAfter = time.Minute })
			if _, err := collect(t.Context(), r.Client, Query{Path: couponsPath}); err != nil {
				t.Fatal(err)
			}
			waits := r.clock.slept()
			if len(waits) != 1 || waits[0] < tc.min || waits[0] > tc.max {
				t.Errorf("waits %v, want one of %s to %s", waits, tc.min, tc.max)
			}
		})
	}
}

func TestRetryAfterPastTheBudgetFailsAtOnce(t *testing.T) {
	r := newRig(t, header("Retry-After", "90", status(503, "closed")), func(o *Options) { o.MaxElapsed = time.Minute })
	_, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	e := ofKind(t, err, KindServer)
	if e.Attempts != 1 || len(r.clock.slept()) != 0 || e.RetryAfter != 90*time.Second {
		t.Errorf("%d attempts, waits %v: %v", e.Attempts, r.clock.slept(), e)
	}
}

func TestNoRetry(t *testing.T) {
	r := newRig(t, status(500, ""), func(o *Options) { o.NoRetry, o.MaxAttempts, o.MaxElapsed = true, 5, time.Hour })
	_, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	if e := ofKind(t, err, KindServer); e.Attempts != 1 || len(r.clock.slept()) != 0 {
		t.Errorf("%d attempts, waits %v: %v", e.Attempts, r.clock.slept(), e)
	}
}

func TestNeverWaitsPastTheDeadline(t *testing.T) {
	r := newRig(t, header("Retry-After", "90", status(503, "")), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := collect(ctx, r.Client, Query{Path: couponsPath})
	if e := ofKind(t, err, KindServer); e.Attempts != 1 || len(r.clock.slept()) != 0 {
		t.Errorf("waited %v: %v", r.clock.slept(), e)
	}
}

func TestCancelDuringAWait(t *testing.T) {
	r := newRig(t, status(503, "down for lunch"), nil)
	r.clock.stuck = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-r.clock.stuck
		cancel()
	}()
	_, err := collect(ctx, r.Client, Query{Path: couponsPath})
	e := ofKind(t, err, KindCanceled)
	if !errors.Is(err, context.Canceled) || !strings.Contains(e.Error(), "down for lunch") {
		t.Errorf("the fault before is not told: %v", e)
	}
}

func TestTimeoutOfOneAttemptIsRetried(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	for name, sent := range map[string]string{"before the header": "", "in the body": `{"data":[`} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			var r *rig
			r = newRig(t, func(w http.ResponseWriter, req *http.Request) {
				if requests.Add(1) > 1 {
					text(`{"data":[]}`)(w, req)
					return
				}
				if sent != "" {
					_, _ = io.WriteString(w, sent)
					_ = http.NewResponseController(w).Flush()
				}
				<-req.Context().Done() // until the client hangs up
			}, func(o *Options) {
				o.Timeout = 250 * time.Millisecond
				o.OnRequest = func(RequestInfo) {
					if requests.Load() > 0 {
						r.timeout = patience // other requests are answered, however slowly
					}
				}
			})
			pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
			if err != nil || pages[0].Retries == 0 {
				t.Fatal(pages, err)
			}
			if s := r.Stats(); s.Timeouts == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestDeadlineOfTheCallerIsATimeout(t *testing.T) {
	r := newRig(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, nil)
	for limit := 50 * time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := collect(ctx, r.Client, Query{Path: couponsPath})
		cancel()
		e := ofKind(t, err, KindTimeout)
		if e.Attempts == 0 && limit < patience {
			continue // the deadline passed before the attempt began
		}
		if e.Attempts != 1 {
			t.Errorf("%d attempts: %v", e.Attempts, e)
		}
		return
	}
}

func TestUntrustedCertificateIsNotRetried(t *testing.T) {
	server := httptest.NewUnstartedServer(text(`{"data":[]}`))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := New(Options{Account: "acme", BaseURL: server.URL, Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	_, err = collect(t.Context(), c, Query{Path: couponsPath})
	if e := ofKind(t, err, KindNetwork); e.Attempts != 1 {
		t.Errorf("%v", e)
	}
}
