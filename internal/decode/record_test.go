package decode

import (
	"testing"

	"dealhouse/internal/catalog"
)

// For each row, its JSON is found, also if pages have records and entries without a row, or no rows at all.
func TestRecordOfARow(t *testing.T) {
	s, err := catalog.Find("products")
	if err != nil {
		t.Fatal(err)
	}
	b, d := NewBatch(s), New(s)
	for i, page := range []string{
		`[{"name":"no key"}]`,
		`[{"name":"no key"}, {"url":"https://a.test/1",  "history":[{"views":1}, {"yearMonthDay":"2026-01-01", "views":2}]}, 7]`,
		`[]`,
		`[{"history":[{"yearMonthDay":"2026-01-01","views":3}]},{"url":"https://a.test/2","history":[{"yearMonthDay":"2026-01-02","views":4},{"yearMonthDay":"2026-01-03","views":5}]},{"url":"https://a.test/3"}]`,
	} {
		if err := d.Page(b, []byte(page), uint32(i+1), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Page(b, []byte(`{}`), 9, 9); err == nil {
		t.Fatal("an object is no page")
	}
	for row, want := range []string{
		`{"url":"https://a.test/1",  "history":[{"views":1}, {"yearMonthDay":"2026-01-01", "views":2}]}`,
		`{"url":"https://a.test/2","history":[{"yearMonthDay":"2026-01-02","views":4},{"yearMonthDay":"2026-01-03","views":5}]}`,
		`{"url":"https://a.test/3"}`,
	} {
		if got, err := b.Record(row); err != nil || got != want {
			t.Errorf("row %d: %s, %v", row, got, err)
		}
	}
	b.Reset()
	if err := d.Page(b, []byte(`[{"url":"https://a.test/4"}]`), 1, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Record(0); err != nil || got != `{"url":"https://a.test/4"}` {
		t.Errorf("after a reset: %s, %v", got, err)
	}
}
