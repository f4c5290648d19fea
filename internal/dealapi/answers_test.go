package dealapi

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wire answers every request with bytes as they are.
func wire(t *testing.T, answer func(w net.Conn, r *http.Request)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() {
		end()
		_ = l.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer func() { _ = c.Close() }()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					answer(c, r)
					if r.Close { // set by an answer that ends the connection
						return
					}
				}
			})
		}
	})
	return "http://" + l.Addr().String()
}

// answered is an answer with a body, and with headers that end with a line break.
func answered(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), headers, body)
}

// TestAnswers gives each answer that a service, or something in front of it, may give in place of a page. The message
// says what was answered, to what, and what to do.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	const inJSON, inHTML = "Content-Type: application/json\r\n", "Content-Type: text/html\r\n"
	style := "<style>" + strings.Repeat("a{b:c} ", 200) + "</style>"
	first := answered("200 OK", inJSON, `{"data":[{"id":"a"}],"cursor":"b"}`)
	for _, c := range []struct {
		name, answer string
		second       bool // to the request for the second page
		kind         Kind
		words        []string
	}{
		{"no key", answered("401 Unauthorized", inJSON, `{"message":"unknown key"}`), false, KindAuth,
			[]string{"HTTP 401", "refused the key", "check api_key", "unknown key", "set OWN"}},
		{"an expired key, told in a header", answered("401 Unauthorized", `WWW-Authenticate: Bearer error="invalid_token", error_description="it expired"`+"\r\n", ""), false, KindAuth,
			[]string{"HTTP 401", "check api_key", "it expired"}},
		{"a password in front", answered("401 Unauthorized", "WWW-Authenticate: Basic realm=\"staging\"\r\n"+inHTML, "<h1>Who are you?</h1>"), false, KindAuth,
			[]string{"HTTP 401", "another login than the key", "check base_url", "staging", "says: Who are you?"}},
		{"no rights", answered("403 Forbidden", inJSON, `{"message":"not allowed"}`), false, KindAuth,
			[]string{"HTTP 403", "refused the key", "rights of the key", "not allowed"}},
		{"too much, as 403", answered("403 Forbidden", "Retry-After: 30\r\n"+inJSON, `{"message":"secondary limit"}`), false, KindRateLimited,
			[]string{"HTTP 403", "rate limit", "lower requests_per_second", "secondary limit", "wait 30s"}},
		{"nothing left, as 403", answered("403 Forbidden", "X-RateLimit-Remaining: 0\r\n", "limit"), false, KindRateLimited,
			[]string{"HTTP 403", "rate limit", "lower requests_per_second"}},
		{"a firewall", answered("403 Forbidden", "Server: cloudflare\r\n"+inHTML, "<!DOCTYPE html><html><head><title>Attention!</title>"+style+"</head><body><h1>You have been blocked</h1></body></html>"), false, KindNetwork,
			[]string{"HTTP 403", "a firewall or a proxy", "the key may be right", "You have been blocked", "Server: cloudflare"}},
		{"a firewall that speaks XML", answered("403 Forbidden", "", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>by policy</Message></Error>"), false, KindNetwork,
			[]string{"HTTP 403", "a firewall or a proxy", "AccessDenied by policy"}},
		{"a long error", answered("403 Forbidden", inJSON, `{"path":"`+strings.Repeat("x", 400)+`","trace":["`+strings.Repeat("y", 400)+`"],"detail":"the key ends in May"}`), false, KindAuth,
			[]string{"HTTP 403", "check api_key", "the key ends in May"}},
		{"pay first", answered("402 Payment Required", inJSON, `{"error":"no plan"}`), false, KindBadRequest,
			[]string{"HTTP 402", "refused the request", "ask the operators", "no plan"}},
		{"a bad parameter", answered("400 Bad Request", inJSON, `{"error":"unknown parameter land"}`), false, KindBadRequest,
			[]string{"HTTP 400", "land (set account.params.country)", "unknown parameter land"}},
		{"a value", answered("422 Unprocessable Entity", inJSON, `[{"msg":"no country","loc":["query","land"]}]`), false, KindBadRequest,
			[]string{"HTTP 422", "land (set account.params.country)", "no country"}},
		{"no such address", answered("404 Not Found", inHTML, "<pre>Cannot GET /v1/deals/coupons</pre>"), false, KindNotFound,
			[]string{"HTTP 404", "does not know this address", "check base_url", "says: Cannot GET /v1/deals/coupons"}},
		{"an address of the past", answered("410 Gone", "", "use /v3"), false, KindNotFound,
			[]string{"HTTP 410", "check base_url", "use /v3"}},
		{"another method", answered("405 Method Not Allowed", "Allow: POST\r\n", ""), false, KindBadRequest,
			[]string{"HTTP 405", "address of the API", "Allow: POST"}},
		{"another host", answered("421 Misdirected Request", "", ""), false, KindBadRequest,
			[]string{"HTTP 421", "check that base_url"}},
		{"plain HTTP", answered("426 Upgrade Required", "", "use TLS"), false, KindBadRequest,
			[]string{"HTTP 426", "right scheme", "use TLS"}},
		{"too long", answered("414 URI Too Long", inHTML, "<h1>414</h1>"), false, KindBadRequest,
			[]string{"HTTP 414", "too long", "shorten filters"}},
		{"the law", answered("451 Unavailable For Legal Reasons", "", "embargo"), false, KindBadRequest,
			[]string{"HTTP 451", "ask the operators", "embargo"}},
		{"a proxy", answered("407 Proxy Authentication Required", "Proxy-Authenticate: Basic\r\n", ""), false, KindNetwork,
			[]string{"HTTP 407", "the proxy asks for a user", "HTTPS_PROXY="}},
		{"a hotel", answered("511 Network Authentication Required", inHTML, "<title>Welcome, guest</title>"), false, KindNetwork,
			[]string{"HTTP 511", "network of this machine asks for a login", "log in", "Welcome, guest"}},
		{"too many", answered("429 Too Many Requests", "Retry-After: 86400\r\n", "quota of the day"), false, KindRateLimited,
			[]string{"HTTP 429", "lower requests_per_second", "quota of the day", "wait 24h0m0s"}},
		{"a fault", answered("500 Internal Server Error", inJSON, `{"message":"boom","id":"e-1"}`), false, KindServer,
			[]string{"HTTP 500", "try again later", "boom", "e-1"}},
		{"maintenance", answered("503 Service Unavailable", inHTML+"Retry-After: 3600\r\n", "<html><body><p>Back at&nbsp;5 &amp; a bit</p></body></html>"), false, KindServer,
			[]string{"HTTP 503", "try again later", "Back at 5 & a bit", "wait 1h0m0s"}},
		{"a status of nobody", answered("999 Request denied", "", "no robots"), false, KindServer,
			[]string{"HTTP 999", "ask the operators", "no robots"}},
		{"moved", answered("301 Moved Permanently", "Location: https://www.deals.example/v1/deals/coupons\r\n", ""), false, KindRedirect,
			[]string{"HTTP 301", "redirected to https://www.deals.example", "set base_url"}},
		{"a login", answered("302 Found", "Location: /login\r\n", ""), false, KindRedirect,
			[]string{"HTTP 302", "more than 5 redirects", "/login", "asks for a login"}},
		{"moved to nowhere", answered("302 Found", "", ""), false, KindRedirect,
			[]string{"HTTP 302", "neither with data nor with an address", "check base_url"}},
		{"not changed", "HTTP/1.1 304 Not Modified\r\n\r\n", false, KindRedirect,
			[]string{"HTTP 304", "a cache or a proxy"}},
		{"nothing", "HTTP/1.1 204 No Content\r\n\r\n", false, KindMalformed,
			[]string{"HTTP 204", "the API promises 200", "check that base_url"}},
		{"later", answered("202 Accepted", inJSON, `{"message":"the export is being made"}`), false, KindMalformed,
			[]string{"HTTP 202", "the API promises 200", "the export is being made"}},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", false, KindMalformed,
			[]string{"HTTP 101", "the API promises 200"}},
		{"a page", answered("200 OK", inHTML, "<html><head><title>Sign in</title>"+style), false, KindMalformed,
			[]string{"HTTP 200", "not JSON", "Sign in", "a page in front of it"}},
		{"an error in disguise", answered("200 OK", inJSON, `{"trace":"`+strings.Repeat("x", 300)+`","error":{"message":"key expired"}}`), false, KindMalformed,
			[]string{"HTTP 200", "without an array named data", "key expired", "show this to the operators"}},
		{"half of a page", answered("200 OK", inJSON, `{"data":[{"id":"a"`), false, KindMalformed,
			[]string{"HTTP 200", "not JSON as promised", `{"data":[{"id":"a"`, "check base_url"}},
		{"another encoding", answered("200 OK", "Content-Encoding: br\r\n", "xx"), false, KindMalformed,
			[]string{"HTTP 200", `"br" was not asked for`, "check"}},
		{"a refusal in another encoding", answered("400 Bad Request", "Content-Encoding: br\r\n", "xx"), false, KindBadRequest,
			[]string{"HTTP 400", "encoding that was not asked for: br"}},
		{"another server", "SSH-2.0-OpenSSH_9.6\r\n", false, KindNetwork,
			[]string{"connection broke", "check base_url", "SSH-2.0"}},
		{"a header that is none", "HTTP/1.1 200 OK\r\nfoo bar\r\n\r\n", false, KindNetwork,
			[]string{"malformed MIME header", "foo bar", "check base_url"}},
		{"a long line that is no header", "HTTP/1.1 200 OK\r\n" + strings.Repeat("foo bar ", 20_000) + "\r\n\r\n", false, KindNetwork,
			[]string{"malformed MIME header", "foo bar", "check base_url"}},
		{"a header with the key in hex", "HTTP/1.1 200 OK\r\n" + hex.EncodeToString([]byte(testKey)) + "\r\n\r\n", false, KindNetwork,
			[]string{"malformed MIME header: missing colon: [key]", "check base_url"}},
		{"a status with the key", "HTTP/1.1 2x0" + base64.StdEncoding.EncodeToString([]byte("a"+testKey)) + " OK\r\n\r\n", false, KindNetwork,
			[]string{"malformed HTTP status code [key]", "check base_url"}},
		{"a body that breaks off", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"data\"", false, KindNetwork,
			[]string{"HTTP 200", "the body broke off", "check"}},
		{"a refused cursor", answered("400 Bad Request", inJSON, `{"error":"unknown cursor"}`), true, KindBadRequest,
			[]string{"HTTP 400", "following page", "may have expired", "set account.params.cursor", "unknown cursor", "cursor=b"}},
		{"a lost cursor", answered("404 Not Found", inJSON, `{"error":"no such cursor"}`), true, KindNotFound,
			[]string{"HTTP 404", "following page", "set account.params.cursor", "no such cursor"}},
		{"a cursor without an end", first, true, KindLoop,
			[]string{"loops", "set account.params.cursor", "the cursor of page 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := wire(t, func(w net.Conn, r *http.Request) {
				answer := c.answer
				if c.second && !r.URL.Query().Has("cursor") {
					answer = first
				}
				r.Close = c.kind == KindNetwork || strings.HasPrefix(answer, "HTTP/1.1 101")
				_, _ = io.WriteString(w, answer)
			})
			r := newRig(t, text(""), func(o *Options) { o.BaseURL = url })
			_, err := collect(t.Context(), r.Client, Query{Path: couponsPath, Params: map[string][]string{"land": {"DE"}},
				OwnKey: "OWN", Settings: map[string]string{"land": "account.params.country", "cursor": "account.params.cursor"}})
			e := ofKind(t, err, c.kind)
			if _, advice := e.explain(); advice == "" {
				t.Error("it is not said what to do")
			}
			for _, word := range append(c.words, "[GET "+url+couponsPath+"?") {
				if !strings.Contains(e.Error(), word) {
					t.Errorf("%q is not in: %s", word, e)
				}
			}
			if len(e.Error()) > 2*maxText {
				t.Errorf("%d bytes", len(e.Error()))
			}
			assertSecret(t, e.Error())
		})
	}
}

