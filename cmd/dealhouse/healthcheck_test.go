package main

import (
	"net/http"
	"net/http/httptest"
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
	for _, address := range []string{listen, ":" + port, "0.0.0.0:" + port, "[::]:" + port} {
		t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
		if got := call(t, []string{"DEALHOUSE_DAEMON_LISTEN=" + address}, "healthcheck"); got.code != 0 || got.out+got.err != "" {
			t.Errorf("%s: exit code %d: %s%s", address, got.code, got.out, got.err)
		}
	}
	call(t, nil, "healthcheck", "--url", daemon.URL+"/readyz").want(t, 1, "/readyz answers 503")
	healthy = false
	call(t, nil, "healthcheck", "--url", daemon.URL+"/healthz").want(t, 1, "answers 503")
	daemon.Close()
	call(t, nil, "healthcheck", "--url", daemon.URL+"/healthz").want(t, 1, "does not answer")
	for _, wrong := range []string{"healthz", "ftp://127.0.0.1/", "http://u:" + httpSecret + "@127.0.0.1:1/", ":"} {
		call(t, nil, "healthcheck", "--url", wrong).want(t, 2, "want a URL")
	}
}
