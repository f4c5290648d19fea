package dealapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-faster/jx"
)

// transactionsPage returns a page as the service writes it.
func transactionsPage(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"data":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"6f1c2a9e-1111-4222-8333-%012d","country":"DE",`+
			`"activatedAt":"2024-01-01T10:00:00.000Z","clickedAt":"2024-01-01T10:00:05.000Z",`+
			`"soldAt":"2024-01-01T10:20:00.000Z","updatedAt":"2024-02-01T12:00:00.%03dZ",`+
			`"currencyCode":"EUR","orderValue":%d.45,"cashback":3.37,"status":"CONFIRMED",`+
			`"passbackUid":"u-%d","retailerId":"2b0b8b1e-7a35-4a36-a3f4-9f0f6a1d2c3b",`+
			`"retailerName":"Example Shop","retailerLogo":"https://cdn.example.com/logos/example-shop.png",`+
			`"payoutId":%d,"passbackData":"campaign=spring&slot=7",`+
			`"cashbackOfferId":"0f0b8b1e-7a35-4a36-a3f4-9f0f6a1d2c3b","couponId":null,"promotionId":null}`,
			i, i%1000, i, i, i)
	}
	b.WriteString(`],"cursor":"6f1c2a9e-1111-4222-8333-000000001000"}`)
	return []byte(b.String())
}

// BenchmarkScan scans the envelope of a page of 1,000 transactions.
func BenchmarkScan(b *testing.B) {
	body := transactionsPage(1000)
	sh := PagingCursor.shape()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		e, err := sh.scan(body)
		if err != nil || e.next == "" {
			b.Fatal(e.next, err)
		}
	}
}

// BenchmarkScanJx is for comparison: jx's Skip of the same page.
func BenchmarkScanJx(b *testing.B) {
	body := transactionsPage(1000)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := jx.DecodeBytes(body).Skip(); err != nil {
			b.Fatal(err)
		}
	}
}
