package apisim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"dealhouse/internal/apisim"
)

// server is a simulator behind a real listener.
type server struct {
	*apisim.Sim
	t    testing.TB
	base string
	http *http.Client
}

func small() apisim.Options {
	return apisim.Options{
		Seed: 7, Retailers: 40, Promotions: 60, Coupons: 80, CashbackOffers: 70,
		Transactions: 600, Products: 90, HistoryDays: 5,
	}
}

func start(t testing.TB, o apisim.Options) *server {
	t.Helper()
	sim, err := apisim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	client := srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &server{Sim: sim, t: t, base: srv.URL, http: client}
}

// do sends a request with a key and returns the response and its whole body.
func (s *server) do(method, target, key string) (*http.Response, []byte, error) {
	if !bytes.HasPrefix([]byte(target), []byte("http")) {
		target = s.base + target
	}
	req, err := http.NewRequest(method, target, nil)
	if err != nil {
		return nil, nil, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// get sends a request, checks the status and returns the body.
func (s *server) get(target, key string, want int) []byte {
	s.t.Helper()
	resp, body, err := s.do(http.MethodGet, target, key)
	if err != nil {
		s.t.Fatalf("GET %s: %v", target, err)
	}
	if resp.StatusCode != want {
		s.t.Fatalf("GET %s: status %d, want %d: %s", target, resp.StatusCode, want, body)
	}
	return body
}

func (s *server) key(org string) string {
	full, _ := s.Keys(org)
	return full
}

type envelope struct {
	Data     []json.RawMessage `json:"data"`
	Cursor   *string           `json:"cursor"`
	NextPage json.RawMessage   `json:"nextPage"`
}

func parse[T any](t testing.TB, b []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %.300s", err, b)
	}
	return v
}

func paths() map[string]string { return apisim.Paths() }

// documented returns the streams that the API's documentation names. The digests in the tests
// are those of these streams.
func documented() []string {
	return []string{
		apisim.StreamPromotions, apisim.StreamCoupons, apisim.StreamCashbackOffers,
		apisim.StreamTransactions, apisim.StreamPayouts, apisim.StreamProducts,
	}
}

func cursorStreams() []string {
	all, _ := apisim.CursorStreams()
	return all
}

// addressed returns the streams whose records can be read by id.
func addressed() []string {
	_, byID := apisim.CursorStreams()
	return byID
}

// walk reads a stream to its end and returns the records and the page sizes.
func (s *server) walk(stream, org string, query url.Values) (records []json.RawMessage, pages []int) {
	s.t.Helper()
	path := paths()[stream]
	if stream == apisim.StreamPayouts {
		records = parse[[]json.RawMessage](s.t, s.get(path, s.key(org), http.StatusOK))
		return records, []int{len(records)}
	}
	q := url.Values{}
	for k, v := range query {
		q[k] = v
	}
	target := path + "?" + q.Encode()
	for range 100_000 {
		page := parse[envelope](s.t, s.get(target, s.key(org), http.StatusOK))
		records = append(records, page.Data...)
		pages = append(pages, len(page.Data))
		next := ""
		if stream == apisim.StreamProducts {
			if raw := page.NextPage; len(raw) > 0 && string(raw) != "null" {
				if json.Unmarshal(raw, &next) != nil {
					next = string(raw)
				}
			}
			q.Set("page", next)
		} else if page.Cursor != nil {
			next = *page.Cursor
			q.Set("cursor", next)
		}
		if next == "" {
			return records, pages
		}
		target = path + "?" + q.Encode()
		if u, err := url.Parse(next); err == nil && u.IsAbs() {
			target = next
		}
	}
	s.t.Fatalf("%s: no end of pages", stream)
	return nil, nil
}

// truth returns the records of Truth as a slice.
func (s *server) truth(stream, org string) []json.RawMessage {
	var out []json.RawMessage
	for record := range s.Truth(stream, org) {
		out = append(out, json.RawMessage(record))
	}
	return out
}

func same(t testing.TB, what string, got, want []json.RawMessage) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: record %d:\n got %s\nwant %s", what, i, got[i], want[i])
		}
	}
}

// sameSet compares two sets of records, in any order.
func sameSet(t testing.TB, what string, got, want []json.RawMessage) {
	t.Helper()
	less := func(a, b json.RawMessage) int { return bytes.Compare(a, b) }
	same(t, what, slices.SortedFunc(slices.Values(got), less), slices.SortedFunc(slices.Values(want), less))
}

func field(t testing.TB, record json.RawMessage, name string) string {
	t.Helper()
	return text(parse[map[string]json.RawMessage](t, record)[name])
}

// text returns a string without its quotes, and any other value unchanged.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

func ids(t testing.TB, records []json.RawMessage) []string {
	t.Helper()
	var out []string
	for _, r := range records {
		out = append(out, field(t, r, "id"))
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func uuidText(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
