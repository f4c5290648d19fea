package warehouse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// A stored row that is written as a record and read again is the same row: a retry adds fields to it. For wide samples:
// TestRetryTransactions of package syncer puts fields into stored rows.
func TestStoredRowsAsRecords(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	const day = "2026-01-01T00:00:00.001Z"
	for stream, page := range map[string]string{
		"coupons": `[` + coupon(idA, `"quoted\" \u00e9 \u2028 \\ \n`, day) + `,{"id":"` + idB +
			`","new":{"a":[1.50, "x"]},"z":1e400}]`,
		"cashback_offers": `[{"id":"` + idA + `","featured":true,"countries":["DE","a,\"b\"",""],"maximumFixedCommissionFee":-0.0001,"cashbackPercentage":0.123456789},
			{"id":"` + idB + `","featured":false,"countries":[]},{"id":"` + idC +
			`","maximumFixedCommissionFee":99999999999999.9999}]`,
		"transactions": `[{"id":"` + idA + `","orderValue":12.3,"soldAt":"` + day +
			`","activatedAt":"1900-01-01","clickedAt":"2299-12-31T23:59:59.999Z","payoutId":9223372036854775807,"retailerId":"` +
			idB + `"}]`,
		"payouts": `[{"id":9223372036854775807,"totalGmv":0.1,"aov":0.333333},{"id":-1}]`,
		"products": `[{"url":"https://x/1?a=\"","imageUrls":["a\\","b"],"ratingValue":4.5,"ratingCount":3,"history":[{"yearMonthDay":"2026-01-01"}]},
			{"brandName":"B","sku":"S","price":1}]`,
	} {
		r := begin(t, w, stream)
		stage(t, w, r, page)
		first := publish(t, w, r, Whole)
		records := text(t, w, "SELECT "+recordJSON(r.Stream)+" FROM "+stream+"_latest FINAL")
		again := begin(t, w, stream)
		d, b := decode.New(again.Stream), decode.NewBatch(again.Stream)
		for _, record := range records {
			if err := d.Page(b, []byte("["+record+"]"), 1, again.StartedAt.UnixMicro()); err != nil {
				t.Fatalf("%s: %s: %v", stream, record, err)
			}
		}
		if len(b.Rejects) > 0 {
			t.Errorf("%s: rejects %+v of %s", stream, b.Rejects, records)
		}
		if refused, err := w.Writer(again).Stage(t.Context(), 1, b); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		want := Changes{Unchanged: first.Inserted, Staged: first.Staged, Distinct: first.Distinct, Live: first.Inserted,
			Same: r.Stream.Child == nil}
		if got := publish(t, w, again, Part); !cmp.Equal(want, got, anySum) {
			t.Errorf("%s: %+v, want %+v: %s", stream, got, want, records)
		}
	}
}
