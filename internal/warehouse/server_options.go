package warehouse

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// TLS are the files, in PEM, of connections to a server. All may be empty.
type TLS struct {
	CAFile   string // authorities that are trusted beside those of the system
	CertFile string // of this client, with its chain
	KeyFile  string // of that certificate
}

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

// droppedError is the failure of a request on a connection that had served others before. The reason is not in
// the request: servers close connections that are idle, and net/http has no type for a request that was sent on
// one of these.
type droppedError struct{ error }

func (e *droppedError) Unwrap() error { return e.error }

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
