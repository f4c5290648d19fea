package warehouse

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

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

// explain returns an error that says what to do about a server that does not answer as it should. An answer of the
// server itself, or an error that is clear already, is returned unchanged.
func (p *pool) explain(ctx context.Context, err error) error {
	if fit, ok := errors.AsType[*ServerError](err); ok {
		return fit
	}
	if IsSettingRefused(err) {
		return &ServerError{Problem: "the user may not change settings that this program depends on", Err: err,
			Advice: fmt.Sprintf("remove the constraint, or give the user a profile that is not readonly: %s",
				brief(err))}
	}
	if IsDenied(err) {
		return &ServerError{Problem: "the user may not read the server's version and settings", Err: err,
			Advice: fmt.Sprintf("grant it SELECT on what this names, of the database system: %s", brief(err))}
	}
	if failure, known := ofCertificate(err); known {
		return &failure
	}
	if _, answered := errors.AsType[*clickhouse.Exception](err); answered || ctx.Err() != nil {
		return err
	}
	opts, failed := p.options("default", false)
	if failed != nil {
		return err
	}
	asked := language{opts.Protocol == clickhouse.HTTP, opts.TLS != nil}
	spoken, heard := listen(ctx, p.address())
	if failure, known := ofCertificate(heard); known {
		return &failure
	}
	if heard != nil || spoken == asked {
		return err
	}
	return &ServerError{Problem: fmt.Sprintf("the port of %s speaks %s, and warehouse.dsn asks for %s", p.address(),
		spoken, asked), Err: err,
		Advice: fmt.Sprintf("begin it with %s://, or give the port for %s (ClickHouse listens on 9000 for clickhouse://, 9440 for clickhouses://, 8123 for http:// and 8443 for https://)",
			spoken.scheme(), asked)}
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
