//go:build !noengine

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// authority signs certificates that no system trusts.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // with its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a company's authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a certificate for a host that ends after a time.
func (a *authority) sign(t *testing.T, host string, ends time.Duration) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(ends),
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// abroad is what can be reached through a proxy alone: the API and ClickHouse, over TLS, at names that no DNS knows.
type abroad struct {
	*authority
	server string // its address
}

func newAbroad(t *testing.T, api http.Handler) *abroad {
	t.Helper()
	a := &abroad{authority: newAuthority(t)}
	certificates := map[string]*tls.Certificate{
		"api.deals.invalid":       a.sign(t, "api.deals.invalid", time.Hour),
		"warehouse.deals.invalid": a.sign(t, "warehouse.deals.invalid", time.Hour),
		"old.deals.invalid":       a.sign(t, "old.deals.invalid", -time.Minute),
		"alias.deals.invalid":     a.sign(t, "another.deals.invalid", time.Hour),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "warehouse.") {
			w.Header().Set("X-ClickHouse-Exception-Code", "516")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED) (version 26.7.1.1)")
			return
		}
		api.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return certificates[hello.ServerName], nil
		},
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients break off
	server.StartTLS()
	t.Cleanup(server.Close)
	a.server = server.Listener.Addr().String()
	return a
}

// proxy is one on the way there.
type proxy struct {
	address, server string

	mu    sync.Mutex
	asked []string // method and host
}

func (a *abroad) newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{server: a.server}
	s := httptest.NewUnstartedServer(http.HandlerFunc(p.relay))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	p.address = strings.TrimPrefix(s.URL, "http://")
	return p
}

// relay connects a client with the server, whichever host it asks for, if it may.
func (p *proxy) relay(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.mu.Unlock()
	user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	switch {
	case user != "worker" || password != httpSecret:
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case strings.HasPrefix(r.Host, "forbidden."):
		w.WriteHeader(http.StatusForbidden)
		return
	}
	there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.server)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = there.Close() }()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = here.Close() }()
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(there, here)
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
}

// hosts is what it was asked for, each once.
func (p *proxy) hosts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(p.asked)))
}

// TestProxyAndAuthorities runs the program behind a proxy, with an authority that only a variable names. Whatever is in
// the way is said so that one knows what to do. net/http reads these variables once in the life of a process.
func TestProxyAndAuthorities(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	sim, err := apisim.New(apisim.Options{Orgs: []apisim.Org{{Name: "acme", Key: acmeKey}}})
	if err != nil {
		t.Fatal(err)
	}
	a := newAbroad(t, sim)
	const through = "HTTPS_PROXY=http://worker:" + httpSecret + "@<proxy>"
	trusted := "SSL_CERT_FILE=" + a.file
	// In narrow samples, these are left out: each is much like another one.
	alike := []string{"a folder", "lower case", "another name", "no proxy there", "proxy without TLS"}
	const reached, proxied = "on the first page", "CONNECT api.deals.invalid:443"
	for name, c := range map[string]struct {
		host  string
		env   []string
		code  int
		words []string
		asked []string // of the proxy
	}{
		"works": {"api", []string{through, trusted}, 0, []string{reached}, []string{proxied}},
		"a folder": {"api", []string{through, "SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR=" + filepath.Dir(a.file)}, 0,
			[]string{reached}, []string{proxied}},
		"lower case": {"api", []string{strings.Replace(through, "HTTPS_PROXY", "https_proxy", 1), trusted}, 0,
			[]string{reached}, []string{proxied}},
		"unknown authority": {"api", []string{through}, 1,
			[]string{"certificate of the service", "authority that this machine does not trust", "SSL_CERT_FILE"},
			[]string{proxied}},
		"expired": {"old", []string{through, trusted}, 1,
			[]string{"certificate of the service has expired", "clock of this machine"},
			[]string{"CONNECT old.deals.invalid:443"}},
		"another name": {"alias", []string{through, trusted}, 1,
			[]string{"certificate of the service is for another name", "another.deals.invalid", "base_url"},
			[]string{"CONNECT alias.deals.invalid:443"}},
		"forbidden": {"forbidden", []string{through, trusted}, 1,
			[]string{"proxy does not let requests through", "NO_PROXY", "403"}, []string{"CONNECT forbidden.deals.invalid:443"}},
		"no password": {"api", []string{"HTTPS_PROXY=<proxy>", trusted}, 1,
			[]string{"proxy asks for a user and a password", "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"}, []string{proxied}},
		"no proxy there": {"api", []string{"HTTPS_PROXY=http://worker:" + httpSecret + "@127.0.0.1:1", trusted}, 1,
			[]string{"proxy could not be reached", "check HTTPS_PROXY"}, nil},
		"proxy without TLS": {"api", []string{strings.Replace(through, "http://", "https://", 1), trusted}, 1,
			[]string{"the proxy speaks no TLS at this port", "HTTPS_PROXY"}, nil},
		"around the proxy": {"api", []string{through, trusted, "NO_PROXY=.deals.invalid"}, 1,
			[]string{"could not be reached"}, nil},
		"the warehouse": {
			"api", []string{through, trusted, "DEALHOUSE_WAREHOUSE_DSN=https://loader:x@warehouse.deals.invalid:8443/dealhouse"},
			3, []string{reached, "refused the credentials"}, []string{proxied, "CONNECT warehouse.deals.invalid:8443"},
		},
	} {
		if !enginetest.Wide() && slices.Contains(alike, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := a.newProxy(t)
			env := []string{
				"DEALHOUSE_BASE_URL=https://" + c.host + ".deals.invalid", "DEALHOUSE_API_KEY=" + acmeKey,
				"DEALHOUSE_WAREHOUSE_DSN=embedded:" + filepath.Join(t.TempDir(), "none"),
				"HTTP_PROXY=", "http_proxy=", "https_proxy=", "NO_PROXY=", "no_proxy=", "SSL_CERT_DIR=", "SSL_CERT_FILE=",
			}
			for _, entry := range c.env {
				env = append(env, strings.Replace(entry, "<proxy>", p.address, 1))
			}
			got := startIn(t, t.TempDir(), env, nil, "check").finish(t)
			if asked := p.hosts(); !slices.Equal(asked, c.asked) || got.code != c.code {
				t.Errorf("exit code %d, and the proxy was asked for %q:\n%s%s", got.code, asked, got.out, got.err)
			}
			for _, words := range c.words {
				if !strings.Contains(strings.Join(strings.Fields(got.out), " "), words) {
					t.Errorf("%q is not said:\n%s", words, got.out)
				}
			}
		})
	}
}
