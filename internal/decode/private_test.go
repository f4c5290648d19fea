package decode

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
)

func hmacOf(key, value string) string {
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte(value))
	return "hmac:" + hex.EncodeToString(sum.Sum(nil))
}

// TestPrivate hides what may name a person in the columns, in what is unknown, in what is rejected, and however it is
// spelled or nested. Everything else is as it would be without.
func TestPrivate(t *testing.T) {
	t.Parallel()
	const mail = "anna@example.test"
	const id = "00000000-0000-4000-8000-000000000001"
	for _, test := range []struct{ name, record, uid, data string }{
		{"a text", `{"id":"` + id + `","passbackUid":"` + mail + `","passbackData":"x"}`, hmacOf("k", mail), hmacOf("k", "x")},
		{"escapes", `{"id":"` + id + `","passback\u0055id":"anna\u0040example.test" , "passbackData" : "a\"b"}`, hmacOf("k", mail), hmacOf("k", `a"b`)},
		{"none", `{"id":"` + id + `","passbackUid":null,"passbackData":""}`, "", ""},
		{"a number", `{"passbackUid":4711,"id":"` + id + `"}`, hmacOf("k", "4711"), ""},
		{"hashed before", `{"id":"` + id + `","passbackUid":"` + hmacOf("k", mail) + `"}`, hmacOf("k", mail), ""},
		{"only looks like it", `{"id":"` + id + `","passbackUid":"hmac:4711"}`, hmacOf("k", "hmac:4711"), ""},
		{"twice", `{"id":"` + id + `","passbackUid":"other@example.test","passbackUid":"` + mail + `"}`, hmacOf("k", mail), ""},
		{"unknown spellings", `{"id":"` + id + `","passback_uid":"` + mail + `","PASSBACKDATA":["` + mail + `"],"more":[{"user":{"passbackUid":"` + mail + `"}}]}`, "", ""},
		{"no usable key", `{"id":"?","passbackUid":"` + mail + `"}`, "", ""},
		{"a value that does not fit", `{"id":"` + id + `","payoutId":{"passbackUid":"` + mail + `"},"passbackUid":"` + mail + `"}`, hmacOf("k", mail), ""},
	} {
		for name, p := range map[string]*Private{"hash": HashPrivate([]byte("k")), "drop": DropPrivate()} {
			b := NewBatch(catalog.Transactions())
			page := []byte("[" + test.record + `, {"id":"00000000-0000-4000-8000-000000000002","country":"DE","passbackUid":"` + mail + `"}]`)
			if err := New(catalog.Transactions()).Hide(p).Page(b, page, 1, 1); err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			stored := strings.Join(b.Extra, "\n")
			for _, r := range b.Rejects {
				stored += "\n" + r.Raw
			}
			for _, f := range catalog.Transactions().Fields {
				if i := catalog.Transactions().Field(f.Column); f.Type == catalog.Text {
					stored += "\n" + strings.Join(b.Columns[i].Strings, "\n")
				}
			}
			for _, word := range []string{mail, "4711\"", "other@", "anna"} {
				if strings.Contains(stored, word) && test.name != "only looks like it" {
					t.Errorf("%s, %s: %q is stored: %s", test.name, name, word, stored)
				}
			}
			uid, data := b.Columns[catalog.Transactions().Field("passback_uid")].Strings, b.Columns[catalog.Transactions().Field("passback_data")].Strings
			wantUID, wantData, last := test.uid, test.data, hmacOf("k", mail)
			if name == "drop" {
				wantUID, wantData, last = "", "", ""
			}
			if test.name != "no usable key" && (uid[0] != wantUID || data[0] != wantData) || uid[len(uid)-1] != last {
				t.Errorf("%s, %s: %q and %q, want %q and %q", test.name, name, uid, data, wantUID, wantData)
			}
			if country := b.Columns[catalog.Transactions().Field("country")].Strings; country[len(country)-1] != "DE" {
				t.Errorf("%s, %s: other fields changed: %q", test.name, name, country)
			}
		}
	}
	for _, deep := range []int{1000, 20_000} { // as deep as a record is read without Private, and no deeper
		b := NewBatch(catalog.Transactions())
		page := []byte(`[{"id":"` + id + `","more":` + strings.Repeat(`{"a":`, deep) + `{"passbackUid":"` + mail + `"}` + strings.Repeat("}", deep) + "}]")
		err, plain := New(catalog.Transactions()).Hide(DropPrivate()).Page(b, page, 1, 1), New(catalog.Transactions()).Page(NewBatch(catalog.Transactions()), page, 1, 1)
		if (err == nil) != (deep < 10_000) || (err == nil) != (plain == nil) || err == nil && (b.Len() != 1 || strings.Contains(b.Extra[0], mail)) {
			t.Errorf("a record that is nested %d times: %v, without Private %v", deep, err, plain)
		}
	}
	for _, kept := range []*Decoder{New(catalog.Transactions()).Hide(nil), New(catalog.Payouts()).Hide(DropPrivate())} {
		if kept.private != nil {
			t.Error("nothing was to be hidden")
		}
	}
}

// TestWithout drops the values of somebody who is forgotten, and what else their records say that is private or not
// known, in whatever order and spelling. Nobody else loses anything.
func TestWithout(t *testing.T) {
	t.Parallel()
	const mail = "anna@example.test"
	for record, want := range map[string]string{
		`"passbackUid":"` + mail + `","passbackData":"x","more":{"a":1},"country":"DE"`:   `//{"more":null}/DE`,
		`"more":"` + mail + `","passbackData":"x","passbackUid":"anna\u0040example.test"`: `//{"more":null}/`,
		`"user":{"passback_uid":"` + mail + `"},"passbackUid":"bob"`:                      `//{"user":null}/`,
		`"passbackUid":"bob","passbackData":"click of anna","more":1`:                     `bob//{"more":1}/`,
		`"passbackUid":"bob","passbackData":"` + mail + `"`:                               `bob///`,
		`"passbackUid":"bob","passbackData":"x` + mail + `","country":"DE"`:               `bob/x` + mail + `//DE`,
		`"passbackUid":"","passbackData":null`:                                            `///`,
		`"passbackUid":4711,"passbackData":"x"`:                                           `///`,
	} {
		s := catalog.Transactions()
		hidden := (*Private)(nil).Without([]string{PersonHash(mail), PersonHash("click of anna"), PersonHash("4711")})
		b := NewBatch(s)
		err := New(s).Hide(hidden).Page(b, []byte(`[{"id":"00000000-0000-4000-8000-000000000001",`+record+`},{"id":"00000000-0000-4000-8000-000000000002","passbackUid":"bob"}]`), 1, 1)
		if err != nil || b.Len() != 2 {
			t.Fatalf("%s: %d rows, %v", record, b.Len(), err)
		}
		text := func(row int, column string) string { return b.Columns[s.Field(column)].Strings[row] }
		if got := text(0, "passback_uid") + "/" + text(0, "passback_data") + "/" + b.Extra[0] + "/" + text(0, "country"); got != want {
			t.Errorf("%s: %s, want %s", record, got, want)
		}
		if text(1, "passback_uid") != "bob" {
			t.Errorf("%s: the next record lost its user", record)
		}
	}
	if DropPrivate().Without(nil).keep || (*Private)(nil).Without(nil) != nil {
		t.Error("nobody is forgotten, and something else changes")
	}
}
