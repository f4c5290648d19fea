package syncer

import (
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

// BenchmarkMovingList loads 100,000 transactions on pages of 10, of which one in a hundred changes while they are read.
// It reports the number of requests per page of the list, which is 1 if nothing had to be read again.
func BenchmarkMovingList(b *testing.B) {
	for _, order := range []apisim.Order{apisim.ByID, apisim.ByUpdatedAsc, apisim.ByUpdatedDesc, apisim.Shuffled} {
		for name, perPage := range map[string]float64{"still": 0, "moving": .1} {
			b.Run(order.String()+"/"+name, func(b *testing.B) {
				const rows = 100_000
				o := apisim.Options{Seed: 9, Retailers: 50, Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: rows,
					Products: -1,
					Orgs:     []apisim.Org{{Name: "acme", Currency: "EUR"}}, Settings: apisim.Settings{PageSize: 10, Order: order}}
				for b.Loop() {
					b.StopTimer()
					x, w := serve(b, o), open(b)
					if err := x.SetMovement(apisim.Movement{Seed: 1, PerPage: perPage, Update: 1,
						Step: time.Millisecond}); err != nil {
						b.Fatal(err)
					}
					job := x.jobs(b, "acme", "transactions")[0]
					job.Full = true
					b.StartTimer()
					syncAll(b, w, []Job{job})
					b.StopTimer()
					b.ReportMetric(float64(x.Requests("/v1/deals/transactions"))/(rows/10), "requests/page")
					b.ReportMetric(float64(x.Moves().Updated), "changes")
					b.StartTimer()
				}
			})
		}
	}
}
