package decode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// straightSeeds are lists of entries: those under true are read straight, and the others are not.
var straightSeeds = map[bool][]string{
	true: {
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","price":-0.0001,"views":0},{"yearMonthDay":"2026-02-01","price":null,"views":null}]`,
		`[{"yearMonthDay":"1970-01-01","price":99999999999999.9999,"views":-9},` +
			`{"yearMonthDay":"2149-06-06","price":0,"views":1}]`,
	},
	false: {
		`[]`, `null`, `"none"`, `[17]`, `[{}]`,
		`[ {"yearMonthDay":"2026-01-01","price":1.5,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3}, {"yearMonthDay":"2026-01-02","price":1.5,"views":3}]`,
		`[{"yearMonthDay":"2026-01-02","price":1.5,"views":3},{"yearMonthDay":"2026-01-01","price":1.5,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3},{"yearMonthDay":"2026-01-01","price":2.5,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3.0}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.23456,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","price":1e2,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","price":"1.5","views":3}]`,
		`[{"yearMonthDay":"20260101","price":1.5,"views":3}]`,
		`[{"yearMonthDay":null,"price":1.5,"views":3}]`,
		`[{"yearMonthDay":"2026-02-30","price":1.5,"views":3}]`,
		`[{"yearMonthDay":"2026-01-01","views":3,"price":1.5}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3,"new":1}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3,"views":4}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":99999999999999999999}]`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3},{"yearMonthDay":"2026-01-0`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":3}`,
		`[{"yearMonthDay":"2026-01-01","price":1.5,"views":`,
	},
}

// TestStraightIsUsual wants lists as services send them to be read straight: otherwise that makes nothing faster.
func TestStraightIsUsual(t *testing.T) {
	for want, lists := range straightSeeds {
		for _, list := range lists {
			s := stream(t, "products")
			d := New(s)
			d.batch = NewBatch(s)
			if list[0] == '[' && d.child.straight(&cursor{data: []byte(list)}) != want {
				t.Errorf("%s is read straight: %t", list, !want)
			}
		}
	}
}

// FuzzStraight decodes products with two lists of entries in the usual way, and with the full decoder alone: both give
// the same rows, entries, rejects and unknown fields, or both find that it is no JSON.
func FuzzStraight(f *testing.F) {
	for _, firsts := range straightSeeds {
		for _, first := range firsts {
			for _, seconds := range straightSeeds {
				for _, second := range seconds {
					f.Add(first, second)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		s := stream(t, "products")
		page := []byte(`[{"url":"a","history":` + first + `},{"url":"b","history":` + second + `},{"history":` + first +
			`,"url":"c","history":` + second + `},{"url":"d"}]`)
		direct, full := New(s), New(s)
		full.child.direct = straight{}
		got, want := NewBatch(s), NewBatch(s)
		failed, err := direct.Page(got, page, 1, 1), full.Page(want, page, 1, 1)
		if (failed == nil) != (err == nil) {
			t.Fatalf("%s: %v, want %v", page, failed, err)
		}
		for name, is := range map[string][2]any{
			"entries": {got.Entries, want.Entries}, "rejects": {got.Rejects, want.Rejects}, "extra": {got.Extra, want.Extra},
			"keys": {got.Keys, want.Keys}, "nulls": {got.Nulls, want.Nulls}, "unknown": {got.Unknown, want.Unknown},
			"counts": {[]int64{int64(got.Records), got.Noise}, []int64{int64(want.Records), want.Noise}},
		} {
			if d := cmp.Diff(is[1], is[0]); d != "" {
				t.Fatalf("%s of %s: %s", name, page, d)
			}
		}
	})
}
