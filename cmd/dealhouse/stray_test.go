//go:build !noengine && linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// generous sends more than its answer: the key that it was asked with.
type generous struct{ api http.Handler }

func (g generous) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	g.api.ServeHTTP(answer, r)
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	key := r.Header.Get("Authorization")
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d OK\r\nDate: %s\r\nContent-Length: %d\r\n\r\n%s%s \"%s\"", answer.Code, answer.Header().Get("Date"),
		answer.Body.Len(), answer.Body, key, key)
	_, _ = io.Copy(io.Discard, c) // until the client leaves
}

// TestOthersWriteIntoTheLog lets net/http, and the runtime of Go, write to stderr. What they write is a part of the
// log, without what a server has sent.
func TestOthersWriteIntoTheLog(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	sim, err := apisim.New(apisim.Options{Orgs: []apisim.Org{{Name: "acme", Key: acmeKey}}, Coupons: 30,
		Settings: apisim.Settings{PageSize: 10}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(generous{sim})
	t.Cleanup(server.Close)
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			env := []string{"DEALHOUSE_BASE_URL=" + server.URL, "DEALHOUSE_API_KEY=" + acmeKey, "GODEBUG=gctrace=1",
				"DEALHOUSE_WAREHOUSE_DSN=embedded:" + filepath.Join(t.TempDir(), "none")}
			got := startIn(t, t.TempDir(), env, nil, "sync", "coupons", "--log-format", format).finish(t)
			if got.code != 0 {
				t.Errorf("exit code %d", got.code)
			}
			for _, words := range []string{"a library or the engine reports something", "Unsolicited response"} {
				if !strings.Contains(got.err, words) {
					t.Errorf("%q is not in the log:\n%s", words, got.err)
				}
			}
			begun, runtime := false, 0
			for line := range strings.Lines(got.err) {
				var entry struct{ Text string }
				// The runtime may write before the command line is read, also that of the program which this one becomes.
				early := !begun || strings.HasPrefix(line, "gc 1 @") || strings.HasPrefix(line, "gc 2 @")
				if err := json.Unmarshal([]byte(line), &entry); format == "json" && err != nil && !early {
					t.Errorf("a line that is not JSON: %q", line)
				} else if err == nil {
					begun = true
				}
				if strings.HasPrefix(entry.Text, "gc ") {
					runtime++
				}
			}
			if format == "json" && runtime == 0 {
				t.Errorf("what the runtime writes is missing:\n%s", got.err)
			}
		})
	}
}
