package client

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const password = "very-secret"

// daemon is a server that answers an action with a status and a body, and counts the passwords that it was sent.
type daemon struct {
	*httptest.Server
	status    int
	body      string
	passwords atomic.Int32
	asked     Action
	key       string
}

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, sent, _ := r.BasicAuth(); sent == password {
		d.passwords.Add(1)
	}
	d.key = r.Header.Get("Idempotency-Key")
	_ = json.NewDecoder(r.Body).Decode(&d.asked)
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(d.status)
	_, _ = w.Write([]byte(d.body))
}

func newDaemon(t *testing.T, status int, body string) *daemon {
	t.Helper()
	d := &daemon{status: status, body: body}
	d.Server = httptest.NewTLSServer(d)
	t.Cleanup(d.Close)
	return d
}

// certificate writes the certificate of the server to a file.
func (d *daemon) certificate(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (d *daemon) act(t *testing.T, certificate string) (string, error) {
	t.Helper()
	c, err := New(Options{Host: strings.TrimPrefix(d.URL, "https://"), TLSCert: certificate, User: "ops",
		Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return c.Act(t.Context(), Action{Action: "run", Account: "acme", Stream: "coupons", Reason: "mended"})
}

// What the daemon answers becomes a text, or an error by which callers tell who has to do something.
func TestAct(t *testing.T) {
	t.Parallel()
	isRefused := func(err error) bool { _, is := errors.AsType[RefusedError](err); return is }
	isNotFound := func(err error) bool { _, is := errors.AsType[NotFoundError](err); return is }
	other := func(err error) bool { return err != nil && !isRefused(err) && !isNotFound(err) }
	for _, test := range []struct {
		status int
		body   string
		want   func(error) bool
		words  string
	}{
		{http.StatusUnauthorized, "", isRefused, "refuses daemon.user"},
		{http.StatusForbidden, `{"error": "no"}`, isRefused, "accepts no actions"},
		{http.StatusMethodNotAllowed, "", isRefused, "accepts no actions"},
		{http.StatusNotFound, `{"error": "no account acme"}`, isNotFound, "no account acme"},
		{http.StatusNotFound, "not found", other, "not a dealhouse daemon"},
		{http.StatusConflict, `{"error": "paused"}`, other, "paused"},
		{http.StatusOK, "<html>", other, "not a dealhouse daemon"},
		{http.StatusTemporaryRedirect, "", other, "not a dealhouse daemon"},
	} {
		d := newDaemon(t, test.status, test.body)
		if _, err := d.act(t, d.certificate(t)); !test.want(err) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%d %s: %v", test.status, test.body, err)
		}
		if n := d.passwords.Load(); n != 1 {
			t.Errorf("%d: the password was sent %d times", test.status, n)
		}
	}
	d := newDaemon(t, http.StatusOK, `{"message": "It starts now."}`)
	text, err := d.act(t, d.certificate(t))
	if want := (Action{"run", "acme", "coupons", "mended"}); err != nil || text != "It starts now." || d.asked != want ||
		d.key == "" {
		t.Errorf("%q, %v; asked %+v with the key %q", text, err, d.asked, d.key)
	}
}

// A server with another certificate than the configured one gets no password (client-2).
func TestOtherServer(t *testing.T) {
	t.Parallel()
	d, other := newDaemon(t, http.StatusOK, ""), filepath.Join(t.TempDir(), "other.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("another")})
	if err := os.WriteFile(other, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.act(t, other); err == nil || d.passwords.Load() != 0 {
		t.Errorf("%v; the password was sent %d times", err, d.passwords.Load())
	}
}

// An address with credentials, or one that is none, is refused before anything is sent (client-1).
func TestURL(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"healthz", "ftp://127.0.0.1/", "http://u:p@127.0.0.1:1/", ":",
		"http://127.0.0.1:1/?a=b"} {
		if _, err := New(Options{URL: wrong}); !errors.Is(err, ErrURL) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
