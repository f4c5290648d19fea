package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The image has no shell: its health check is this command, which finds the daemon by the configuration.
func TestHealthcheck(t *testing.T) {
	healthy := true
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || !healthy {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(daemon.Close)
	listen := strings.TrimPrefix(daemon.URL, "http://")
	_, port, _ := strings.Cut(listen, ":")
	secure := httptest.NewTLSServer(daemon.Config.Handler)
	t.Cleanup(secure.Close)
	if got := call(t, []string{
		"DEALHOUSE_DAEMON_LISTEN=" + strings.TrimPrefix(secure.URL, "https://"), "DEALHOUSE_DAEMON_TLS_CERT=/x.crt",
		"DEALHOUSE_DAEMON_TLS_KEY=/x.key",
	}, "healthcheck"); got.code != 0 {
		t.Errorf("with TLS: exit code %d: %s", got.code, got.err)
	}
	for _, address := range []string{listen, ":" + port, "0.0.0.0:" + port, "[::]:" + port} {
		t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
		if got := call(t, []string{"DEALHOUSE_DAEMON_LISTEN=" + address}, "healthcheck"); got.code != 0 ||
			got.out+got.err != "" {
			t.Errorf("%s: exit code %d: %s%s", address, got.code, got.out, got.err)
		}
	}
	// A file that has become bad is no reason to restart a daemon that goes on without it.
	bad := filepath.Join(t.TempDir(), "dealhouse.toml")
	if err := os.WriteFile(bad, []byte("[daemon]\nlisten = 7\n[[account]"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, []string{"DEALHOUSE_DAEMON_LISTEN=" + listen, "DEALHOUSE_DEFAULTS_TIMEOUT=soon"}, "healthcheck", "--config",
		bad).want(t, 0, "the configuration cannot be read")
	call(t, []string{"DEALHOUSE_DAEMON_LISTEN=here"}, "healthcheck", "--config", bad).want(t, 2, "DEALHOUSE_DAEMON_LISTEN")
	call(t, nil, "healthcheck", "--url", daemon.URL+"/readyz").want(t, 1, "/readyz answers 503")
	healthy = false
	call(t, nil, "healthcheck", "--url", daemon.URL+"/healthz").want(t, 1, "answers 503")
	daemon.Close()
	call(t, nil, "healthcheck", "--url", daemon.URL+"/healthz").want(t, 1, "does not answer")
	for _, wrong := range []string{"healthz", "ftp://127.0.0.1/", "http://u:" + httpSecret + "@127.0.0.1:1/", ":",
		"http://127.0.0.1:1/healthz?key=" + httpSecret} {
		call(t, nil, "healthcheck", "--url", wrong).want(t, 2, "want a URL")
	}
}
