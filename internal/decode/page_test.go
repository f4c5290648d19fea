package decode

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const idA, idB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

func decodeAll(t *testing.T, name, page string) *Batch {
	t.Helper()
	s := stream(t, name)
	b := NewBatch(s)
	if err := New(s).Page(b, []byte(page), 7, 42); err != nil {
		t.Fatal(err)
	}
	return b
}

// cell returns one value as text, "-" if it is absent.
func cell(r *Rows, jsonName string, row int) string {
	for i, f := range r.Fields {
		if f.JSON != jsonName {
			continue
		}
		if !r.Present(i, row) {
			return "-"
		}
		c := &r.Columns[i]
		switch f.Type.Wire() {
		case "UUID":
			return c.UUIDs[row].String()
		case "String":
			return c.Strings[row]
		case "UInt8":
			return fmt.Sprint(c.Bytes[row])
		case "UInt16":
			return fmt.Sprint(c.Days[row])
		}
		return fmt.Sprint(c.Ints[row])
	}
	return "no such field"
}

func TestFields(t *testing.T) {
	for _, c := range []struct{ stream, field, json, want, reason string }{
		{"transactions", "orderValue", `112.45`, "1124500", ""},
		{"transactions", "orderValue", `"112.45"`, "1124500", ""},
		{"transactions", "orderValue", `12.34567`, "123457", ReasonRounded},
		{"transactions", "orderValue", `23.139999999999997`, "231400", ""},
		{"transactions", "orderValue", `123456789012345678`, "-", ReasonOutOfRange},
		{"transactions", "orderValue", `true`, "-", ReasonWrongType},
		{"transactions", "orderValue", `{"a":[1]}`, "-", ReasonWrongType},
		{"transactions", "orderValue", `"abc"`, "-", ReasonWrongType},
		{"transactions", "orderValue", `null`, "-", ""},
		{"transactions", "orderValue", `""`, "-", ""},
		{"transactions", "payoutId", `12`, "12", ""},
		{"transactions", "payoutId", `12.5`, "-", ReasonOutOfRange},
		{"transactions", "status", `"NEW"`, "NEW", ""},
		{"transactions", "status", `null`, "", ""},
		{"transactions", "status", `["x"]`, "", ReasonWrongType},
		{"transactions", "passbackUid", `42`, "42", ""},
		{"transactions", "passbackUid", `"a\u00fc\n\"b\" 😀"`, "aü\n\"b\" 😀", ""},
		{"transactions", "retailerId", `"retailer-7"`, "-", ReasonNotUUID},
		{"transactions", "retailerId", `7`, "-", ReasonWrongType},
		{"transactions", "soldAt", `"2026-01-02T03:04:05"`, "1767323045000", ""},
		{"transactions", "soldAt", `"yesterday"`, "-", ReasonNotTime},
		{"transactions", "soldAt", `17`, "-", ReasonNotTime},
		{"transactions", "soldAt", `1767323045`, "1767323045000", ""},
		{"transactions", "soldAt", `1767323045123`, "1767323045123", ""},
		{"transactions", "soldAt", `1767323045.1239`, "1767323045123", ""},
		{"transactions", "soldAt", `true`, "-", ReasonWrongType},
		{"transactions", "soldAt", `{"":"NaN"}`, "-", ReasonNotJSON},
		{"transactions", "orderValue", `{"":"NaN"}`, "-", ReasonNotJSON},
		{"transactions", "orderValue", `{"":"a","":"b"}`, "-", ReasonWrongType},
		{"transactions", "orderValue", `" +1,234.50 "`, "12345000", ""},
		{"transactions", "orderValue", `"1,234"`, "-", ReasonWrongType},
		{"transactions", "payoutId", `" 627 "`, "627", ""},
		{"transactions", "retailerId", `" ` + idB + `"`, idB, ""},
		{"cashback_offers", "featured", `true`, "1", ""},
		{"cashback_offers", "featured", `"yes"`, "1", ""},
		{"cashback_offers", "featured", `"FALSE"`, "0", ""},
		{"cashback_offers", "featured", `0`, "0", ""},
		{"cashback_offers", "featured", `""`, "-", ""},
		{"cashback_offers", "featured", `"maybe"`, "-", ReasonWrongType},
		{"cashback_offers", "featured", `2`, "-", ReasonWrongType},
		{"cashback_offers", "featured", `[true]`, "-", ReasonWrongType},
		{"cashback_offers", "countries", `["DE", "AT"]`, "DE\x00AT\x00", ""},
		{"cashback_offers", "countries", `[]`, "", ""},
		{"cashback_offers", "countries", `[""]`, "\x00", ""},
		{"cashback_offers", "countries", `["DE", 7]`, "", ReasonWrongType},
		{"cashback_offers", "countries", `["a\u0000b"]`, "", ReasonWrongType},
		{"cashback_offers", "countries", `"DE"`, "", ReasonWrongType},
		{"cashback_offers", "cashbackPercentage", `0.0525`, "52500000", ""},
		{"payouts", "aov", `33.333333333333336`, "33333333", ""},
	} {
		t.Run(c.field+"="+c.json, func(t *testing.T) {
			id := `"` + idA + `"`
			if c.stream == "payouts" {
				id = "1"
			}
			b := decodeAll(t, c.stream, fmt.Sprintf(`[{%q:%s,"id":%s}]`, c.field, c.json, id))
			if b.Len() != 1 {
				t.Fatalf("%d rows", b.Len())
			}
			if got := cell(&b.Rows, c.field, 0); got != c.want {
				t.Errorf("value %q, want %q", got, c.want)
			}
			var want []Reject
			if c.reason != "" {
				raw := c.json
				if c.reason == ReasonNotJSON {
					raw = "NaN"
				}
				want = []Reject{{Page: 7, Fetched: 42, Key: strings.Trim(id, `"`), Field: c.field, Reason: c.reason, Raw: raw}}
			}
			if d := cmp.Diff(want, b.Rejects); d != "" {
				t.Errorf("rejects: %s", d)
			}
		})
	}
}

