package warehouse

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// authority is a certificate authority, and what it has signed for 127.0.0.1.
type authority struct {
	ca, cert, key string // files
	pool          *x509.CertPool
	pair          tls.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := func(serial int64, ca bool) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "dealhouse test"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca, err := x509.CreateCertificate(rand.Reader, template(1, true), template(1, true), &caKey.PublicKey, caKey)
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert, err := x509.CreateCertificate(rand.Reader, template(2, false), template(1, true), &key.PublicKey, caKey)
	must(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
		return path
	}
	a := authority{ca: write("ca.crt", "CERTIFICATE", ca), cert: write("c.crt", "CERTIFICATE", cert),
		key: write("c.key", "EC PRIVATE KEY", der), pool: x509.NewCertPool()}
	parsed, err := x509.ParseCertificate(ca)
	must(t, err)
	a.pool.AddCert(parsed)
	a.pair, err = tls.LoadX509KeyPair(a.cert, a.key)
	must(t, err)
	return a
}

// native listens as ClickHouse does on the port of its native protocol: it hangs up if it does not understand, and
// answers an HTTP request with an error about the wrong port.
func native(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close() //nolint:errcheck // it hangs up
				first := make([]byte, 4)
				if n, err := c.Read(first); err == nil && strings.HasPrefix(string(first[:n]), "GET") ||
					strings.HasPrefix(string(first[:n]), "POST") {
					_, _ = c.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\nPort 9000 is for clickhouse-client program\r\nYou must use port 8123 for HTTP.\r\n"))
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// TestWrongPort checks the error about a port that speaks another protocol. For wide samples: it waits for servers that
// do not answer.
func TestWrongPort(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	a := newAuthority(t)
	handler := door(w)
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(handler)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{a.pair}, MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	mutual := httptest.NewUnstartedServer(handler)
	mutual.TLS = &tls.Config{Certificates: []tls.Certificate{a.pair}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: a.pool, MinVersion: tls.VersionTLS12}
	mutual.Config.ErrorLog = nil
	mutual.StartTLS()
	t.Cleanup(mutual.Close)
	ca := TLS{CAFile: a.ca}
	for _, tt := range []struct {
		name, dsn string
		tls       TLS
		want      string // part of a ServerError; "": it works
	}{
		{"native on the HTTP port", "clickhouse://" + plain.Listener.Addr().String(), TLS{},
			"speaks HTTP without TLS, and warehouse.dsn asks for the native protocol without TLS: begin it with http://"},
		{"native on the HTTPS port", "clickhouse://" + secure.Listener.Addr().String() + "?secure=true", ca,
			"speaks HTTP with TLS, and warehouse.dsn asks for the native protocol with TLS: begin it with https://"},
		{"HTTP on the native port", "http://" + native(t, nil), TLS{},
			"speaks the native protocol without TLS, and warehouse.dsn asks for HTTP without TLS: begin it with clickhouse://"},
		{"HTTP on the HTTPS port", "http://" + secure.Listener.Addr().String(), TLS{},
			"speaks HTTP with TLS, and warehouse.dsn asks for HTTP without TLS: begin it with https://"},
		{"HTTPS on the HTTP port", "https://" + plain.Listener.Addr().String() + "?secure=true", TLS{},
			"speaks HTTP without TLS, and warehouse.dsn asks for HTTP with TLS: begin it with http://"},
		{"native on the port with TLS", "clickhouse://" + native(t, secure.TLS), TLS{},
			"speaks the native protocol with TLS, and warehouse.dsn asks for the native protocol without TLS: begin it with clickhouses://"},
		{"an authority that is not known", "https://" + secure.Listener.Addr().String() + "?secure=true", TLS{},
			"warehouse.ca_file"},
		{"an authority of our own", "https://" + secure.Listener.Addr().String() + "?secure=true", ca, ""},
		{"no certificate of the client", "https://" + mutual.Listener.Addr().String() + "?secure=true", ca,
			"warehouse.cert_file"},
		{"a certificate of the client", "https://" + mutual.Listener.Addr().String() + "?secure=true",
			TLS{CAFile: a.ca, CertFile: a.cert, KeyFile: a.key}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			far, err := Open(t.Context(), Options{DSN: tt.dsn, Database: w.database, TLS: tt.tls, NoRetry: true})
			must(t, err)
			t.Cleanup(func() { must(t, far.Close()) })
			_, err = far.Identify(t.Context())
			if tt.want == "" {
				must(t, err)
				return
			}
			if _, unfit := errors.AsType[*ServerError](err); !unfit || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCertificateFiles refuses files that cannot be used, before anything is sent.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, o := range map[string]Options{
		"begin it with clickhouses://": {DSN: "clickhouse://h:9000", TLS: TLS{CAFile: a.ca}},
		"ca_file cannot be read":       {DSN: "clickhouse://h:9440?secure=true", TLS: TLS{CAFile: empty + "no"}},
		"ca_file has no certificate":   {DSN: "clickhouse://h:9440?secure=true", TLS: TLS{CAFile: empty}},
		"cert_file and key_file":       {DSN: "clickhouse://h:9440?secure=true", TLS: TLS{CertFile: a.cert, KeyFile: a.ca}},
	} {
		_, err := Open(t.Context(), o)
		if _, unfit := errors.AsType[*ServerError](err); !unfit || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConnectionOptions checks the options for a server: compression, unless the DSN says otherwise, and
// keep-alive over HTTP.
func TestConnectionOptions(t *testing.T) {
	t.Parallel()
	for dsn, compressed := range map[string]bool{"clickhouse://h:9000": true, "http://h:8123": true,
		"clickhouse://h:9000?compress=none": false, "http://h:8123?compress=false": false} {
		opts, err := serverOptions(Options{DSN: dsn}, dialect{}, "d", false)
		must(t, err)
		if on := opts.Compression != nil && opts.Compression.Method != 0; on != compressed {
			t.Errorf("%s: compressed %t", dsn, on)
		}
		_, progress := opts.Settings["send_progress_in_http_headers"]
		if progress != strings.HasPrefix(dsn, "http") {
			t.Errorf("%s: progress %t", dsn, progress)
		}
	}
}

var _ http.RoundTripper = failureTransport{}
