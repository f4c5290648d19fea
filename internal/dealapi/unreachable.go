package dealapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// ProxyError says that the proxy on the way to the service did not let a request through.
type ProxyError struct{ Status int } // HTTP status of its answer

func (e *ProxyError) Error() string {
	return fmt.Sprintf("the proxy answers %d %s", e.Status, http.StatusText(e.Status))
}

// askedProxy checks the answer of a proxy to the request for a connection (http.Transport.OnProxyConnectResponse).
func askedProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return &ProxyError{Status: answer.StatusCode}
	}
	return nil
}

// unreachable returns why there is no connection to the service, and what to do. It returns nothing if
// the error does not show it.
func unreachable(err error) (what, advice string) {
	if refused, ok := errors.AsType[*ProxyError](err); ok {
		if refused.Status == http.StatusProxyAuthRequired {
			return "the proxy asks for a user and a password", "write HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, and in the password %40 for @ and so on"
		}
		return "the proxy does not let requests through to the service", "allow the host of base_url in the proxy, or add it to NO_PROXY"
	}
	who, setting := "the service", "base_url"
	if viaProxy(err) {
		who, setting = "the proxy", "HTTPS_PROXY"
	}
	if what, advice = distrusted(err); what != "" {
		return fmt.Sprintf(what, who), fmt.Sprintf(advice, setting)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return who + " speaks no TLS at this port", "check the port in " + setting +
			", and whether it should begin with http://"
	}
	if who == "the proxy" {
		return "the proxy could not be reached", "check HTTPS_PROXY, or add the host of base_url to NO_PROXY"
	}
	return "", ""
}

// viaProxy reports a failure on the way to the proxy, as net/http marks it.
func viaProxy(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "proxyconnect"
}

// distrusted returns what is wrong with a certificate, and what to do. %s stands for its owner, and in the advice for
// the setting with its address.
func distrusted(err error) (what, advice string) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate of %s comes from an authority that this machine does not trust",
			"if it belongs to your company, or to a proxy that reads the traffic, set SSL_CERT_FILE to a file with its certificate; otherwise check %s"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the certificate of %s is for another name", "check the host in %s, and whether something else answers in its place"
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return "the certificate of %s cannot be checked, since this machine has no list of authorities", "install ca-certificates, or set SSL_CERT_FILE to a file of authorities, so that the host in %s can be checked"
	}
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired {
		return "the certificate of %s has expired, or is not valid yet", "check the clock of this machine; if it is right, the operators of the host in %s must renew the certificate"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the certificate of %s cannot be trusted", "check the host in %s"
	}
	return "", ""
}

// passes reports whether the failure of a connection may end within minutes. A bad certificate stays bad, and a proxy
// that refuses keeps refusing.
func passes(err error) bool {
	if refused, ok := errors.AsType[*ProxyError](err); ok {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError
	}
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	return !bad
}
