package syncer

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/warehouse"
)

const benchTransactions = 1_000_000

func transactionsWorld(n int) apisim.Options {
	o := apisim.Options{Seed: 1, Promotions: -1, Coupons: -1, CashbackOffers: -1, Products: -1, Transactions: n, Orgs: []apisim.Org{{Name: "acme", Currency: "EUR"}}}
	o.Settings.PageSize = 1000
	return o
}

// BenchmarkMillionTransactions loads a million transactions from the simulator's HTTP to merged views, and, in the
// same run, does the same with the loop that someone writes in an afternoon: one page after the other, encoding/json
// into structs, row by row into the final table.
func BenchmarkMillionTransactions(b *testing.B) {
	x := serve(b, transactionsWorld(benchTransactions))
	for name, load := range map[string]func(*testing.B, *world, *warehouse.Warehouse){"dealhouse": loadWithSyncer, "baseline": loadWithLoop} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				w := open(b)
				b.StartTimer()
				load(b, x, w)
			}
			b.ReportMetric(float64(benchTransactions)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func loadWithSyncer(b *testing.B, x *world, w *warehouse.Warehouse) {
	r := syncAll(b, w, x.jobs(b, "acme", "transactions"))["acme/transactions"]
	if r.Changes.Inserted != benchTransactions {
		b.Fatalf("%+v", r.Changes)
	}
}

type plainTransaction struct {
	ID              uuid.UUID       `json:"id"`
	Country         string          `json:"country"`
	ActivatedAt     *time.Time      `json:"activatedAt"`
	ClickedAt       *time.Time      `json:"clickedAt"`
	SoldAt          *time.Time      `json:"soldAt"`
	UpdatedAt       time.Time       `json:"updatedAt"`
	CurrencyCode    string          `json:"currencyCode"`
	OrderValue      decimal.Decimal `json:"orderValue"`
	Cashback        decimal.Decimal `json:"cashback"`
	Status          string          `json:"status"`
	PassbackUID     string          `json:"passbackUid"`
	RetailerID      uuid.UUID       `json:"retailerId"`
	RetailerName    string          `json:"retailerName"`
	RetailerLogo    string          `json:"retailerLogo"`
	PayoutID        *int64          `json:"payoutId"`
	PassbackData    string          `json:"passbackData"`
	CashbackOfferID *uuid.UUID      `json:"cashbackOfferId"`
	CouponID        *uuid.UUID      `json:"couponId"`
	PromotionID     *uuid.UUID      `json:"promotionId"`
}

const plainTable = `CREATE TABLE plain_transactions (id UUID, country LowCardinality(String), activated_at Nullable(DateTime64(3, 'UTC')),
clicked_at Nullable(DateTime64(3, 'UTC')), sold_at Nullable(DateTime64(3, 'UTC')), updated_at DateTime64(3, 'UTC'), currency_code LowCardinality(String),
order_value Decimal(18, 4), cashback Decimal(18, 4), status LowCardinality(String), passback_uid String, retailer_id UUID,
retailer_name LowCardinality(String), retailer_logo String, payout_id Nullable(Int64), passback_data String, cashback_offer_id Nullable(UUID),
coupon_id Nullable(UUID), promotion_id Nullable(UUID)) ENGINE = ReplacingMergeTree(updated_at) ORDER BY id`

func loadWithLoop(b *testing.B, x *world, w *warehouse.Warehouse) {
	ctx := context.Background()
	if err := w.Conn().Exec(ctx, plainTable); err != nil {
		b.Fatal(err)
	}
	key, _ := x.Keys("acme")
	rows := 0
	for cursor := ""; ; {
		url := x.url + "/v1/deals/transactions"
		if cursor != "" {
			url += "?cursor=" + cursor
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		var page struct {
			Data   []plainTransaction `json:"data"`
			Cursor string             `json:"cursor"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		resp.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		batch, err := w.Conn().PrepareBatch(ctx, "INSERT INTO plain_transactions")
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range page.Data {
			if err := batch.Append(r.ID, r.Country, r.ActivatedAt, r.ClickedAt, r.SoldAt, r.UpdatedAt, r.CurrencyCode, r.OrderValue, r.Cashback, r.Status,
				r.PassbackUID, r.RetailerID, r.RetailerName, r.RetailerLogo, r.PayoutID, r.PassbackData, r.CashbackOfferID, r.CouponID, r.PromotionID); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			b.Fatal(err)
		}
		rows += len(page.Data)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if rows != benchTransactions {
		b.Fatalf("%d rows", rows)
	}
}

// BenchmarkProductWalk reports the peak of the Go heap while products with 30 days of history are loaded: it must not
// grow with the feed.
func BenchmarkProductWalk(b *testing.B) {
	for _, products := range []int{200_000, 2_000_000} {
		b.Run(strconv.Itoa(products), func(b *testing.B) {
			o := apisim.Options{Seed: 1, Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: -1, Products: products, HistoryDays: 30,
				Orgs: []apisim.Org{{Name: "acme", Currency: "EUR"}}}
			o.Settings.PageSize = 1000
			x := serve(b, o)
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				w := open(b)
				stop, peak := watchHeap()
				r := syncAll(b, w, x.jobs(b, "acme", "products"))["acme/products"]
				stop()
				if r.Changes.Inserted != uint64(x.Count(apisim.StreamProducts, "acme")) {
					b.Fatalf("%+v", r.Changes)
				}
				b.ReportMetric(float64(peak.Load())/(1<<20), "peak-heap-MiB")
				b.ReportMetric(float64(before.HeapInuse)/(1<<20), "simulator-MiB")
				b.ReportMetric(float64(products)/b.Elapsed().Seconds(), "rows/s")
			}
		})
	}
}

// watchHeap samples the heap in use, the simulator's included.
func watchHeap() (stop func(), peak *atomic.Uint64) {
	peak = &atomic.Uint64{}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	return func() { close(done); <-ended }, peak
}
