package dealapi

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// assertSecret fails if any text shows the key, or half of it.
func assertSecret(t *testing.T, texts ...string) {
	t.Helper()
	for _, shown := range texts {
		for _, spelling := range []string{
			testKey, url.QueryEscape(testKey), base64.StdEncoding.EncodeToString([]byte(testKey)),
			testKey[:12], testKey[12:], strings.ReplaceAll(testKey, "/", `\/`), lowerHex(testKey),
		} {
			if strings.Contains(shown, spelling) {
				t.Errorf("the key shows in %q", shown)
			}
		}
	}
}

// lowerHex escapes as some URL libraries do.
func lowerHex(s string) string {
	return strings.NewReplacer("+", "%2b", "/", "%2f", "=", "%3d").Replace(s)
}

func TestKeyEchoedByTheServiceIsScrubbed(t *testing.T) {
	echo := "key " + testKey + " " + url.QueryEscape(testKey) + " " + base64.StdEncoding.EncodeToString([]byte(testKey))
	for name, handler := range map[string]http.HandlerFunc{
		"error body":       status(403, echo),
		"cut by excerpt":   status(400, strings.Repeat("x", excerptBytes-8)+testKey),
		"many":             status(500, strings.Repeat(testKey, 1000)),
		"malformed":        text(echo),
		"escaped in JSON":  text(`{"you":"` + strings.ReplaceAll(testKey, "/", `\/`) + `"}`),
		"broken protocol":  hijack("HTTP/1.1 2" + testKey + " OK\r\n\r\n"),
		"redirect target":  header("Location", "https://"+"evil.example/"+testKey, status(302, "")),
		"redirect host":    header("Location", "https://sk_live_T0p.example/", status(302, "")),
		"content encoding": header("Content-Encoding", testKey, text("x")),
		"next page":        text(`{"data":[1],"nextPage":"?api_key=` + url.QueryEscape(testKey) + `"}`),
		"broken off":       hijack("HTTP/1.1 403 No\r\nContent-Length: 99\r\n\r\nkey " + testKey[:len(testKey)-1]),
		"lower-case hex":   status(403, lowerHex(testKey)),
		"hex in a path":    text(`{"data":[1],"nextPage":"/v2/products/` + lowerHex(testKey) + `"}`),
		"escaped plus":     status(403, `{"you":"`+strings.ReplaceAll(testKey, "+", `\u002B`)+`"}`),
		"JSON in JSON":     status(403, `{"you":"{\"key\":\"`+strings.ReplaceAll(testKey, "+", `\\u002b`)+`\"}"}`),
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			r := newRig(t, handler, func(o *Options) {
				o.MaxAttempts = 2
				o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			})
			_, err := collect(t.Context(), r.Client, Query{Path: "/v2/products", Paging: PagingNextPage})
			if err == nil {
				t.Fatal("no error")
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				assertSecret(t, e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e))
			}
			assertSecret(t, log.String())
		})
	}
}

func TestClientDoesNotPrintItsKey(t *testing.T) {
	r := newRig(t, text(""), nil)
	assertSecret(t, fmt.Sprintf("%+v", r.Client), fmt.Sprintf("%#v", r.Client), fmt.Sprint(r.scrub()))
}

func TestKeyStaysInItsOrigin(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("the foreign origin was asked: %s %v", req.URL, req.Header)
	}))
	t.Cleanup(foreign.Close)
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/moved":
			http.Redirect(w, req, "/here?x=1", http.StatusFound)
		case "/here":
			if req.Header.Get("Authorization") == "" {
				t.Error("the key is missing after a redirect within the origin")
			}
			fmt.Fprint(w, `{"data":[1]}`)
		case "/foreign":
			http.Redirect(w, req, foreign.URL, http.StatusFound)
		case "/next":
			fmt.Fprintf(w, `{"data":[1],"nextPage":"%s/next"}`, foreign.URL)
		}
	}, nil)
	if pages, err := collect(t.Context(), r.Client, Query{Path: "/moved"}); err != nil || len(pages) != 1 {
		t.Error(pages, err)
	}
	_, err := collect(t.Context(), r.Client, Query{Path: "/foreign"})
	wantKind(t, err, KindRedirect)
	_, err = collect(t.Context(), r.Client, Query{Path: "/next", Paging: PagingNextPage})
	wantKind(t, err, KindRedirect)
}

func TestNewRefusesBadOptions(t *testing.T) {
	good := Options{Account: "acme", BaseURL: "https://api.example.com", Key: testKey}
	for name, change := range map[string]func(*Options){
		"no key":            func(o *Options) { o.Key = "" },
		"line break in key": func(o *Options) { o.Key += "\n" },
		"inner space":       func(o *Options) { o.Key = testKey + " " + testKey },
		"no URL":            func(o *Options) { o.BaseURL = "" },
		"bad URL":           func(o *Options) { o.BaseURL = "https://" + testKey + "\x7f" },
		"other scheme":      func(o *Options) { o.BaseURL = "ftp://x" },
		"plain http":        func(o *Options) { o.BaseURL = "http://api.example.com" },
		"loopback look":     func(o *Options) { o.BaseURL = "http://127.0.0.1.example.com" },
		"password":          func(o *Options) { o.BaseURL = "https://u:" + url.PathEscape(testKey) + "@x" },
		"query":             func(o *Options) { o.BaseURL += "?a=b" },
		"negative":          func(o *Options) { o.MaxAttempts = -1 },
		"user agent":        func(o *Options) { o.UserAgent = "a\r\nb" },
	} {
		o := good
		change(&o)
		_, err := New(o)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		assertSecret(t, ofKind(t, err, KindConfig).Error())
	}
	for _, base := range []string{"https://x", "http://127.0.0.1:80/", "http://[::1]/a/b", "http://LOCALHOST"} {
		o := good
		o.BaseURL = base
		if _, err := New(o); err != nil {
			t.Error(base, err)
		}
	}
	insecure := good
	insecure.BaseURL, insecure.AllowInsecure = "http://api.internal", true
	if _, err := New(insecure); err != nil {
		t.Error(err)
	}
}

func TestMessages(t *testing.T) {
	r := newRig(t, status(403, `{"message":"no   such
 key"}`), nil)
	_, err := r.Get(t.Context(), couponsPath+"/7", nil)
	want := `account acme: get /v1/deals/coupons/7: the API refused the key (HTTP 403): check api_key and the rights of the key: ` +
		`the service says: {"message":"no such key"} [GET ` + r.server.URL + `/v1/deals/coupons/7]`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
