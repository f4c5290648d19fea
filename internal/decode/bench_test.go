package decode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
)

func stream(t testing.TB, name string) *catalog.Stream {
	t.Helper()
	s, err := catalog.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transactionsPage returns a page of n transactions as a live service would send them.
func transactionsPage(n int) []byte {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%08x-1111-4222-8333-444455556666","country":"DE","activatedAt":"2026-01-02T03:04:05.678Z",`+
			`"clickedAt":"2026-01-02T03:04:05.678Z","soldAt":"2026-01-02T04:04:05.678Z","updatedAt":"2026-02-02T04:04:05.678Z",`+
			`"currencyCode":"EUR","orderValue":%d.45,"cashback":3.37,"status":"PENDING","passbackUid":"user-%d",`+
			`"retailerId":"%08x-2222-4222-8333-444455556666","retailerName":"Shop %d","retailerLogo":"https://cdn.example.com/%d.png",`+
			`"payoutId":%d,"passbackData":"a=%d","cashbackOfferId":"%08x-3333-4222-8333-444455556666","couponId":null}`,
			i, 100+i, i, i, i%1500, i%1500, i%12, i, i)
	}
	b.WriteByte(']')
	return []byte(b.String())
}

// BenchmarkTransactions reports the time and the allocations per row.
func BenchmarkTransactions(b *testing.B) {
	page := transactionsPage(1000)
	d, batch := New(stream(b, "transactions")), NewBatch(stream(b, "transactions"))
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if batch.Len() >= 50_000 {
			batch.Reset()
		}
		if err := d.Page(batch, page, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// BenchmarkTransactionsBaseline does what a simple script would do: encoding/json into structs.
func BenchmarkTransactionsBaseline(b *testing.B) {
	type transaction struct {
		ID, Country, ActivatedAt, ClickedAt, SoldAt, UpdatedAt, CurrencyCode, Status, PassbackUID, RetailerID string
		OrderValue, Cashback                                                                                  json.Number
		RetailerName, RetailerLogo, PassbackData                                                              string
		PayoutID                                                                                              *int64
		CashbackOfferID, CouponID, PromotionID                                                                *string
	}
	page := transactionsPage(1000)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		var rows []transaction
		if err := json.Unmarshal(page, &rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// productsPage returns a page of n products with 30 days of history each.
func productsPage(n int) []byte {
	var p strings.Builder
	for i := range n {
		if i > 0 {
			p.WriteByte(',')
		}
		fmt.Fprintf(&p, `{"lastViewedAt":"2026-01-02T03:04:05Z","url":"https://shop.example/p/%d","name":"Product %d","price":12.99,`+
			`"currencyCode":"EUR","brandName":"Brand","description":"d","imageUrls":["https://a","https://b"],"history":[`, i, i)
		for day := 1; day <= 30; day++ {
			if day > 1 {
				p.WriteByte(',')
			}
			fmt.Fprintf(&p, `{"yearMonthDay":"2026-01-%02d","price":%d.99,"views":%d}`, day, day, day)
		}
		p.WriteString("]}")
	}
	return []byte("[" + p.String() + "]")
}

// BenchmarkProducts reports the time per product with 30 days of history.
func BenchmarkProducts(b *testing.B) {
	page := productsPage(200)
	d, batch := New(stream(b, "products")), NewBatch(stream(b, "products"))
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if batch.Len() >= 5_000 {
			batch.Reset()
		}
		if err := d.Page(batch, page, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/row")
}
