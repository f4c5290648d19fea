package enginetest

import (
	"net/http/httptest"
	"testing"

	"dealhouse/internal/apisim"
)

// Serve starts the simulator of the API behind a real HTTP server, at the returned URL, until the test ends.
func Serve(t testing.TB, o apisim.Options) (sim *apisim.Sim, url string) {
	t.Helper()
	sim, err := apisim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return sim, server.URL
}