// TestAnswersThatDoNotEnd gives answers that begin and never end. None keeps a client for longer than a few attempts.
func TestAnswersThatDoNotEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	drip := func(head, drop string) func(net.Conn, *http.Request) {
		return func(w net.Conn, _ *http.Request) {
			_, err := io.WriteString(w, head)
			for err == nil {
				<-time.After(10 * time.Millisecond)
				_, err = io.WriteString(w, drop)
			}
		}
	}
	flood := func(head, drop string) func(net.Conn, *http.Request) {
		return func(w net.Conn, _ *http.Request) {
			_, err := io.WriteString(w, head)
			for err == nil {
				_, err = io.WriteString(w, strings.Repeat(drop, 100))
			}
		}
	}
	for name, c := range map[string]struct {
		answer   func(net.Conn, *http.Request)
		kind     Kind
		attempts int64 // at most
	}{
		"another protocol":      {drip("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "."), KindMalformed, 1},
		"a silent protocol":     {drip("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", ""), KindMalformed, 1},
		"hints":                 {flood("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), KindNetwork, unendingAttempts},
		"dripping hints":        {drip("", "HTTP/1.1 102 Processing\r\n\r\n"), KindNetwork, unendingAttempts},
		"headers":               {flood("HTTP/1.1 200 OK\r\n", "X-A: aaaaaaaaaaaaaaaa\r\n"), KindNetwork, 8},
		"dripping headers":      {drip("HTTP/1.1 200 OK\r\n", "X: a\r\n"), KindTimeout, unendingAttempts},
		"one header":            {drip("HTTP/1.1 200 OK\r\nX: ", "a"), KindTimeout, unendingAttempts},
		"a dripping body":       {drip("HTTP/1.1 200 OK\r\n\r\n{\"data\":[", " "), KindTimeout, unendingAttempts},
		"dripping chunks":       {drip("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"), KindTimeout, unendingAttempts},
		"a flood of chunks":     {flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\n     \r\n"), KindTooLarge, 1},
		"one chunk's extension": {flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", "a=b;"), KindNetwork, 8},
		"a body that stops":     {drip("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", ""), KindTimeout, unendingAttempts},
		"a dripping refusal":    {drip("HTTP/1.1 403 Forbidden\r\n\r\n{", " "), KindAuth, 1},
		"a refusal that stops":  {drip("HTTP/1.1 400 Bad Request\r\nContent-Length: 99\r\n\r\n{", ""), KindBadRequest, 1},
		"a dripping redirect":   {drip("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n\r\n", " "), KindRedirect, 1},
		"redirects": {func(w net.Conn, _ *http.Request) {
			_, _ = io.WriteString(w, answered("302 Found", "Location: ?a\r\n", ""))
		}, KindRedirect, 1},
		"trailers after a body":  {drip("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: a\r\n"), KindTimeout, unendingAttempts},
		"gzip without any bytes": {drip("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00", ""), KindTimeout, unendingAttempts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int64
			r := newRig(t, text(""), func(o *Options) {
				o.BaseURL = wire(t, c.answer)
				o.MaxBodyBytes = 1 << 20
				o.OnRequest = func(RequestInfo) { attempts.Add(1) }
				if c.kind == KindTimeout {
					o.Timeout = 200 * time.Millisecond
				}
			})
			begun := time.Now()
			_, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
			e := ofKind(t, err, c.kind)
			if n := attempts.Load(); n > c.attempts {
				t.Errorf("%d attempts: %v", n, err)
			}
			// The waits before a retry pass at once here.
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if c.kind == KindTimeout && !strings.Contains(e.Error(), "did not end in time") {
				t.Error(e)
			}
		})
	}
}
