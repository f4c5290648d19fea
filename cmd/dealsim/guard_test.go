package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"dealhouse/internal/apisim"
)

// No web page of somebody else moves the world, whatever name it gives this machine.
func TestControlIsForThisMachine(t *testing.T) {
	sim, err := apisim.New(apisim.Options{Orgs: []apisim.Org{{Name: "acme", Key: "k"}}, HistoryDays: 1})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(newHandler(sim))
	defer server.Close()
	own := server.Listener.Addr().String()
	for name, test := range map[string]struct {
		host   string
		header http.Header
		want   int
	}{
		"a program":      {own, nil, http.StatusOK},
		"localhost":      {"localhost", nil, http.StatusOK},
		"a port of IPv6": {"[::1]:8080", nil, http.StatusOK},
		"in capitals":    {"LocalHost.:80", nil, http.StatusOK},
		"a subdomain":    {"sim.localhost:1", nil, http.StatusOK},
		"our own page": {own, http.Header{"Origin": {"http://" + own}, "Sec-Fetch-Site": {"same-origin"}},
			http.StatusOK},
		"typed":               {own, http.Header{"Sec-Fetch-Site": {"none"}}, http.StatusOK},
		"rebound name":        {"evil.example", nil, http.StatusForbidden},
		"looks like it":       {"127.0.0.1.evil.example:80", nil, http.StatusForbidden},
		"localhost of others": {"localhost.evil.example", nil, http.StatusForbidden},
		"another address":     {"192.168.0.1", nil, http.StatusForbidden},
		"the wild address":    {"0.0.0.0:8080", nil, http.StatusForbidden},
		"rebound, same origin": {"evil.example",
			http.Header{"Origin": {"http://evil.example"}, "Sec-Fetch-Site": {"same-origin"}}, http.StatusForbidden},
		"foreign page":   {own, http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		"sandboxed page": {own, http.Header{"Origin": {"null"}}, http.StatusForbidden},
		"another port":   {own, http.Header{"Origin": {"http://127.0.0.1:1"}}, http.StatusForbidden},
		"two origins":    {own, http.Header{"Origin": {"http://" + own, "https://evil.example"}}, http.StatusForbidden},
		"cross-site":     {own, http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"same site":      {own, http.Header{"Sec-Fetch-Site": {"same-site"}}, http.StatusForbidden},
	} {
		before := sim.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/sim/advance?by=1h", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = test.host
		for header, values := range test.header {
			req.Header[header] = values
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if moved := sim.Now().After(before); resp.StatusCode != test.want || moved != (test.want == http.StatusOK) {
			t.Errorf("%s: HTTP %d, want %d; the clock moved: %v", name, resp.StatusCode, test.want, moved)
		}
	}
}
