package syncer

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestRunEndsWithItsPublication lets an ATTACH take a minute and a half. The run ends after that, in the record that it
// returns and in sync_runs, but its rows are dated before. If the clock is set back meanwhile, the run still does not
// end before that date. A run that another process finishes ends at the date of its rows.
func TestRunEndsWithItsPublication(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const stream, slow = "coupons", 90 * time.Second
	x, w := serve(t, tinyWorld(21, stream)), open(t)
	v := newWorker(t, x, w.Database(), stream, clocks{})
	var ahead atomic.Int64
	v.local = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	attach := func(after time.Duration, fail error) {
		v.seam.set(func(_ context.Context, step string, done bool) error {
			if step == "ALTER TABLE coupons_latest ATTACH" && done {
				ahead.Add(int64(after))
				return fail
			}
			return nil
		})
	}
	late := func() time.Duration { // how long after the date of its rows the last run ended
		ms, err := strconv.Atoi(one(t, w, `SELECT dateDiff('millisecond', (SELECT max(synced_at) FROM coupons_latest), finished_at)
FROM sync_runs ORDER BY started_at DESC LIMIT 1`))
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(ms) * time.Millisecond
	}

	attach(slow, nil)
	record, err := v.Run(t.Context(), v.job(t, stream, stream))
	if err != nil {
		t.Fatal(err)
	}
	if d := record.FinishedAt.Sub(record.StartedAt); d < slow || d > slow+patience {
		t.Errorf("the record says %v", d)
	}
	stored := record.FinishedAt.UTC().Truncate(time.Millisecond).Format("2006-01-02 15:04:05.000")
	if s := one(t, w, "SELECT finished_at FROM sync_runs"); s != stored {
		t.Errorf("sync_runs has %s, the record %s", s, stored)
	}
	if d := late(); d < slow || d > slow+patience {
		t.Errorf("the rows are dated %v before the end", d)
	}

	attach(-2*slow, nil)
	x.turn(t, stream, 1)
	if record, err = v.Run(t.Context(), v.job(t, stream, stream)); err != nil {
		t.Fatal(err)
	}
	if d := late(); d != 0 || record.FinishedAt.Before(record.StartedAt) {
		t.Errorf("with a clock set back the run ended %v after its rows are dated", d)
	}

	attach(slow, errInjected)
	x.turn(t, stream, 2)
	if _, err = v.Run(t.Context(), v.job(t, stream, stream)); err == nil {
		t.Fatal("the run succeeded")
	}
	v.seam.set(nil)
	expireLeases(t, w, stream)
	recovered, err := w.RecoverAll(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Record.Outcome != warehouse.OutcomeSuccess {
		t.Fatalf("%v, %v", recovered, err)
	}
	if d := late(); d != 0 {
		t.Errorf("the run that was finished ended %v after its rows are dated", d)
	}
}