func TestRecordsWithoutUsableKey(t *testing.T) {
	b := decodeAll(t, "coupons", `[ {"code":"A"}, {"id":"`+idA+
		`","code":"B"}, 17, {"id":"x","retailerId":"bad"}, {"id":null}, {"id":"`+idB+`"},
		{"id":"`+idA+`","id":null} ]`)
	if b.Len() != 2 || b.Records != 7 {
		t.Fatalf("%d rows of %d records", b.Len(), b.Records)
	}
	want := []Reject{
		{Page: 7, Fetched: 42, Reason: ReasonMissingKey, Raw: `{"code":"A"}`},
		{Page: 7, Fetched: 42, Reason: ReasonNotAnObject, Raw: `17`},
		{Page: 7, Fetched: 42, Reason: ReasonUnusableKey, Raw: `{"id":"x","retailerId":"bad"}`},
		{Page: 7, Fetched: 42, Reason: ReasonMissingKey, Raw: `{"id":null}`},
		{Page: 7, Fetched: 42, Reason: ReasonMissingKey, Raw: `{"id":"` + idA + `","id":null}`},
	}
	if d := cmp.Diff(want, b.Rejects); d != "" {
		t.Error(d)
	}
	if got := cell(&b.Rows, "code", 0) + cell(&b.Rows, "code", 1); got != "B" {
		t.Errorf("codes %q", got)
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	b := decodeAll(t, "coupons", `[{"zeta":{"a" : 1},"id":"`+idA+`","alpha":"x","zeta":2},{"id":"`+idB+`"}]`)
	if got, want := b.Extra, []string{`{"alpha":"x","zeta":2}`, ""}; !slices.Equal(got, want) {
		t.Errorf("extra %q, want %q", got, want)
	}
	if d := cmp.Diff(map[string]int{"alpha": 1, "zeta": 2}, b.Unknown); d != "" {
		t.Error(d)
	}
}

func TestLaterOfTwoMembersWins(t *testing.T) {
	b := decodeAll(t, "coupons", `[{"id":"`+idA+`","code":"A","code":"B","endDate":"2026-01-01","endDate":null}]`)
	if code, end := cell(&b.Rows, "code", 0), cell(&b.Rows, "endDate", 0); code != "B" || end != "-" {
		t.Errorf("code %q, end %q", code, end)
	}
}

func TestProducts(t *testing.T) {
	b := decodeAll(t, "products", `[
		{"url":"https://x/1","currencyCode":"EUR","history":[{"yearMonthDay":"2026-01-01","price":1.5,"views":3},{"yearMonthDay":"20260102","views":"x","new":1}]},
		{"brandName":"B","mpn":"M","history":null},
		{"brandName":"B","sku":"S"},
		{"asin":"A","gtin":4006381333931},
		{"name":"no key","history":[{"yearMonthDay":"2026-01-01"}]},
		{"gtin":"G","history":[{"price":2},17,{"yearMonthDay":"never","price":3},{"yearMonthDay":"2026-01-03"}]},
		{"url":"https://x/2","history":"none"}]`)
	if got, want := b.KeyRules, []string{"url", "brand_mpn", "brand_sku", "asin", "gtin", "url"}; !slices.Equal(got,
		want) {
		t.Fatalf("rules %q, want %q", got, want)
	}
	if got := cell(&b.Rows, "gtin", 3); got != "4006381333931" {
		t.Errorf("gtin %q", got)
	}
	var entries []string
	for row := range b.Len() {
		for _, e := range unpack(b.Entries[row]) {
			entries = append(entries, fmt.Sprintln(row, e))
		}
	}
	if d := cmp.Diff([]string{"0 20454 15000 3\n", "0 20455 - -\n", "4 20456 - -\n"}, entries); d != "" {
		t.Error(d)
	}
	var rejects []string
	for _, r := range b.Rejects {
		rejects = append(rejects, fmt.Sprint(r.Field, " ", r.Reason, " ", r.Raw, " ", r.Key != ""))
	}
	if d := cmp.Diff([]string{
		`history[1].views wrong_type "x" true`,
		`history[0] unusable_key {"price":2} true`,
		`history[1] unusable_key 17 true`,
		`history[2] unusable_key {"yearMonthDay":"never","price":3} true`,
		`history wrong_type "none" true`,
		` missing_key {"name":"no key","history":[{"yearMonthDay":"2026-01-01"}]} false`,
	}, rejects); d != "" {
		t.Error(d)
	}
	if b.Extra[0] != `{"history[1].new":1}` || b.Unknown["history[].new"] != 1 {
		t.Errorf("extra %q, unknown %v", b.Extra[0], b.Unknown)
	}
}

// unpack reads the entries of a product.
func unpack(packed string) (entries []string) {
	for p := []byte(packed); len(p) > 0; p = p[19:] {
		values := []string{fmt.Sprint(binary.LittleEndian.Uint16(p[1:]))}
		for bit, at := range []int{3, 11} {
			value := fmt.Sprint(int64(binary.LittleEndian.Uint64(p[at:])))
			if p[0]&(1<<bit) != 0 {
				value = "-"
			}
			values = append(values, value)
		}
		entries = append(entries, strings.Join(values, " "))
	}
	return entries
}

// TestPackedEntries wants packed entries in the order of their days, each day once, so that the same
// content gives the same bytes.
func TestPackedEntries(t *testing.T) {
	day := func(n, views int) string { return fmt.Sprintf(`{"yearMonthDay":"2026-01-%02d","views":%d}`, n, views) }
	history := func(parts ...string) string { return `"history":[` + strings.Join(parts, ",") + `]` }
	b := decodeAll(t, "products", `[
		{"url":"a",`+history(day(1, 1), day(2, -2), day(3, 3))+`},
		{"url":"b",`+history(day(3, 3), day(1, 9), day(2, -2), day(1, 1))+`},
		{"url":"c",`+history(day(3, 9), day(2, -2))+`,`+history(day(1, 1), day(3, 3))+`},
		{"url":"d",`+history()+`},
		{"url":"e"},
		{"url":"f",`+history(day(1, 1))+`}]`)
	want := []string{"20454 - 1", "20455 - -2", "20456 - 3"}
	for row, entries := range [][]string{want, want, want, nil, nil, want[:1]} {
		if d := cmp.Diff(entries, unpack(b.Entries[row])); d != "" {
			t.Errorf("row %d: %s", row, d)
		}
	}
	if b.Entries[0] != b.Entries[1] || b.Entries[0] != b.Entries[2] {
		t.Error("the same entries are other bytes")
	}
}

func TestBrokenPageLeavesTheBatchAsItWas(t *testing.T) {
	s := stream(t, "products")
	d, b := New(s), NewBatch(s)
	good := `[{"url":"u","history":[{"yearMonthDay":"2026-01-01"}]},{"x":1}]`
	if err := d.Page(b, []byte(good), 1, 1); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{}`, ``, `[{"url":"v","history":[{"yearMonthDay":"2026-01-01"},`,
		`[{"url":"v"},{"q":1,}]`, `null`, `[{"url":"v"}`} {
		if err := d.Page(b, []byte(bad), 2, 2); err == nil {
			t.Errorf("%q was taken", bad)
		}
		if b.Len() != 1 || len(unpack(b.Entries[0])) != 1 || len(b.Rejects) != 1 || b.Records != 2 || len(b.Unknown) != 1 ||
			b.Unknown["x"] != 0 && b.Unknown["x"] != 1 {
			t.Fatalf("after %q: %d rows, %d entries, %d rejects, %d records", bad, b.Len(), len(b.Entries), len(b.Rejects),
				b.Records)
		}
	}
	b.Reset()
	if err := d.Page(b, []byte(good), 1, 1); err != nil || b.Len() != 1 || len(b.Rejects) != 1 || b.Records != 2 {
		t.Fatalf("after Reset: %v, %d rows", err, b.Len())
	}
}

// FuzzPage checks what must hold for any bytes: no panic, and every record is a row or a reject.
func FuzzPage(f *testing.F) {
	f.Add(`[{"id":"` + idA + `","orderValue":1.5},{"id":1}]`)
	f.Add(`[{"url":"u","history":[{"yearMonthDay":"2026-01-01","price":1},{}],"imageUrls":["a",1]}]`)
	f.Add(string(transactionsPage(2)))
	f.Fuzz(func(t *testing.T, page string) {
		for _, name := range []string{"transactions", "products", "payouts", "cashback_offers"} {
			s := stream(t, name)
			b := NewBatch(s)
			err := New(s).Page(b, []byte(page), 1, 1)
			whole := 0
			for _, r := range b.Rejects {
				if r.Field == "" {
					whole++
				}
			}
			if b.Len()+whole != b.Records {
				t.Fatalf("%s: %d rows and %d rejects of %d records", name, b.Len(), whole, b.Records)
			}
			if s.Child != nil && len(b.Entries) != b.Len() {
				t.Fatalf("%s: the entries of %d rows of %d", name, len(b.Entries), b.Len())
			}
			for i := range b.Columns {
				c := &b.Columns[i]
				if n := len(c.UUIDs) + len(c.Strings) + len(c.Ints) + len(c.Bytes) + len(c.Days); n != b.Len() {
					t.Fatalf("%s: column %s has %d of %d rows", name, b.Fields[i].Column, n, b.Len())
				}
			}
			var records []json.RawMessage
			if json.Unmarshal([]byte(page), &records) == nil && records != nil && (err != nil || len(records) != b.Records) {
				t.Fatalf("%s: %d records of %d, error %v", name, b.Records, len(records), err)
			}
		}
	})
}

// TestItem decodes records that were requested by their key. One of them has another key.
func TestItem(t *testing.T) {
	s := stream(t, "coupons")
	b, d := NewBatch(s), New(s)
	upper := strings.ToUpper("abcdefab-1111-4111-8111-111111111111")
	for i, item := range []struct{ key, json string }{
		{idA, `{"id":"` + idA + `","code":"a"}`}, {idB, `{"id":"` + idA + `"}`}, {idB, `{"code":"b"}`},
		{strings.ToLower(upper), `{"id":"` + upper + `","code":"c"}`},
	} {
		if err := d.Item(b, []byte(item.json), item.key, uint32(i+1), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if b.Len() != 2 || b.Records != 4 || cell(&b.Rows, "code", 0) != "a" || cell(&b.Rows, "code", 1) != "c" {
		t.Errorf("%d rows of %d records", b.Len(), b.Records)
	}
	want := []Reject{
		{Page: 2, Fetched: 1, Key: idB, Reason: ReasonOtherKey, Raw: `{"id":"` + idA + `"}`},
		{Page: 3, Fetched: 2, Key: idB, Reason: ReasonMissingKey, Raw: `{"code":"b"}`},
	}
	if diff := cmp.Diff(want, b.Rejects); diff != "" {
		t.Error(diff)
	}
	// A list is not checked for the key of an earlier request.
	if err := d.Page(b, []byte(`[{"id":"`+idB+`"}]`), 5, 5); err != nil || b.Len() != 3 {
		t.Errorf("%d rows, %v", b.Len(), err)
	}
}
