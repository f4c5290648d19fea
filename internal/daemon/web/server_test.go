package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func withHost(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }

func as(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

// testHeaders wants every answer to forbid what a page does not need, and no page to need that.
func testHeaders(t *testing.T, x *site) {
	t.Helper()
	inline := regexp.MustCompile(`(?i)<script(\s[^>]*)?>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:`)
	outside := regexp.MustCompile(`(?i)(src|href)="(https?:)?//`)
	for _, path := range []string{"/", "/streams/acme/coupons", "/streams/acme/transactions", "/streams/globex/products",
		"/payouts", "/api/v1/status", "/healthz", "/metrics", "/nowhere", "/streams/acme/nothing"} {
		answer, body := x.get(t, path)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if bad := append(inline.FindAllString(body, -1), outside.FindAllString(body, -1)...); len(bad) > 0 {
			t.Errorf("%s: has %q", path, bad)
		}
		if missing := strings.Contains(path, "no"); missing != (answer.StatusCode == http.StatusNotFound) {
			t.Errorf("%s: %s", path, answer.Status)
		}
		head, empty := x.get(t, path, func(r *http.Request) { r.Method = http.MethodHead })
		if head.StatusCode != answer.StatusCode || empty != "" {
			t.Errorf("HEAD %s: %s, %d bytes", path, head.Status, len(empty))
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
			answer, _ := x.get(t, path, func(r *http.Request) { r.Method = method })
			if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %s", method, path, answer.Status)
			}
		}
	}
	assets := regexp.MustCompile(`/static/[^"]+`).FindAllString(x.page(t, "/"), -1)
	if len(assets) < 3 {
		t.Errorf("the page has the assets %q", assets)
	}
	for _, path := range assets {
		answer, _ := x.get(t, path)
		if answer.StatusCode != http.StatusOK ||
			answer.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			answer.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %s, %v", path, answer.Status, answer.Header)
		}
	}
	for _, path := range []string{"/static/", "/static/style.css", "/static/../web.go", "/templates/layout.html",
		"/debug/pprof/", "/payouts/", "/payouts/1"} {
		if answer, _ := x.get(t, path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	if answer, _ := x.get(t, "/", func(r *http.Request) {
		r.Header.Set("X-Long",
			strings.Repeat("x", 64<<10))
	}); answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 64 KiB: %s", answer.Status)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ready = errors.New("the warehouse at secret.internal does not answer")
	x := b.serve(t, func(o *Options) { o.User, o.Password = "ops", "pässword:with colon" })
	for _, path := range []string{"/", "/metrics", "/api/v1/status", "/api/v1/runs", "/streams/acme/coupons",
		x.reply.assets["style.css"], "/nowhere"} {
		for name, change := range map[string]func(*http.Request){
			"none": func(*http.Request) {}, "another user": as("root", "pässword:with colon"),
			"another password": as("ops", "x"), "no password": as("ops", ""),
			"another scheme": func(r *http.Request) { r.Header.Set("Authorization", "Bearer ops") },
		} {
			answer, body := x.get(t, path, change)
			if answer.StatusCode != http.StatusUnauthorized ||
				!strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") || strings.Contains(body, "acme") {
				t.Errorf("%s with %s: %s: %s", path, name, answer.Status, body)
			}
		}
		// As a person, or a Prometheus that reads a Secret made with echo, gives them.
		for _, end := range []string{"", "\n", "\r\n"} {
			if answer, _ := x.get(t, path, as("ops"+end, "pässword:with colon"+end)); answer.StatusCode == http.StatusUnauthorized {
				t.Errorf("%s with the credentials and %q: %s", path, end, answer.Status)
			}
		}
	}
	if answer, body := x.get(t, "/healthz"); answer.StatusCode != http.StatusOK || body != "alive\n" {
		t.Errorf("a probe for life gets %s: %s", answer.Status, body)
	}
	if answer, body := x.get(t, "/readyz"); answer.StatusCode != http.StatusServiceUnavailable ||
		strings.Contains(body, "secret.internal") {
		t.Errorf("a probe for readiness gets %s: %s", answer.Status, body)
	}
	if _, body := x.get(t, "/readyz", as("ops", "pässword:with colon")); !strings.Contains(body, "secret.internal") {
		t.Errorf("with credentials, the reasons are %s", body)
	}
	if text := x.log.String(); strings.Contains(text, "pässword") {
		t.Errorf("the log has the password: %s", text)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.serve(t, nil)
	if answer, body := x.get(t, "/readyz"); answer.StatusCode != http.StatusOK ||
		body != "{\n  \"ready\": true,\n  \"reasons\": []\n}\n" {
		t.Errorf("%s: %s", answer.Status, body)
	}
	b.ready = errors.Join(errors.New("the configuration is not valid"), errors.New("the schema is old"))
	b.fresh()
	if answer, body := x.get(t, "/readyz"); answer.StatusCode != http.StatusServiceUnavailable ||
		body != "{\n  \"ready\": false,\n  \"reasons\": [\n    \"the configuration is not valid\",\n    \"the schema is old\"\n  ]\n}\n" {
		t.Errorf("%s: %s", answer.Status, body)
	}
}

// TestHosts wants foreign host names to be refused by a listener that only its machine can reach: a web page could make
// a name of its own resolve to it.
func TestHosts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.serve(t, nil)
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "localhost:9464": http.StatusOK, "127.0.0.1:1": http.StatusOK,
		"[::1]:9464": http.StatusOK, "[::1]": http.StatusOK, "LOCALHOST:9464": http.StatusOK, "a.localhost": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:9464": http.StatusMisdirectedRequest,
		"localhost.evil.example": http.StatusMisdirectedRequest,
		"127.0.0.1.evil.example": http.StatusMisdirectedRequest, "10.0.0.1": http.StatusMisdirectedRequest,
	} {
		if answer, _ := x.get(t, "/healthz", withHost(host)); answer.StatusCode != want {
			t.Errorf("Host %q: %s", host, answer.Status)
		}
	}
	secured := b.serve(t, func(o *Options) { o.User, o.Password = "ops", "x" })
	if answer, _ := secured.get(t, "/", withHost("status.example.com"),
		as("ops", "x")); answer.StatusCode != http.StatusOK {
		t.Errorf("behind a proxy, with credentials: %s", answer.Status)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cert, key := newCertificate(t, t.TempDir(), "a")
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"on loopback": {func(*Options) {}, ""},
		"for all":     {func(o *Options) { o.Listen = "0.0.0.0:0" }, "anyone who reaches this address"},
		"for all, with a password": {func(o *Options) { o.Listen, o.User, o.Password = "0.0.0.0:0", "u", "p" },
			"sent unencrypted"},
		"for all, with password and TLS":  {func(o *Options) { o.Listen, o.User, o.Password, o.TLSCert, o.TLSKey = "0.0.0.0:0", "u", "p", cert, key }, ""},
		"on loopback with pprof":          {func(o *Options) { o.Pprof = true }, ""},
		"on loopback, without a password": {func(o *Options) { o.TLSCert, o.TLSKey = cert, key }, ""},
	} {
		text := b.serve(t, c.change).log.String()
		if c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: the log says %q, want %q", name, text, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.serve(t, nil)
	missing := filepath.Join(t.TempDir(), "none.pem")
	for want, change := range map[string]func(*Options){
		"must be given":          func(o *Options) { o.Streams = nil },
		"go together: give both": func(o *Options) { o.User = "u" },
		"a user and a password":  func(o *Options) { o.Password = "p" },
		"certificate":            func(o *Options) { o.TLSCert = missing },
		"none.pem":               func(o *Options) { o.TLSCert, o.TLSKey = missing, missing },
		"loopback address only":  func(o *Options) { o.Listen, o.Pprof = "0.0.0.0:0", true },
		"in use":                 func(o *Options) { o.Listen = good.Addr() },
	} {
		o := *good.o
		o.Listen = "127.0.0.1:0"
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPprof(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.serve(t, func(o *Options) { o.Pprof = true })
	if body := x.page(t, "/debug/pprof/goroutine?debug=1"); !strings.Contains(body, "goroutine profile:") {
		t.Error(body)
	}
}

// TestDrain lets an answer under way end before Serve returns, and cuts none off.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	began, release := make(chan struct{}), make(chan struct{})
	x := b.serve(t, func(o *Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-release
			writeText(w, "whole")
		})
	})
	body := make(chan string, 1)
	go func() {
		answer, err := x.client.Get(x.base + "/metrics")
		if err != nil {
			body <- err.Error()
			return
		}
		defer answer.Body.Close()
		text := make([]byte, 5)
		n, _ := answer.Body.Read(text)
		body <- string(text[:n])
	}()
	<-began
	gone := make(chan struct{})
	go func() { x.vanish(); close(gone) }()
	for { // the listener is closed first
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", x.Addr())
		if err != nil {
			break
		}
		closeIt(t, c)
	}
	select {
	case <-gone:
		t.Fatal("Serve returned with an answer under way")
	default:
	}
	close(release)
	if got := <-body; got != "whole" {
		t.Errorf("the answer under way was %q", got)
	}
	<-gone
}

