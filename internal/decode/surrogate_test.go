package decode

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestHalvesOfSurrogatePairs wants strings that are no text to be rejected as they were sent, wherever
// they are. Pairs are text.
func TestHalvesOfSurrogatePairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stream, field, json, want, reason string
	}{
		{"coupons", "code", `"\ud800"`, "", ReasonNotText},
		{"coupons", "code", `"\uDFFF"`, "", ReasonNotText},
		{"coupons", "code", `"a\ud83dz"`, "", ReasonNotText},
		{"coupons", "code", `"\udc00\ud800"`, "", ReasonNotText},
		{"coupons", "code", `"\ud800\ud83d\ude00"`, "", ReasonNotText},
		{"coupons", "code", `"\ud800\n"`, "", ReasonNotText},
		{"coupons", "code", `"\ud800\u0041"`, "", ReasonNotText},
		{"coupons", "code", `"\\\ud800"`, "", ReasonNotText},
		{"coupons", "code", "\"a\xff\"", "", ReasonNotText},
		{"coupons", "code", "\"\xed\xa0\x80\"", "", ReasonNotText},
		{"coupons", "code", "\"\\n\xc3\"", "", ReasonNotText},
		{"coupons", "name", `"\ud800"`, "", ReasonNotText},
		{"coupons", "code", `"\ud83d\ude00"`, "😀", ""},
		{"coupons", "code", `"\uD83D\uDE00\ud83d\ude00"`, "😀😀", ""},
		{"coupons", "code", `"\\ud800"`, `\ud800`, ""},
		{"coupons", "code", `"\\\\ud800\u00fc"`, `\\ud800ü`, ""},
		{"coupons", "code", `"\ufffd\uffff\ud7ff\ue000"`, "\ufffd\uffff\ud7ff\ue000", ""},
		{"coupons", "endDate", `"\ud800"`, "-", ReasonNotTime},
		{"transactions", "retailerId", "\"\\ud800\xff\"", "-", ReasonNotUUID},
		{"transactions", "orderValue", `"1\ud800"`, "-", ReasonWrongType},
		{"transactions", "orderValue", `"1\u002e123456"`, "11235", ReasonRounded},
		{"cashback_offers", "countries", `["DE","\udfff"]`, "", ReasonNotText},
		{"cashback_offers", "countries", `["\ud800", 7]`, "", ReasonWrongType},
		{"cashback_offers", "countries", `["\ud83d\ude00"]`, "😀\x00", ""},
	} {
		b := decodeAll(t, c.stream, fmt.Sprintf(`[{%q:%s,"id":"%s"}]`, c.field, c.json, idA))
		if b.Len() != 1 {
			t.Fatalf("%s: %d rows", c.json, b.Len())
		}
		if got := cell(&b.Rows, c.field, 0); got != c.want && c.reason != ReasonRounded {
			t.Errorf("%s=%s: value %q, want %q", c.field, c.json, got, c.want)
		}
		var want []Reject
		if c.reason != "" {
			want = []Reject{{Page: 7, Fetched: 42, Key: idA, Field: c.field, Reason: c.reason, Raw: c.json}}
		}
		if d := cmp.Diff(want, b.Rejects); d != "" {
			t.Errorf("%s=%s: %s", c.field, c.json, d)
		}
	}
}

// TestHalvesInKeys: a record whose key is no text has no usable key, and a product gets its key by the next rule.
func TestHalvesInKeys(t *testing.T) {
	t.Parallel()
	b := decodeAll(t, "coupons", `[{"id":"\ud800"}]`)
	if d := cmp.Diff([]Reject{{Page: 7, Fetched: 42, Reason: ReasonUnusableKey, Raw: `{"id":"\ud800"}`}},
		b.Rejects); d != "" || b.Len() != 0 {
		t.Error(d)
	}
	b = decodeAll(t, "products", `[{"url":"https://x/\ud800","asin":"A"},{"url":"https://x/\ud801"},{"url":"https://x/\ud83d\ude00"}]`)
	if b.Len() != 2 || b.KeyRules[0] != "asin" || b.KeyRules[1] != "url" || len(b.Rejects) != 2 {
		t.Fatalf("%v %+v", b.KeyRules, b.Rejects)
	}
	if r := b.Rejects[0]; r.Field != "url" || r.Reason != ReasonNotText || r.Key != b.Keys[0].String() ||
		r.Raw != `"https://x/\ud800"` {
		t.Errorf("%+v", r)
	}
	if r := b.Rejects[1]; r.Field != "" || r.Reason != ReasonMissingKey || r.Raw != `{"url":"https://x/\ud801"}` {
		t.Errorf("%+v", r)
	}
}

// TestHalvesInUnknownFields: unknown fields are kept as they were sent, names included, and none replaces another.
func TestHalvesInUnknownFields(t *testing.T) {
	t.Parallel()
	b := decodeAll(t, "coupons", `[{"\ud801":1,"\ud800":2,"x":"\udc00","id":"`+idA+`","\ud800":3,"a\ud83d\ude00":4}]`)
	if got, want := b.Extra[0], `{"a😀":4,"x":"\udc00","\ud800":3,"\ud801":1}`; got != want || len(b.Rejects) != 0 {
		t.Errorf("%s, want %s; %+v", got, want, b.Rejects)
	}
	for kind := range b.Unknown {
		if !utf8.ValidString(kind) {
			t.Errorf("counted as %q", kind)
		}
	}
	b = decodeAll(t, "products", `[{"url":"https://x/1","history":[{"yearMonthDay":"2026-01-01","\ud800":1,"\ud801":2}]}]`)
	if got, want := b.Extra[0], `{"history[0].\ud800":1,"history[0].\ud801":2}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
