package syncer

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func transactionsWorld(n int) apisim.Options {
	o := apisim.Options{Seed: 1, Promotions: -1, Coupons: -1, CashbackOffers: -1, Products: -1, Transactions: n,
		Orgs: []apisim.Org{{Name: "acme", Currency: "EUR"}}}
	o.Settings.PageSize = 1000
	return o
}

// Goals for a walk over products: the share of the first walk's CPU time that one needs which finds nothing
// new, and the Go heap in MiB.
const (
	unchangedGoal = 0.25
	heapGoal      = 200
)

// BenchmarkProductWalk loads products with 30 days of history, and again when none of them has changed. It reports the
// CPU seconds of both walks, without the simulator's, and by how much the Go heap grew at most, which must not depend
// on the size of the feed. It reports the goals too. WALK_PRODUCTS is the number of products.
func BenchmarkProductWalk(b *testing.B) {
	products, err := strconv.Atoi(cmp.Or(os.Getenv("WALK_PRODUCTS"), "20000"))
	if err != nil {
		b.Fatal("WALK_PRODUCTS:", err)
	}
	o := apisim.Options{Seed: 1, Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: -1, Products: products,
		HistoryDays: 30,
		Orgs:        []apisim.Org{{Name: "acme", Currency: "EUR"}}}
	o.Settings.PageSize = 1000
	x := serve(b, o)
	feed := min(x.readFeed(b), x.readFeed(b))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		w := open(b)
		stop, peak := watchHeap()
		start := cpu(b)
		first := syncAll(b, w, x.jobs(b, "acme", "products"))["acme/products"]
		between := cpu(b)
		again := syncAll(b, w, x.jobs(b, "acme", "products"))["acme/products"]
		end := cpu(b)
		stop()
		if first.Changes.Inserted != uint64(x.Count(apisim.StreamProducts, "acme")) ||
			again.Changes.Unchanged != first.Changes.Inserted {
			b.Fatalf("%+v\n%+v", first.Changes, again.Changes)
		}
		one, two := (between - start - feed).Seconds(), (end - between - feed).Seconds()
		b.ReportMetric(one, "first-CPU-s")
		b.ReportMetric(two, "unchanged-CPU-s")
		b.ReportMetric(two/one, "unchanged-of-first")
		b.ReportMetric(unchangedGoal, "goal-unchanged-of-first")
		b.ReportMetric((float64(peak.Load())-float64(before.HeapInuse))/(1<<20), "heap-MiB")
		b.ReportMetric(heapGoal, "goal-heap-MiB")
	}
}

// readFeed reads all products and does nothing with them. It returns the CPU time that this takes.
func (x *world) readFeed(b *testing.B) time.Duration {
	b.Helper()
	start := cpu(b)
	key, _ := x.Keys("acme")
	pages := 0
	for token, more := "", true; more; pages++ {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, x.url+"/v2/products?page="+url.QueryEscape(token),
			nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, err)
		}
		_, rest, found := strings.Cut(string(text[bytes.LastIndexByte(text, ']'):]), `"nextPage":"`)
		token, _, more = strings.Cut(rest, `"`)
		more = more && found && token != ""
	}
	if n := x.Count(apisim.StreamProducts, "acme"); pages*1000 < n {
		b.Fatalf("%d pages of 1,000 have %d products", pages, n)
	}
	return cpu(b) - start
}

// cpu returns the CPU time that this process has used, the engine included.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
