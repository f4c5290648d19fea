package door

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/trust"
)

var (
	errHost = exception.New(exception.AccessDenied, "ACCESS_DENIED",
		"the Host header is not one of this server: address it as localhost or by its number, or set a user and password")
	errOrigin = exception.New(exception.AccessDenied, "ACCESS_DENIED",
		"requests from web pages of other origins are not served")
	errNoPassword  = exception.New(exception.PasswordRequired, "REQUIRED_PASSWORD", "a user and password are required")
	errBadPassword = exception.New(exception.AuthFailed, "AUTHENTICATION_FAILED", "the user or the password is not right")
)

// admitted decides whether to serve a request at all, and answers it if not.
func (h *handler) admitted(w http.ResponseWriter, req *http.Request) bool {
	status, err := h.admit(req)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse"`)
	}
	if err != nil {
		h.fail(w, status, err)
	}
	return err == nil
}

// admit decides whether to serve a request at all. If not, it returns the status and the error to answer.
func (h *handler) admit(req *http.Request) (int, error) {
	// Any web page can make a browser send requests here. It cannot read the
	// answers, since there are no CORS headers, but a write needs no answer.
	if foreign(req) {
		return http.StatusForbidden, errOrigin
	}
	if h.o.User == "" {
		if !h.knownHost(req.Host) {
			return http.StatusForbidden, errHost
		}
		return 0, nil
	}
	if req.URL.Path == "/ping" {
		return 0, nil
	}
	if err := h.authenticate(req); err != nil {
		return http.StatusUnauthorized, err
	}
	return 0, nil
}

// foreign tells whether the headers of a browser say that the request comes from another site's page.
func foreign(req *http.Request) bool {
	if site := req.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return true
	}
	origin := req.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, req.Host)
}

// knownHost tells whether a person chose the host that the Host header names, rather than a web page. A number is
// always accepted: DNS rebinding needs a name.
func (h *handler) knownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(h.o.AllowedHosts, func(s string) bool {
		return s == "*" || strings.EqualFold(s, host)
	})
}

// authenticate looks for a user and password in the places where ClickHouse's clients put them. It
// compares both in constant time.
func (h *handler) authenticate(req *http.Request) error {
	user, password, given := req.BasicAuth()
	if !given {
		user, password = req.Header.Get("X-ClickHouse-User"), req.Header.Get("X-ClickHouse-Key")
		given = user != "" || password != ""
	}
	if !given {
		values, err := url.ParseQuery(req.URL.RawQuery)
		if err != nil {
			return errors.Join(errNoPassword, err)
		}
		user, password = values.Get("user"), values.Get("password")
		given = user != "" || password != ""
	}
	if !given {
		return errNoPassword
	}
	if user == "" {
		user = "default"
	}
	want := trust.Login{User: h.o.User, Password: h.o.Password}
	if !want.Matches(trust.Login{User: user, Password: password}) {
		return errBadPassword
	}
	return nil
}
