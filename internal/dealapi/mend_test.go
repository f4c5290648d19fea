package dealapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestMend(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	for body, want := range map[string]string{
		`{"data":[{"a":NaN,"b":1}]}`:               `{"data":[{"a":{"":"NaN"},"b":1}]}`,
		` {"data" : [ Infinity , -Infinity ] } `:   `{"data":[{"":"Infinity"},{"":"-Infinity"}]}`,
		`[{"a":.5,"b":+5,"c":5.,"d":007,"e":-.5}]`: `[{"a":".5","b":"+5","c":"5.","d":"007","e":"-.5"}]`,
		"[\"a\tb\nc\"]":                            `["a\u0009b\u000ac"]`,
		`["a\qb"]`:                                 `[{"":"\"a\\qb\""}]`,
		`[undefined,None,0x1F,1_000,--5]`:          `[{"":"undefined"},{"":"None"},{"":"0x1F"},{"":"1_000"},"--5"]`,
		`{"data":[{"id":1,"x":nan}],"cursor":"c"}`: `{"data":[{"id":1,"x":{"":"nan"}}],"cursor":"c"}`,
		// What cannot be told apart with certainty.
		`{"data":[{"a":"5" screen"}]}`:           "",
		`{"data":[{"a":1}`:                       "",
		`{"data":[{"a":1,}]}`:                    "",
		`{"data":[{a:NaN}]}`:                     "",
		`{'data':[]}`:                            "",
		`[1 2]`:                                  "",
		`[NaN]]`:                                 "",
		`[NaN`:                                   "",
		`{"a" NaN}`:                              "",
		`["abc`:                                  "",
		`<html>NaN</html>`:                       "",
		``:                                       "",
		strings.Repeat("[", 20000) + "NaN":       "",
		"[" + strings.Repeat("N,", 2<<20) + "N]": "",
		`{"data":[1,2,{"` + "\x01" + `":1}]}`:    "",
		`[` + strings.Repeat(`{"x":1},`, 3) + `{"y":`: "",
	} {
		got, err := mend([]byte(body))
		switch {
		case want == "" && err == nil:
			t.Errorf("%.60s: mended to %.60s", body, got)
		case want != "" && (err != nil || string(got) != want):
			t.Errorf("%s: %s, %v, want %s", body, got, err, want)
		}
	}
	_, err := mend([]byte(`{"data":[{"id":1},{"id":2},{"id":"3" x}]}`))
	if want := "byte 37, after 2 whole records: a comma or a closing bracket is missing"; err == nil || err.Error() != want {
		t.Errorf("the place is %v, want %s", err, want)
	}
}

// FuzzMend: what is mended is JSON, and an object or array that is JSON stays as it is but for white space.
func FuzzMend(f *testing.F) {
	for _, seed := range []string{`[NaN,.5,"a` + "\t" + `",{"x":-Infinity}]`, `{"a":"\q"}`, `[1,[2],"x\""]`, `["\ud800"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := mend(body)
		if err == nil && !json.Valid(got) {
			t.Fatalf("%q: mended to %q, which is no JSON", body, got)
		}
		if start := bytes.TrimLeft(body, " \t\r\n"); !json.Valid(body) || start[0] != '{' && start[0] != '[' {
			return
		}
		if err != nil {
			t.Fatalf("%q is JSON, and not mended: %v", body, err)
		}
		var a, b any
		if json.Unmarshal(body, &a) != nil || json.Unmarshal(got, &b) != nil {
			return // a number that is too large for a float
		}
		if x, y := mustJSON(t, a), mustJSON(t, b); x != y {
			t.Fatalf("%q became %q", x, y)
		}
	})
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBodiesOfOneMeaning: a body that is not what the interface says, but has one meaning, is read.
func TestBodiesOfOneMeaning(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":null}`:                            `[]`,
		`{"data":null,"cursor":null}`:              `[]`,
		"\ufeff" + `{"data":[{"id":"a"}]}`:         `[{"id":"a"}]`,
		`{"data":[{"id":"a","cashback":NaN}]}`:     `[{"id":"a","cashback":{"":"NaN"}}]`,
		"{\"data\":[{\"id\":\"a\",\"d\":\"\t\"}]}": `[{"id":"a","d":"\u0009"}]`,
	} {
		r := newRig(t, text(body), nil)
		pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
		if err != nil || len(pages) != 1 || string(pages[0].Data) != want || pages[0].Retries != 0 {
			t.Errorf("%q: %v, %v, want %s", body, pages, err, want)
		}
	}
	for body, want := range map[string]string{"null": "[]", "null\n": "[]", "\ufeff[]": "[]", "\ufeffnull": "[]"} {
		r := newRig(t, text(body), nil)
		pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath, Paging: PagingNone})
		if err != nil || len(pages) != 1 || string(pages[0].Data) != want {
			t.Errorf("%q: %v, %v", body, pages, err)
		}
	}
}

