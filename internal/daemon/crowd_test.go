//go:build !noengine

package daemon

import (
	"fmt"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// Fifty accounts that are all due begin a few runs at a time, and none is forgotten. Streams that are read for hours
// leave room for the others, and what an operator wants comes first (daemon-11).
func TestMostRunsAtOnce(t *testing.T) {
	enginetest.Long(t)
	plan := &Plan{MaxRuns: 8}
	for i := range 50 {
		for _, stream := range catalog.Names() {
			plan.Streams = append(plan.Streams, planned(t, fmt.Sprintf("account-%02d", i), stream, "@every 1h", ""))
		}
	}
	plan.Streams = append(plan.Streams, planned(t, "by hand", "coupons", "", ""))
	b := start(t, plan, nil)
	var under []*attempted
	began, walks := map[string]int{}, 0
	begin := func() {
		t.Helper()
		a := <-b.begun
		under = append(under, a)
		began[a.job.Account+" "+a.job.Stream.Name]++
		if a.job.Stream.Kind == catalog.Walk {
			walks++
		}
	}
	end := func(long bool) (walk bool) {
		t.Helper()
		for i, a := range under {
			if walk := a.job.Stream.Kind == catalog.Walk; !walk || long {
				under = append(under[:i:i], under[i+1:]...)
				if walk {
					walks--
				}
				b.finish(a)
				return walk
			}
		}
		return false
	}
	for range 8 {
		begin()
	}
	if n := b.running(); n != 8 || len(b.begun) > 0 {
		t.Fatalf("%d run at once, and %d have just begun", n, len(b.begun))
	}
	if waits := b.stream("account-40", "payouts"); !waits.Queued || b.stream("by hand", "coupons").Queued {
		t.Errorf("what waits is not shown as waiting: %+v", waits)
	}
	acted, err := b.Act(t.Context(), warehouse.Action{Action: warehouse.ActionRun, Account: "by hand", Stream: "coupons", Actor: "ops", Via: warehouse.ViaPage})
	if err != nil || acted.Text != "1 run of coupons of by hand will start when others have ended: as many as daemon.max_runs allows are under way." {
		t.Errorf("%+v, %v", acted, err)
	}
	end(false)
	begin()
	if began["by hand coupons"] != 1 {
		t.Error("what the operator wanted is not the next")
	}
	for len(began) < 50*5+4+1 { // the products that run keep four places
		end(false)
		begin()
		if n := b.running(); n > 8 || walks > 4 {
			t.Fatalf("%d run at once, %d of them for hours", n, walks)
		}
	}
	for len(began) < 301 {
		if end(true) { // no other stream waits
			begin()
		}
	}
	for stream, n := range began {
		if n != 1 {
			t.Errorf("%s began %d times", stream, n)
		}
	}
	b.advance(2 * time.Hour) // all are due again
	for b.running() > len(under) {
		begin()
	}
	b.stop(errTold)
	b.until("the daemon drains", func() bool { return b.draining.Load() })
	for len(under) > 0 {
		end(true)
	}
	if len(b.begun) > 0 {
		t.Error("a run began though the daemon ends")
	}
}

// running counts the runs under way.
func (b *bed) running() (n int) {
	for _, s := range b.Streams() {
		if s.Running != nil {
			n++
		}
	}
	return n
}
