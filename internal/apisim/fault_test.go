package apisim_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func (s *server) faulty(f apisim.Fault) (*http.Response, []byte, error) {
	s.t.Helper()
	s.SetFault(func(*http.Request) apisim.Fault { return f })
	defer s.SetFault(nil)
	return s.do(http.MethodGet, "/v1/deals/payouts", s.key("acme"))
}

func TestFaults(t *testing.T) {
	s := start(t, small())
	right := s.get("/v1/deals/payouts", s.key("acme"), http.StatusOK)

	resp, body, err := s.faulty(apisim.Fault{
		Kind: apisim.FaultStatus, Status: 503, Body: "down", Header: http.Header{"Retry-After": {"7"}},
	})
	must(t, err)
	if resp.StatusCode != http.StatusServiceUnavailable || string(body) != "down" ||
		resp.Header.Get("Retry-After") != "7" {
		t.Errorf("status fault: %d %s", resp.StatusCode, body)
	}
	for _, after := range []int{0, 10, len(right) - 1, len(right) + 5} {
		resp, body, err = s.faulty(apisim.Fault{Kind: apisim.FaultCut, After: after})
		if !errors.Is(err, io.ErrUnexpectedEOF) || resp.StatusCode != http.StatusOK ||
			string(body) != string(right[:min(after, len(right)-1)]) {
			t.Errorf("cut after %d: %d bytes, %v", after, len(body), err)
		}
	}
	if _, _, err = s.faulty(apisim.Fault{Kind: apisim.FaultDrop}); err == nil {
		t.Error("drop: no error")
	}
	for _, text := range []string{"", "<html>oops"} {
		resp, body, err = s.faulty(apisim.Fault{Kind: apisim.FaultInvalidJSON, Body: text})
		must(t, err)
		if resp.StatusCode != http.StatusOK || json.Valid(body) || text != "" && string(body) != text {
			t.Errorf("invalid JSON: %d %.100s", resp.StatusCode, body)
		}
	}
	resp, body, err = s.faulty(apisim.Fault{Kind: apisim.FaultErrorObject})
	must(t, err)
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"error"`) || !json.Valid(body) {
		t.Errorf("error object: %d %s", resp.StatusCode, body)
	}
	resp, _, err = s.faulty(apisim.Fault{Kind: apisim.FaultRedirect, URL: "http://elsewhere.test/x"})
	must(t, err)
	if resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "http://elsewhere.test/x" {
		t.Errorf("redirect: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	resp, body, err = s.faulty(apisim.Fault{Delay: time.Millisecond})
	must(t, err)
	if resp.StatusCode != http.StatusOK || string(body) != string(right) {
		t.Errorf("delay alone: %d", resp.StatusCode)
	}
	if got := s.get("/v1/deals/payouts", s.key("acme"), http.StatusOK); string(got) != string(right) {
		t.Error("faults last")
	}
}

func TestHangLastsUntilTheClientGivesUp(t *testing.T) {
	s := start(t, small())
	ctx, cancel := context.WithCancel(t.Context())
	s.SetFault(func(*http.Request) apisim.Fault {
		cancel() // the client gives up as soon as the request has arrived
		return apisim.Fault{Kind: apisim.FaultHang}
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/v1/deals/payouts", nil)
	must(t, err)
	if resp, err := s.http.Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", resp, err)
	}
	s.SetFault(nil)
	must(t, s.Update(func(set *apisim.Settings) { set.Latency = time.Hour }))
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	s.SetBefore(func(*http.Request) { cancel() })
	req, err = http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/v1/deals/payouts", nil)
	must(t, err)
	if resp, err := s.http.Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("latency: %v, %v", resp, err)
	}
}

func TestHeaders(t *testing.T) {
	s := start(t, small())
	date := func() string {
		resp, _, err := s.do(http.MethodGet, "/v1/deals/payouts", s.key("acme"))
		must(t, err)
		return resp.Header.Get("Date")
	}
	if got := date(); got != "Sun, 15 Mar 2026 09:00:00 GMT" {
		t.Errorf("Date %q", got)
	}
	s.Advance(90 * time.Second)
	must(t, s.Update(func(set *apisim.Settings) { set.DateSkew = -time.Hour }))
	if got := date(); got != "Sun, 15 Mar 2026 08:01:30 GMT" {
		t.Errorf("skewed Date %q", got)
	}
	must(t, s.Update(func(set *apisim.Settings) { set.OmitDate = true }))
	if got := date(); got != "" {
		t.Errorf("omitted Date %q", got)
	}
}

func TestGzip(t *testing.T) {
	s := start(t, small())
	plain := s.get("/v2/products", s.key("acme"), http.StatusOK)
	for _, c := range []struct {
		on     bool
		accept string
		want   string
	}{
		{false, "gzip", ""}, {true, "identity", ""}, {true, "gzip;q=0", ""},
		{true, "gzip", "gzip"}, {true, "br, GZIP;q=0.5", "gzip"},
	} {
		s.SetGzip(c.on)
		req, err := http.NewRequest(http.MethodGet, s.base+"/v2/products", nil)
		must(t, err)
		req.Header.Set("Accept-Encoding", c.accept)
		req.Header.Set("Authorization", "Bearer "+s.key("acme"))
		resp, err := s.http.Do(req)
		must(t, err)
		var body io.Reader = resp.Body
		if got := resp.Header.Get("Content-Encoding"); got != c.want {
			t.Fatalf("%+v: encoding %q", c, got)
		}
		if c.want == "gzip" {
			body, err = gzip.NewReader(resp.Body)
			must(t, err)
		}
		got, err := io.ReadAll(body)
		must(t, err)
		must(t, resp.Body.Close())
		if string(got) != string(plain) {
			t.Errorf("%+v: another body", c)
		}
	}
}

func TestLog(t *testing.T) {
	s := start(t, small())
	must(t, s.SetPageSize(50))
	s.walk(apisim.StreamCoupons, "acme", nil)
	s.get("/v1/deals/coupons/"+uuidText(1), s.key("globex"), http.StatusNotFound)
	s.get("/elsewhere", "", http.StatusNotFound)
	n := s.Count(apisim.StreamCoupons, "")
	if s.Requests("/v1/deals/coupons") != 2 || s.Rows("/v1/deals/coupons") != n || s.Requests("other") != 1 ||
		s.Requests("/v1/deals/coupons/{id}") != 1 || s.Requests("") != 4 || s.Rows("") != n {
		t.Errorf("counted %d, %d of %d", s.Requests(""), s.Rows(""), n)
	}
	// Entries are written when a request ends, which the client may see first.
	log := s.Log()
	if len(log) < 3 || log[0].Path != "/v1/deals/coupons" || log[0].Org != "acme" || log[0].Status != 200 ||
		log[0].Rows != 50 || log[0].Bytes == 0 || !strings.HasPrefix(log[1].Query, "cursor=") {
		t.Errorf("log %+v", log)
	}
	s.ResetLog()
	for range 1100 {
		s.get("/v1/deals/payouts", "", http.StatusUnauthorized)
	}
	if len(s.Log()) < 999 || s.Requests("") != 1100 {
		t.Errorf("%d entries of %d requests", len(s.Log()), s.Requests(""))
	}
}
