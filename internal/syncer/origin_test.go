package syncer

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestServiceChanges points base_url to another service. Its rows from before the watermark are not read, and each run
// says so, until one has read everything.
func TestServiceChanges(t *testing.T) {
	t.Parallel()
	x, w := serve(t, tinyWorld(18, "acme")), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	syncAll(t, w, []Job{job})
	server := httptest.NewServer(x.Sim)
	t.Cleanup(server.Close)
	key, _ := x.Keys("acme")
	other := job
	other.Client = newClient(t, "acme", server.URL, key)
	told := func(job Job) string {
		t.Helper()
		for _, warning := range syncAll(t, w, []Job{job})["acme/transactions"].Warnings {
			if strings.Contains(warning, "base_url") {
				return warning
			}
		}
		return ""
	}
	if got := told(job); got != "" {
		t.Errorf("the same service: %s", got)
	}
	for range 2 {
		if got := told(other); !strings.Contains(got, x.url) || !strings.Contains(got, server.URL) ||
			!strings.Contains(got, "--full") {
			t.Errorf("another service: %q", got)
		}
	}
	other.Full = true
	if got := told(other); got != "" {
		t.Errorf("a full read: %s", got)
	}
	other.Full = false
	if got := told(other); got != "" {
		t.Errorf("after the full read: %s", got)
	}
}
