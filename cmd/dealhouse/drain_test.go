//go:build !noengine

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"dealhouse/internal/enginetest"
)

// A walk that is told to stop stages what it has read and saves its place: the next sync reads the rest. One that takes
// too long fails. For wide samples: TestDaemonDrain ends a daemon in the middle of a run.
func TestDrainedWalk(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	if err := b.sim.SetPageSize(10); err != nil {
		t.Fatal(err)
	}
	var pages atomic.Int64
	reached := make(chan struct{}, 1)
	b.sim.SetBefore(func(r *http.Request) {
		if pages.Add(1) == 6 { // of 9
			reached <- struct{}{}
			<-r.Context().Done()
		}
	})
	p := start(t, b.env, "sync", "products", "--account", "acme", "--config", b.config)
	p.reaches(t, reached)
	p.signal(t, syscall.SIGTERM)
	got := p.finish(t)
	got.want(t, 143, "stopped before the end")
	got.shows(t, "stopped")
	b.sim.SetBefore(nil)
	b.sim.ResetLog()
	engineTurn(t)
	rows, _ := b.sync(t, 0, "products", "--account", "acme")
	if n := b.sim.Requests("/v2/products"); n > 5 { // four were not read, and the last one of the others may have been under way
		t.Errorf("%d pages of 9 were read again after five", n)
	}
	if r := rows["acme products"]; r.Inserted != b.sim.Count("products", "acme") {
		t.Errorf("%+v", r)
	}

	// A deadline is no signal: the run has failed.
	b.sim.SetBefore(func(r *http.Request) { <-r.Context().Done() })
	late := call(t, slices.Concat(b.env, []string{"DEALHOUSE_DEFAULTS_RUN_TIMEOUT=100ms"}), "sync", "payouts", "--account",
		"acme", "--config", b.config)
	late.want(t, 1, "the run reached its time limit, run_timeout = 100ms")
	late.shows(t, "failed")
}

// gate stands before a warehouse and lets no insert into the staging table of coupons through while it is shut.
type gate struct {
	http.Handler
	reached chan struct{}
	open    chan struct{}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT INTO coupons_staging") {
		g.reached <- struct{}{}
		select {
		case <-g.open:
		case <-r.Context().Done():
			return
		}
	}
	g.Handler.ServeHTTP(w, r)
}

// A sync that is told to stop when it has read everything finishes what it has begun. Told twice, it ends at once, and
// the next one makes up for it. For wide samples: TestInterruptedSync is told to stop while it reads.
func TestSignalWhileWriting(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	warehouse := start(t, b.env, "serve-warehouse", "--allow-writes", "--listen", "127.0.0.1:0", "--config", b.config)
	target, err := url.Parse(warehouse.find(t, `on (http://\S+) \(reads and writes\)`)[1])
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	g := &gate{Handler: proxy, reached: make(chan struct{}), open: make(chan struct{})}
	door := httptest.NewServer(g)
	t.Cleanup(door.Close)
	env := slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=" + door.URL + "/dealhouse"})
	args := []string{"sync", "coupons", "--account", "acme", "--config", b.config}

	p := start(t, env, args...)
	p.reaches(t, g.reached)
	p.signal(t, syscall.SIGINT)
	p.signal(t, syscall.SIGTERM)
	got := p.finish(t)
	if (got.code != 130 && got.code != 143) || strings.Contains(got.out, "coupons") {
		t.Errorf("told twice to stop, it still drained: %+v", got)
	}

	p = start(t, env, args...)
	p.reaches(t, g.reached)
	p.signal(t, syscall.SIGTERM)
	close(g.open)
	got = p.finish(t)
	got.want(t, 0)
	got.shows(t, "success")
	count := call(t, env, "query", "SELECT count() FROM coupons", "-o", "csv", "--config", b.config)
	count.shows(t, fmt.Sprint(b.sim.Count("coupons", "acme")))
	warehouse.signal(t, syscall.SIGTERM)
	warehouse.finish(t).want(t, 143)
}
