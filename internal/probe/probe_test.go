package probe

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
)

// TestSlowBytes asks a service that answers a byte at a time, and never ends.
func TestSlowBytes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"data":[`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	report, err := Run(t.Context(), Options{BaseURL: server.URL, Key: "k", Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if report.Ended != "it took too long, or was stopped" || report.Err == nil || report.Requests > 2 {
		t.Errorf("%+v", report)
	}
}

// TestTOMLIsReadable has texts of a service in its comments that try to end them.
func TestTOMLIsReadable(t *testing.T) {
	t.Parallel()
	r := &Report{
		BaseURL:  "https://api.example.com/deals-api",
		Settings: Settings{Cursor: "cursor", Page: "p[q]", UpdatedAfter: "updatedAt[gt]", Refused: map[string]string{"coupons": "no\n[warehouse]"}},
		Findings: []Finding{
			{askAfter, "updatedAt[gt]", "x\r\n[[account]]\x00\u2028\x85 é \xff", Sure},
			{"which fields differ from the interface", "a\n\"\"\"\nb", strings.Repeat("long ", 100), Likely},
		},
	}
	text := r.TOML(Config{Account: "acme", Key: "env:K", DSN: "embedded:./d", At: time.Now()})
	cfg, warnings, err := config.Read(config.Source{Path: "x", Env: []string{"K=key"}, NeedAccounts: true,
		ReadFile: func(string) ([]byte, fs.FileMode, error) { return []byte(text), 0o600, nil }})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v\n%s", err, warnings, text)
	}
	a := cfg.Accounts[0]
	if a.BaseURL != r.BaseURL || a.Params.UpdatedAfter != "updatedAt[gt]" || a.Params.UpdatedBefore != "" || a.Params.Page != "p[q]" {
		t.Errorf("%+v\n%s", a, text)
	}
	for _, s := range a.Streams {
		if s.Enabled == (s.Name == "coupons") {
			t.Errorf("%s: enabled is %t", s.Name, s.Enabled)
		}
	}
	if len(a.Streams) != len(catalog.All()) {
		t.Error("streams are missing")
	}
}
