package dealapi

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/go-faster/jx"
)

func TestScanEnvelope(t *testing.T) {
	for body, want := range map[string]struct {
		data, next string
		records    int
		ok         bool
	}{
		`{"data":[]}`:                                          {"[]", "", 0, true},
		`{"cursor":"a","data":[1,{"data":[]}]}`:                {`[1,{"data":[]}]`, "a", 2, true},
		`{"d\u0061ta":[1],"cursor":"\u0061\n\/"}`:              {"[1]", "a\n/", 1, true},
		`{"data":[1],"data":[2,3],"cursor":"a","cursor":null}`: {"[2,3]", "", 2, true},
		`{"data":{},"data":[]}`:                                {"[]", "", 0, true},
		`{"data":[],"data":{}}`:                                {},
		`{"nested":{"data":[],"cursor":"x"}}`:                  {},
		`{"data":[],"nextPage":"other"}`:                       {"[]", "", 0, true},
		`{"data":[],"cursor":["a"]}`:                           {},
		`{"data":[],"cursor":1}`:                               {},
		`{"data":[1,]}`:                                        {},
		`{"data":[01]}`:                                        {},
		`{"data":[],}`:                                         {},
		`{"data":[]`:                                           {},
		`{"data":[]}}`:                                         {},
		`{"data":["` + "\n" + `"]}`:                            {},
		`null`:                                                 {},
		"\ufeff" + `{"data":[]}`:                               {},
	} {
		e, err := PagingCursor.shape().scan([]byte(body))
		if (err == nil) != want.ok || string(e.data) != want.data || e.next != want.next ||
			countElements(e.data) != want.records {
			t.Errorf("%s: data %s, next %q, %d records, %v", body, e.data, e.next, countElements(e.data), err)
		}
	}
}

func TestScanDepth(t *testing.T) {
	for depth, ok := range map[int]bool{10000: true, 10001: false} {
		_, err := PagingNone.shape().scan([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		if (err == nil) != ok {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

// FuzzScan compares the reading of an envelope with encoding/json: the same bodies are valid, and data,
// count and token are the same.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"data":[]}`, `{"data":[{"a":1.5e-7,"b":"x\u00e9\\"},null,true],"cursor":"c"}`, `[1,-0,0.1,1E+5]`,
		`{"data":[],"nextPage":12}`, `{"data":["0123456789\"abcdef"]}`, `{"error":"x"}`, ` `, `{"data":[01]}`, "\"\x1f\"",
		`{"data":[-]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := jx.DecodeBytes(body).Validate(); (err == nil) != json.Valid(body) {
			t.Fatalf("%q: jx says %v, encoding/json %t", body, err, json.Valid(body))
		}
		for _, p := range []Paging{PagingCursor, PagingNextPage, PagingNone} {
			e, err := p.shape().scan(body)
			if err != nil {
				continue
			}
			var records []json.RawMessage
			if err := json.Unmarshal(e.data, &records); err != nil || len(records) != countElements(e.data) {
				t.Fatalf("%q: data %q with %d records: %v", body, e.data, countElements(e.data), err)
			}
			if p == PagingNone {
				continue
			}
			var object map[string]json.RawMessage
			if err := json.Unmarshal(body, &object); err != nil {
				t.Fatalf("%q passed as an envelope: %v", body, err)
			}
			if string(object["data"]) != string(e.data) {
				t.Fatalf("%q: data %q, want %q", body, e.data, object["data"])
			}
		}
	})
}

// FuzzNextPage: whatever the service hands out, the next request stays in the origin and carries the token.
func FuzzNextPage(f *testing.F) {
	for _, seed := range []string{
		"tok", "17", "/v2/products?page=2", "//evil.example/x?y", "https://api.example.com:443/v2/x",
		"https://api.example.com@evil.example",
		"http://api.example.com/", "?page=2", "/9j/4A", "https://[::1", "/v2/../..//evil?x", "\x00", "https:\\\\evil.example",
		"/\\evil.example?x",
	} {
		f.Add(seed)
	}
	c, err := New(Options{Account: "acme", BaseURL: "https://api.example.com/base", Key: testKey})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if token == "" {
			return
		}
		ch, err := c.newChain(Query{Path: "/v2/products", Params: url.Values{"f": {"1"}}, Paging: PagingNextPage,
			Start: token})
		if err != nil {
			wantKind(t, err, KindRedirect)
			return
		}
		if u := ch.target; !sameOrigin(u, c.base) || u.Scheme != "https" || u.Host != "api.example.com" &&
			u.Host != "api.example.com:443" && !strings.EqualFold(u.Hostname(), "api.example.com") {
			t.Fatalf("%q leads to %s", token, u)
		}
		parsed, err := url.Parse(ch.target.String())
		if err != nil || !sameOrigin(parsed, c.base) {
			t.Fatalf("%q leads to %s: %v", token, ch.target, err)
		}
		if _, isURL := c.asReference("/v2/products", token); !isURL && parsed.Query().Get("page") != token {
			t.Fatalf("%q came back as %q", token, parsed.Query().Get("page"))
		}
	})
}
