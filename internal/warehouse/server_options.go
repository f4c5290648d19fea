package warehouse

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// progressInterval is how often a server reports over HTTP that a statement is still running, so that no proxy in
// between takes the connection for dead.
const progressInterval = 10 * time.Second

func serverOptions(o Options, d dialect, database string, readOnly bool) (*clickhouse.Options, error) {
	opts, err := clickhouse.ParseDSN(o.DSN)
	if err != nil {
		// The parser's error may show the password.
		return nil, errors.New("the DSN is invalid: write clickhouse://user:password@host:9000 or https://user:password@host:8443")
	}
	if opts.TLS, err = o.TLS.apply(opts.TLS); err != nil {
		return nil, err
	}
	opts.Auth.Database = database
	if opts.Settings == nil {
		opts.Settings = clickhouse.Settings{}
	}
	opts.Settings["enable_shared_storage_snapshot_in_query"] = 1 // the default of 25.12 and later (warehouse-12)
	maps.Copy(opts.Settings, d.dividedSettings())
	if readOnly {
		opts.Settings["readonly"] = 2
	} else {
		maps.Copy(opts.Settings, d.connectionSettings())
	}
	if opts.Compression == nil && !strings.Contains(o.DSN, "compress=") {
		opts.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	if opts.Protocol == clickhouse.HTTP {
		opts.Settings["send_progress_in_http_headers"] = 1
		opts.Settings["http_headers_progress_interval_ms"] = progressInterval.Milliseconds()
		opts.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return failureTransport{t}, nil }
	}
	dial := 10 * time.Second
	if opts.Protocol == clickhouse.HTTP {
		dial = serverTimeout // the driver asks a question in that time, and may have to wait for a free connection
	}
	opts.DialTimeout = max(opts.DialTimeout, dial)
	opts.ReadTimeout = max(opts.ReadTimeout, 30*time.Minute) // a merge of millions of rows answers when it is done
	opts.MaxOpenConns = max(opts.MaxOpenConns, 16)
	return opts, nil
}

// failureTransport reports what net/http and the driver do not: that a connection was dropped while it was idle, and
// that an answer is a failure which says so only in a header.
type failureTransport struct{ http.RoundTripper }

// RoundTrip sends a request.
func (t failureTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	var reused atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused.Store(c.Reused) }}
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	body := &sentBody{ReadCloser: req.Body}
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = body
	}
	answer, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		if reused.Load() && !body.failed.Load() && req.Context().Err() == nil {
			return nil, &droppedError{err}
		}
		return nil, err
	}
	// Once a server has sent its progress, it can no longer change the status, and the driver looks only at that.
	if code := answer.Header.Get("X-ClickHouse-Exception-Code"); code != "" && code != "0" &&
		answer.StatusCode == http.StatusOK {
		answer.StatusCode, answer.Status = http.StatusInternalServerError, "500 Internal Server Error"
	}
	return answer, nil
}

// sentBody notes that what is to be sent could not be read.
type sentBody struct {
	io.ReadCloser
	failed atomic.Bool
}

// Read reads what is to be sent.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(true)
	}
	return n, err
}

// apply adds the files to what the DSN asks for; nil is no TLS.
func (t TLS) apply(config *tls.Config) (*tls.Config, error) {
	if t == (TLS{}) {
		return config, nil
	}
	if config == nil {
		return nil, &ServerError{Problem: "ca_file, cert_file and key_file are for TLS, but warehouse.dsn does not use it",
			Advice: "begin it with clickhouses:// or https://"}
	}
	config = config.Clone()
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, &ServerError{Problem: "warehouse.ca_file cannot be read", Advice: err.Error(), Err: err}
		}
		config.RootCAs, err = x509.SystemCertPool()
		if err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &ServerError{Problem: "warehouse.ca_file has no certificate",
				Advice: "it must be PEM, with -----BEGIN CERTIFICATE-----"}
		}
	}
	if t.CertFile == "" {
		return config, nil
	}
	// The files are read for each connection: certificates are renewed while a daemon runs.
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		return &pair, err
	}
	if _, err := load(nil); err != nil {
		return nil, &ServerError{Problem: "warehouse.cert_file and key_file cannot be used",
			Advice: err.Error(), Err: err}
	}
	config.GetClientCertificate = load
	return config, nil
}

// language is what a port speaks.
type language struct {
	http bool // else the native protocol, or something else
	tls  bool
}

// scheme returns how a DSN asks for it.
func (l language) scheme() string {
	switch {
	case l.http && l.tls:
		return "https"
	case l.http:
		return "http"
	case l.tls:
		return "clickhouses"
	}
	return "clickhouse"
}

func (l language) String() string {
	text := "the native protocol"
	if l.http {
		text = "HTTP"
	}
	if l.tls {
		return text + " with TLS"
	}
	return text + " without TLS"
}

// ofCertificate reports whether a connection failed because one side does not trust the other, and returns an error
// that says what to do.
func ofCertificate(err error) (ServerError, bool) {
	const problem = "the connection to the server is not trusted"
	if wrong, ok := errors.AsType[x509.HostnameError](err); ok {
		return ServerError{Problem: problem,
			Advice: "its certificate is for another name, so write that in warehouse.dsn: " +
				wrong.Error(), Err: err}, true
	}
	if wrong, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ServerError{Problem: problem, Advice: "put the authority of its certificate into warehouse.ca_file: " +
			wrong.Error(), Err: err}, true
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == opAlert {
		return ServerError{Problem: problem,
			Advice: "it refuses this client: check warehouse.cert_file and key_file: " +
				alert.Err.Error(), Err: err}, true
	}
	return ServerError{}, false
}

// opAlert is the Op of a *net.OpError which says that the other side refuses to continue with TLS.
const opAlert = "remote error"

// portTimeout is how long a port may take to show what it speaks.
const portTimeout = 10 * time.Second

// listen finds out what a port speaks. Nothing secret is sent. The error says that nobody answers, or that the server
// does not talk to a client without a certificate.
func listen(ctx context.Context, address string) (language, error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // G402: only to learn that it is TLS
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		l := language{tls: true}
		l.http, err = speaksHTTP(ctx, conn)
		return l, err
	}
	if conn, err = dialer.NetDialer.DialContext(ctx, "tcp", address); err != nil {
		return language{}, err
	}
	var l language
	l.http, err = speaksHTTP(ctx, conn)
	return l, err
}

// speaksHTTP asks for /ping, and closes the connection. A port for the native protocol answers a request with a hint
// that is no success, or hangs up. The error is an alert of TLS.
func speaksHTTP(ctx context.Context, conn net.Conn) (bool, error) {
	defer conn.Close() //nolint:errcheck // nothing was written that counts
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintf(conn, "GET /ping HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		conn.RemoteAddr()); err != nil {
		return false, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == opAlert {
			return false, err
		}
		return false, nil // it speaks something else
	}
	_ = answer.Body.Close()
	return answer.StatusCode < http.StatusBadRequest || answer.StatusCode == http.StatusUnauthorized ||
		answer.StatusCode == http.StatusForbidden, nil
}

// MinimumVersion is the oldest ClickHouse that understands every statement, and whose readers see one state of a table
// by default (warehouse-12).
const MinimumVersion = "25.12"

// isOlder compares the first two numbers of versions.
func isOlder(version, minimum string) bool {
	var v, m [2]int
	if _, err := fmt.Sscanf(version, "%d.%d", &v[0], &v[1]); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(minimum, "%d.%d", &m[0], &m[1]); err != nil {
		return false
	}
	return slices.Compare(v[:], m[:]) < 0
}
