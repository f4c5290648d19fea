package web

import (
	"net/http"
	"strings"

	"dealhouse/internal/trust"
)

// policy allows what this package serves and nothing else: no inline script or style, no other origin, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// policyOfForms is the policy of pages with forms, which may be sent to their own origin.
var policyOfForms = strings.Replace(policy, "form-action 'none'", "form-action 'self'", 1)

// gate decides who gets in, and which requests come from our own pages.
type gate struct {
	o        *Options
	loopback bool   // only this machine can reach the listener
	secret   []byte // of the tokens in forms
	crossing *http.CrossOriginProtection
}

// guard checks each request before its handler.
func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		if g.acts() {
			h.Set("Content-Security-Policy", policyOfForms)
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead &&
			(r.Method != http.MethodPost || !takesActions(r.URL.Path)): // web-1
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		case !g.hostAllowed(r.Host):
			http.Error(w, "this address answers under the names of this machine only (127.0.0.1, localhost)",
				http.StatusMisdirectedRequest)
		case !g.authorized(r) && !isProbe(r.URL.Path): // web-5
			h.Set("WWW-Authenticate", `Basic realm="dealhouse", charset="UTF-8"`)
			http.Error(w, "user and password, please", http.StatusUnauthorized)
		case r.Method == http.MethodPost && !g.acts(): // web-1
			http.Error(w, "actions are taken only where a user and a password are configured: set daemon.user and daemon.password", http.StatusForbidden)
		case r.Method == http.MethodPost && g.crossing.Check(r) != nil: // web-6
			http.Error(w, "this request comes from a page of another origin", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isProbe reports whether an address is for orchestrators, which cannot give a password.
func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" }

// authorized reports whether the request has the credentials, or none are needed. It takes the same time
// whatever is wrong with them. A line feed at the end does not count, as in the configuration: Prometheus sends what a
// Secret of Kubernetes has, which is a file with one more often than not.
func (g *gate) authorized(r *http.Request) bool {
	if !g.o.secured() {
		return true
	}
	user, password, _ := r.BasicAuth()
	want := trust.Login{User: g.o.User, Password: g.o.Password}
	return want.Matches(trust.Login{User: strings.TrimRight(user, "\r\n"), Password: strings.TrimRight(password, "\r\n")})
}

// hostAllowed refuses foreign host names if there are no credentials. Otherwise the author of a web page could make a
// host name of their own resolve to 127.0.0.1, and then the browser of a user on this machine would read this page for
// them. With credentials this cannot happen, because the browser has none for that name.
func (g *gate) hostAllowed(host string) bool {
	return !g.loopback || g.o.secured() || host == "" || trust.LocalRequest(host)
}
