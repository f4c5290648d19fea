package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// matrixStep is a step of a run, and the point of the seam where it happens.
type matrixStep struct {
	name    string
	point   string // {stream}: its name
	heals   bool   // a fault that happens once is retried
	visible bool   // when the run ends here, what it read may be visible
	done    bool   // only clearing up is left, which the next run does if this one cannot
}

// matrixSteps are the steps of a run in their order. The matrix combines each step with each fault
// and each kind of stream.
var matrixSteps = []matrixStep{
	{name: "lease", point: "INSERT sync_state_log lease"},
	{name: "run row", point: "INSERT sync_runs_log", visible: true},
	{name: "request", point: "request", heals: true},
	{name: "body", point: "body", heals: true},
	{name: "stage", point: "INSERT {stream}_staging"},
	{name: "checkpoint", point: "INSERT sync_state_log checkpoint"},
	{name: "changes", point: "INSERT {stream}_changes"},
	{name: "delta", point: "INSERT {stream}_delta"},
	{name: "intent", point: "INSERT sync_state_log intent"},
	{name: "history", point: "ALTER TABLE {stream}_versions ATTACH"},
	{name: "latest", point: "ALTER TABLE {stream}_latest ATTACH", visible: true},
	{name: "keys", point: "ALTER TABLE {stream}_keys ATTACH", visible: true},
	{name: "prices", point: "ALTER TABLE product_prices_latest ATTACH", visible: true},
	{name: "state", point: "INSERT sync_state_log intent cleared", visible: true},
	{name: "drop staging", point: "ALTER TABLE {stream}_staging DROP", visible: true, done: true},
	{name: "release", point: "INSERT sync_state_log lease cleared", visible: true, done: true},
}

// at returns the point of the seam for a stream, "" if the stream has no such step.
func (s matrixStep) at(stream string) string {
	walk := stream == "products"
	if s.name == "keys" && stream != "transactions" {
		return ""
	}
	if walk && s.name == "history" || !walk && (s.name == "prices" || s.name == "checkpoint") {
		return ""
	}
	return strings.ReplaceAll(s.point, "{stream}", stream)
}

// wholeMatrix asks for every cell: each step of each kind of stream with each fault. Without it, every twelfth is
// tried: each step for one kind or two, with one of the faults, and with another one for the next.
const wholeMatrix = "SYNCER_MATRIX"

// inShortForm picks the cells that are tried when the whole matrix is not asked for.
func inShortForm(kind, step, fault int) bool {
	return os.Getenv(wholeMatrix) != "" || (kind+step+fault)%4 == 0 && (step+2*kind)%3 == 2
}

// inFewest picks, from the cells in short form, those that are tried without a wide sample: every fourth step for one
// kind, and every second step of a walk.
func inFewest(kind, step int) bool {
	walk := kinds[kind] == "products"
	if enginetest.Wide() || os.Getenv(wholeMatrix) != "" || walk && step%4 == 1 {
		return true
	}
	return step%4 == 0 && (step%3 != 2 || walk == (step%4 == 0))
}

// chosenKinds returns all kinds of stream in a wide sample, else one that keeps state: an incremental one for even
// numbers, a walk for odd ones.
func chosenKinds(number int) []string {
	if enginetest.Wide() {
		return kinds
	}
	return []string{kinds[2+number%2]}
}

// TestFaultMatrix lets every step of every kind of run fail: once, always, with an answer that is lost, and by standing
// still until the run is stopped. The run ends as documented, readers see the old state or the new one, and after one
// clean run everything is as if nothing had happened. Kills are in TestKillMatrix.
func TestFaultMatrix(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for kind, stream := range kinds {
		if !enginetest.Wide() && stream == "coupons" {
			continue // the smallest sample has the kinds that keep state, and the list that is a bare array
		}
		t.Run(stream, func(t *testing.T) {
			beside(t)
			x := serve(t, tinyWorld(11, stream))
			c := cell{world: x, store: w, worker: newWorker(t, x, w.Database(), stream, clocks{}), stream: stream}
			c.clean(t)
			for number, step := range matrixSteps {
				for i, fault := range []string{"once", "always", "lost", "hang"} {
					if step.at(stream) == "" || !inShortForm(kind, number, i) || !inFewest(kind, number) {
						continue
					}
					t.Run(step.name+"/"+fault, func(t *testing.T) { c.fail(t, step, fault) })
					if t.Failed() {
						t.Fatal("what comes after this says nothing")
					}
				}
			}
			checkHistory(t, w, stream, stream)
		})
	}
}

// cell is a row of the matrix: one stream, whose account has its name.
type cell struct {
	*world
	*worker
	store  *warehouse.Warehouse // without a seam
	stream string
	turns  int
}

// clean makes a run without a fault, after which nothing is left of the faults before it.
func (c *cell) clean(t *testing.T) {
	t.Helper()
	if _, err := c.Run(t.Context(), c.job(t, c.stream, c.stream)); err != nil {
		t.Fatalf("the clean run: %v", err)
	}
	checkTruth(t, c.store, c.world, c.stream, c.stream)
	checkTidy(t, c.store, c.stream, c.stream)
}