func closeIt(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// newCertificate writes a self-signed certificate for 127.0.0.1, and its key.
func newCertificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der},
		keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// TestTLS renews the certificate while the server runs, and then spoils it.
func TestTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	certFile, keyFile := newCertificate(t, dir, "first")
	x := b.serve(t, func(o *Options) { o.TLSCert, o.TLSKey = certFile, keyFile })
	// The modification time is set explicitly, because a file system may store it coarsely.
	touch := func(at time.Time) {
		for _, name := range []string{certFile, keyFile} {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	served := func() string {
		t.Helper()
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", x.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer closeIt(t, conn)
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	var names []string
	names = append(names, served())
	newCertificate(t, dir, "second")
	touch(time.Now().Add(time.Minute))
	names = append(names, served())
	if err := os.WriteFile(keyFile, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(time.Now().Add(2 * time.Minute))
	names = append(names, served(), served())
	if d := cmp.Diff([]string{"first", "second", "second", "second"}, names); d != "" {
		t.Error(d)
	}
	if n := strings.Count(x.log.String(), "the new certificate cannot be used"); n != 1 {
		t.Errorf("the log says %d times that the new one cannot be used: %s", n, x.log)
	}
	newCertificate(t, dir, "third")
	touch(time.Now().Add(3 * time.Minute))
	if got := served(); got != "third" {
		t.Errorf("after the third: %s", got)
	}

	x.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	x.base = strings.Replace(x.base, "http:", "https:", 1)
	if answer, _ := x.get(t, "/"); answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("%s over %s", answer.Status, answer.Proto)
	}
	old := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}}
	if conn, err := old.DialContext(context.Background(), "tcp", x.Addr()); err == nil {
		closeIt(t, conn)
		t.Error("TLS 1.1 is accepted")
	}
}