// TestNullAfterRecords: a list that has begun does not end with null instead of an array.
func TestNullAfterRecords(t *testing.T) {
	for name, start := range map[string]string{"from the beginning": "", "from a saved place": "x"} {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Query().Get("cursor") == "" {
				text(`{"data":[{"id":"a"}],"cursor":"b"}`)(w, req)
				return
			}
			text(`{"data":null}`)(w, req)
		}, func(o *Options) { o.MaxAttempts = 2 })
		_, err := collect(t.Context(), r.Client, Query{Path: couponsPath, Start: start})
		if e := ofKind(t, err, KindMalformed); !strings.Contains(e.Error(), "data is null") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeyIsNotStored: records that repeat the key have [key] instead, and all else stays.
func TestKeyIsNotStored(t *testing.T) {
	escaped := strings.ReplaceAll(testKey, "/", `\/`)
	for body, want := range map[string]string{
		`{"data":[{"id":"a","d":"x ` + testKey + ` y"},{"id":"b"}]}`: `[{"id":"a","d":"x [key] y"},{"id":"b"}]`,
		`{"data":["` + escaped + `",{"` + testKey + `":1}]}`:         `["[key]",{"[key]":1}]`,
		`{"data":["` + url.QueryEscape(testKey) + `"]}`:              `["[key]"]`,
		`{"data":["` + testKey[:10] + `"]}`:                          `["` + testKey[:10] + `"]`,
	} {
		r := newRig(t, text(body), nil)
		pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
		if err != nil || len(pages) != 1 || string(pages[0].Data) != want {
			t.Errorf("%s: %s, %v", body, pages[0].Data, err)
		}
	}
	r := newRig(t, text(`{"id":"a","d":"`+testKey+`"}`), nil)
	if got, err := r.Get(t.Context(), couponsPath+"/a", nil); err != nil || string(got) != `{"id":"a","d":"[key]"}` {
		t.Errorf("%s, %v", got, err)
	}
	// A key of a few letters is in any text.
	r = newRig(t, text(`{"data":["secret"]}`), func(o *Options) { o.Key = "secret" })
	if pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath}); err != nil || string(pages[0].Data) != `["secret"]` {
		t.Error(pages, err)
	}
	// A nextPage with the key leads on, and is not stored.
	if next := "/v2/products?page=2&api_key=" + url.QueryEscape(testKey); !newRig(t, text(""), nil).HasKey(next) {
		t.Error("the key is not found in a nextPage")
	}
}

// TestPlaceOfBadJSON: an error names the place where a body stops being JSON.
func TestPlaceOfBadJSON(t *testing.T) {
	r := newRig(t, text(`{"data":[{"id":"a"},{"id":"b","t":"5" screen"}]}`), func(o *Options) { o.MaxAttempts = 1 })
	_, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	if e := ofKind(t, err, KindMalformed); !strings.Contains(e.Error(), "byte 38, after 1 whole records") {
		t.Error(err)
	}
}
