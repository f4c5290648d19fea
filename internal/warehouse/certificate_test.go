package warehouse

import (
	"strings"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// oddPages has a page of each stream with values of all types, missing ones, and what is hard to keep: bytes beyond
// ASCII, a zero byte, the largest numbers, times before 1970.
var oddPages = map[string]string{
	"promotions": `[{"id":"` + idA + `","name":"ä\u0000ö","updatedAt":"1969-12-31T23:59:59.999Z"},{"id":"` + idB + `"},
		{"id":"` + idC + `","validFrom":"2026-01-01T00:00:00.001Z","newField":{"a":[1,2]}}]`,
	"coupons":         "[" + coupon(idA, "a", day1) + "," + coupon(idB, "", day2) + `,{"id":"` + idC + `","tags":["x","ü",""]}]`,
	"cashback_offers": `[{"id":"` + idA + `","percentage":99999.9999,"countries":["DE","AT"]},{"id":"` + idB + `","countries":[]}]`,
	"transactions": sales(paidSale(1, "PENDING", day1), paidSale(2, "CONFIRMED", day2),
		`{"id":"`+idA+`","cashback":-0.01,"orderValue":99999999.99,"payoutId":9007199254740993}`),
	"payouts":  `[{"id":-1},{"id":9007199254740993,"currencyCode":"EUR"}]`,
	"products": `[{"url":"https://a.test/1","gtin":"4006381333931","history":[{"yearMonthDay":"2026-01-01","price":1.5}]},{"url":"https://a.test/2"}]`,
}

// TestSums holds the hashes that the decoder makes against those of the engine.
func TestSums(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, s := range catalog.All() {
		r := begin(t, w, s.Name)
		b := decode.NewBatch(s)
		must(t, decode.New(s).Page(b, []byte(oddPages[s.Name]), 1, r.StartedAt.UnixMicro()))
		_, err := w.Writer(r).Stage(t.Context(), 1, b)
		must(t, err)
		var want Set
		for _, sum := range b.Sums {
			want = want.And(Set{1, Sum(sum)})
		}
		if b.Len() < strings.Count(oddPages[s.Name], `{"`)-2 || b.Len() < 2 {
			t.Fatalf("%s: %d rows", s.Name, b.Len())
		}
		if got := staged(t, w, r); got != want {
			t.Errorf("%s: the engine has %+v, and the decoder %+v", s.Name, got, want)
		}
	}
}
