//go:build !noengine

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dealhouse/internal/chdb"
	"dealhouse/internal/enginetest"
)

// TestCheckServer checks servers that are not alike: each command says what is wrong, and ends with the code that keeps
// a scheduler from trying again.
func TestCheckServer(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	engine, err := chdb.Open(t.Context(), chdb.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	const has, lacks = "SELECT toUInt8(1) -- ", "SELECT toUInt8(0) -- " // the embedded engine has no grants,
	rights := []string{"CHECK GRANT ", has, "toString(serverUUID())",
		"'ae3b8a3e-0000-4000-8000-000000000001'"} // and no name
	lacking := append([]string{"CHECK GRANT DROP TABLE", lacks, "CHECK GRANT OPTIMIZE", lacks}, rights...)
	for _, tt := range []struct {
		name   string
		pieces []string // of statements, and what the server does in their place
		code   int
		shows  []string
	}{
		{"all is well", rights, 0, []string{"ClickHouse 2", "to be created or upgraded",
			"the user may change the settings that runs depend on", "the user may load and migrate"}},
		{"too old", []string{"version()", "'24.8.14.39'"}, 2, []string{"24.8.14.39", "25.12 or later", "FAILED"}},
		{"without rights", lacking, 2, []string{"GRANT DROP TABLE, OPTIMIZE ON `dealhouse`.* TO CURRENT_USER"}},
		{"behind a load balancer", []string{"toString(serverUUID())", "toString(generateUUIDv4())"}, 2,
			[]string{"several servers", "load balancer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler := engine.Handler(chdb.HandlerOptions{AllowWrites: true})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					panic(http.ErrAbortHandler)
				}
				if text := string(body); !strings.HasPrefix(text, "SELECT displayName()") { // as the driver asks first
					body = []byte(strings.NewReplacer(tt.pieces...).Replace(text))
				}
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			far := *b
			far.env = append([]string{"DEALHOUSE_WAREHOUSE_DSN=" + server.URL}, b.env...)
			got := far.call(t, "check")
			got.want(t, tt.code)
			got.shows(t, tt.shows...)
			if tt.code != 0 && tt.name != "without rights" {
				far.call(t, "sync", "coupons").want(t, tt.code, tt.shows[0])
			}
		})
	}
}
