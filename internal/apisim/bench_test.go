package apisim_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"dealhouse/internal/apisim"
)

// discard is a response writer that keeps only the headers.
type discard struct {
	header http.Header
	bytes  int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.bytes += int64(len(p))
	return len(p), nil
}

func benchmarkPage(b *testing.B, path string, o apisim.Options, size int) {
	o.Settings.PageSize = size
	o.Settings.Order = apisim.ByUpdatedAsc
	sim, err := apisim.New(o)
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	key, _ := sim.Keys("acme")
	r.Header.Set("Authorization", "Bearer "+key)
	w := &discard{header: http.Header{}}
	sim.ServeHTTP(w, r)
	b.SetBytes(w.bytes)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		sim.ServeHTTP(w, r)
	}
	b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkTransactionsPage(b *testing.B) {
	benchmarkPage(b, "/v1/deals/transactions", apisim.Options{Transactions: 100_000, Products: -1}, 1000)
}

func BenchmarkProductsPage(b *testing.B) {
	benchmarkPage(b, "/v2/products", apisim.Options{Transactions: -1, Products: 100_000}, 1000)
}

func BenchmarkCouponsPage(b *testing.B) {
	benchmarkPage(b, "/v1/deals/coupons", apisim.Options{}, 1000)
}

func BenchmarkNewMillion(b *testing.B) {
	for b.Loop() {
		if _, err := apisim.New(apisim.Options{Transactions: 1_000_000, Products: 2_000_000}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstPage measures the cost of ordering a million transactions after a change.
func BenchmarkFirstPage(b *testing.B) {
	sim, err := apisim.New(apisim.Options{Transactions: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		sim.TouchTransactions("acme", 0.01)
		sim.Count(apisim.StreamTransactions, "acme")
	}
}

// BenchmarkMovingPage measures the cost of a page if the list moves before it.
func BenchmarkMovingPage(b *testing.B) {
	for _, order := range allOrders() {
		b.Run(order.String(), func(b *testing.B) {
			o := apisim.Options{Transactions: 5000, Promotions: 5000, Products: -1}
			o.Settings.Movement = apisim.Movement{PerPage: 1, Aim: 0.2}
			o.Settings.PageSize, o.Settings.Order = 100, order
			sim := newSim(b, o)
			for b.Loop() {
				page(b, sim, apisim.StreamTransactions, "")
				page(b, sim, apisim.StreamPromotions, "")
			}
		})
	}
}
