package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/trust"
	"dealhouse/internal/warehouse"
)

// Options of a Server. Warehouse, Metrics, Ready and Streams must be given.
type Options struct {
	// Listen is host:port; port 0 chooses one.
	Listen string
	// User and Password are required of viewers if they are set; both or neither.
	User, Password string
	// TLSCert and TLSKey are PEM files, read again when they change; both or neither. Neither: plain HTTP.
	TLSCert, TLSKey string
	// Pprof serves Go's profiles under /debug/pprof/. It is refused on a listener that other machines can reach.
	Pprof bool

	Warehouse *warehouse.Warehouse
	Metrics   http.Handler
	// Ready returns why the daemon cannot work now, nil if it can. An error that joins several is shown as several.
	Ready func(ctx context.Context) error
	// Streams are the configured streams, in the order of the configuration.
	Streams func() []Stream
	// Act carries out what an operator requests. It is used only if User is set. nil: no actions are possible.
	Act func(context.Context, warehouse.Action) (Acted, error)
	// OverdueAfter returns the age from which on a sale should be in a payout; default: catalog.DefaultOverdueAfter.
	OverdueAfter func() time.Duration
	// Tolerances returns by how much payouts may differ before somebody has to look, by currency, in its
	// smallest unit; default: none.
	Tolerances func() map[string]int64

	// Refused returns why the newest configuration was refused, so that the one before is in force; "": it was not. nil:
	// it never is.
	Refused func() string

	// Receivers returns the names and the forms of the receivers of notifications; nil: there are none.
	Receivers func() (names, forms []string)

	Waits Waits // default: the usual ones

	Version string           // of the program, for people; "": not shown
	Logger  *slog.Logger     // default: none
	Clock   func() time.Time // default: time.Now
}

// Stream is what the daemon knows about one configured stream of one account. What the warehouse knows is
// read from the warehouse.
type Stream struct {
	Account, Stream string
	Enabled         bool
	Scope           catalog.Scope    // the part of the stream that is loaded; nil: all of it
	Schedule        string           // as configured, for people; "" if it never runs by itself
	Next            time.Time        // zero: none planned
	Queued          bool             // it is due and waits until other runs have ended
	StaleAfter      time.Duration    // age of the last success beyond which the stream is late by its own schedule; 0: never
	Running         *syncer.Progress // nil when idle
	Since           time.Time        // when the running run started
	LastError       string           // of the last attempt in this process; "" if it succeeded
	FailedAt        time.Time        // when that attempt ended, by this machine's clock
	Stopping        bool             // an operator has cancelled the running run

	Paused *warehouse.Action // who has paused it or its account; nil: not paused
}

// Limits of one request, in addition to Waits. Nobody has a reason to send a large one.
const (
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// ListenError means that the server cannot have its address. That ends when somebody changes something.
type ListenError struct {
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	advice := "set daemon.listen to an address of this machine"
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		advice = "set daemon.listen to another address, or stop the other daemon or program that has this one"
	case errors.Is(e.Err, syscall.EACCES):
		advice = "set daemon.listen to a port of 1024 or above, or give this program the right to use lower ones"
	}
	return fmt.Sprintf("listening on %s: %v: %s", e.Address, e.Err, advice)
}

func (e *ListenError) Unwrap() error { return e.Err }

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.OverdueAfter == nil {
		o.OverdueAfter = func() time.Duration { return catalog.DefaultOverdueAfter }
	}
	if o.Tolerances == nil {
		o.Tolerances = func() map[string]int64 { return nil }
	}
	o.Waits = o.Waits.orUsual()
	return o
}

func (o Options) validate() error {
	switch {
	case o.Warehouse == nil, o.Metrics == nil, o.Ready == nil, o.Streams == nil:
		return errors.New("web: Warehouse, Metrics, Ready and Streams must be given")
	case (o.User == "") != (o.Password == ""):
		return errors.New("a user and a password for the status page go together: give both or neither")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return errors.New("a certificate and its key go together: give both files or neither")
	}
	return nil
}

// secured reports whether credentials are required.
func (o Options) secured() bool { return o.User != "" }

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

// Waits are time limits. A zero value means the default, which each comment gives.
type Waits struct {
	Read    time.Duration // the warehouse, before a page is shown without it; 4 s
	Detail  time.Duration // the figures of a payout, or of a month; 30 s
	Compare time.Duration // comparing payouts with all transactions, which takes seconds for millions of them; 1 min
	// Viewer is how long a viewer waits for what is read in the background, when nothing is known yet; 3 s.
	Viewer time.Duration
	Act    time.Duration // an action, including its record; 30 s

	Header  time.Duration // a client, to send the header of a request; 5 s
	Request time.Duration // a client, to send all of it; 10 s
	Answer  time.Duration // an answer, from the request on; 1 min
	Drain   time.Duration // answers under way, when the server is asked to stop; 10 s
}

// orUsual replaces zero values by the defaults.
func (w Waits) orUsual() Waits {
	return Waits{
		Read:    cmp.Or(w.Read, 4*time.Second),
		Detail:  cmp.Or(w.Detail, 30*time.Second),
		Compare: cmp.Or(w.Compare, time.Minute),
		Viewer:  cmp.Or(w.Viewer, 3*time.Second),
		Act:     cmp.Or(w.Act, 30*time.Second),
		Header:  cmp.Or(w.Header, 5*time.Second),
		Request: cmp.Or(w.Request, 10*time.Second),
		Answer:  cmp.Or(w.Answer, time.Minute),
		Drain:   cmp.Or(w.Drain, 10*time.Second),
	}
}

// certificate is a pair of files that someone renews while the daemon runs.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex
	pair   tls.Certificate
	stamps [2]stamp
}

// stamp shows whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// current returns the pair that the files contain now. If they cannot be used, it returns the previous pair, and an
// error once for each change of the files.
func (c *certificate) current() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.stat() != c.stamps {
		err = c.read()
	}
	pair := c.pair
	return &pair, err
}

func (c *certificate) read() error {
	c.stamps = c.stat() // before reading: a change in between is seen the next time
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("reading the certificate %s and its key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair = pair
	return nil
}

func (c *certificate) stat() (s [2]stamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

// Acted is the result of an operator's action.
type Acted struct {
	Action warehouse.Action // as it was recorded; if nothing was done, as it was requested
	Done   bool             // there was something to do
	Text   string           // the result, in a sentence or two
}