func (c *cell) fail(t *testing.T, step matrixStep, fault string) {
	t.Helper()
	c.turn(t, c.stream, c.turns)
	c.turns++
	before, after := shownRows(t, c.store, c.stream, c.stream), truthRows(t, c.world, c.stream, c.stream)
	release := fault == "hang" && step.name == "release"
	if fault == "hang" {
		c.grace, c.cleanupTimeout = 50*time.Millisecond, 2*time.Second // what hangs here never ends by itself
		if release {
			c.grace = c.cleanupTimeout // releasing is limited from its beginning, not from when the run is stopped
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var hits atomic.Int64
	c.seam.set(inject(step.at(c.stream), fault, cancel, &hits))
	_, err := c.Run(ctx, c.job(t, c.stream, c.stream))
	for release && hits.Load() == 0 { // on a slow machine, checking the lease takes longer than that
		expireLeases(t, c.store, c.stream)
		c.grace *= 2
		_, err = c.Run(ctx, c.job(t, c.stream, c.stream))
	}
	c.seam.set(nil)
	c.grace, c.cleanupTimeout = patience, patience
	if hits.Load() == 0 {
		t.Errorf("the run never came to %q", step.at(c.stream))
	}
	checkEnd(t, step, fault, err)
	got := shownRows(t, c.store, c.stream, c.stream)
	if !cmp.Equal(got, before) && (!cmp.Equal(got, after) || !step.visible && err != nil) {
		t.Errorf("readers see neither the old nor the new rows: %s", cmp.Diff(before, got))
	}
	expireLeases(t, c.store, c.stream)
	c.clean(t)
}

// inject makes the hook of a fault. A run that hangs is stopped by its context, as a deadline would.
func inject(point, fault string, stop context.CancelFunc, hits *atomic.Int64) hook {
	return func(ctx context.Context, step string, after bool) error {
		if step != point || after != (fault == "lost") {
			return nil
		}
		n := hits.Add(1)
		switch {
		case fault == "hang":
			stop()
			<-ctx.Done()
			return ctx.Err()
		case fault == "always" || n == 1:
			return fmt.Errorf("%w: %s", errInjected, point)
		}
		return nil
	}
}

// checkEnd wants the run to end as documented.
func checkEnd(t *testing.T, step matrixStep, fault string, err error) {
	t.Helper()
	var api *dealapi.Error
	switch {
	case step.heals && (fault == "once" || fault == "lost"), step.done:
		if err != nil {
			t.Errorf("%s: %v", fault, err)
		}
	case fault == "hang":
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
			(!errors.As(err, &api) || api.Kind != dealapi.KindCanceled) {
			t.Errorf("%s: %v", fault, err)
		}
	case step.heals:
		if !errors.As(err, &api) || api.Kind != dealapi.KindNetwork {
			t.Errorf("%s: %v", fault, err)
		}
	case !errors.Is(err, errInjected):
		t.Errorf("%s: %v", fault, err)
	}
}

// TestDecodeFaults covers the step that touches nothing outside: pages whose items are no records, once and always, and
// a run that is stopped while it decodes.
func TestDecodeFaults(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for _, stream := range chosenKinds(0) {
		t.Run(stream, func(t *testing.T) {
			beside(t)
			x := serve(t, tinyWorld(12, stream))
			v := newWorker(t, x, w.Database(), stream, clocks{})
			job := v.job(t, stream, stream)
			if _, err := v.Run(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			body := `{"data":["no record"]}`
			if stream == "payouts" {
				body = `["no record"]`
			}
			for i, times := range enginetest.Spread([]int{1 << 30, 1}, 1) {
				x.turn(t, stream, i)
				before := shownRows(t, w, stream, stream)
				left := times
				x.SetFault(func(*http.Request) apisim.Fault {
					if left--; left < 0 {
						return apisim.Fault{}
					}
					return apisim.Fault{Kind: apisim.FaultInvalidJSON, Body: body}
				})
				var guard *GuardError
				if _, err := v.Run(t.Context(), job); !errors.As(err, &guard) {
					t.Errorf("%v", err)
				}
				x.SetFault(nil)
				if d := cmp.Diff(before, shownRows(t, w, stream, stream)); d != "" {
					t.Error(d)
				}
				if _, err := v.Run(t.Context(), job); err != nil {
					t.Fatal(err)
				}
				checkTruth(t, w, x, stream, stream)
				checkTidy(t, w, stream, stream)
			}
			x.turn(t, stream, 2)
			ctx, cancel := context.WithCancel(t.Context())
			v.seam.set(func(_ context.Context, step string, _ bool) error {
				if step == "decode" {
					cancel()
				}
				return nil
			})
			if _, err := v.Run(ctx, job); err == nil { // a run that is stopped after its last page is finished
				checkTruth(t, w, x, stream, stream)
			} else if stream == "payouts" {
				t.Errorf("all of the list was read: %v", err)
			}
			v.seam.set(nil)
			if _, err := v.Run(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			checkTruth(t, w, x, stream, stream)
			checkTidy(t, w, stream, stream)
			checkDerived(t, w, stream, stream)
		})
	}
}
