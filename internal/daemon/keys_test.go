//go:build !noengine

package daemon

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestChangedKeyIsTried: a stream whose key was refused runs again as soon as the key has changed, though it would wait
// for half an hour. Streams that fail for other reasons do not.
func TestChangedKeyIsTried(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	var key atomic.Value
	key.Store("old")
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: "http://127.0.0.1:1", Key: "old",
		KeyAgain: func() (string, error) { return key.Load().(string), nil }})
	if err != nil {
		t.Fatal(err)
	}
	plan := hourly(t, "coupons", "promotions", "payouts")
	for i := range plan.Streams {
		plan.Streams[i].Job.Client = client
	}
	looks := make(chan time.Time)
	b := start(t, plan, func(_ *bed, o *Options) { o.Warehouse, o.looks = open(t), looks })
	refused := &dealapi.Error{Kind: dealapi.KindAuth, Account: "acme", Status: 401}
	for range plan.Streams {
		a := <-b.begun
		var err error = refused
		if a.job.Stream.Name == "payouts" {
			err = errors.New("something else")
		}
		b.finishAs(a, func() (warehouse.RunRecord, error) { return warehouse.RunRecord{}, err })
	}
	b.until("all have ended", b.allIdle)
	looks <- time.Now()
	looks <- time.Now() // the first look has ended
	b.idle()
	key.Store("new")
	looks <- time.Now()
	for range 2 {
		a := <-b.begun
		if a.job.Stream.Name == "payouts" {
			t.Error("what failed by something else runs again")
		}
		b.finish(a)
	}
	looks <- time.Now()
	looks <- time.Now()
	b.idle()
}
