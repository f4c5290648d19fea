package syncer

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// value returns the present value of a counter or a gauge.
func value(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		t.Fatal(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

// gathered returns the value of the only series of a metric, and false if there is none.
func gathered(t *testing.T, registry *prometheus.Registry, name string) (float64, bool) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue(), true
		}
	}
	return 0, false
}

// Records are counted when readers see them and the state has moved. They are counted once, whichever run finishes the
// publication. For wide samples: TestFinishedAtOpening finishes the publications of others.
func TestRecordsCountWhenTheyAreVisible(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	steps := []struct {
		point     string
		published bool // the next run finishes what this one began
	}{
		{"INSERT sync_state_log intent", false},
		{"ALTER TABLE coupons_latest ATTACH", true},
		{"INSERT sync_state_log intent cleared", true},
		{"INSERT coupons_staging", false},
		{"INSERT coupons_changes", false},
	}
	for _, step := range steps[:enginetest.Sample(3, len(steps))] {
		t.Run(step.point, func(t *testing.T) {
			w := open(t)
			x := serve(t, tinyWorld(13, "coupons"))
			c := cell{world: x, store: w, worker: newWorker(t, x, w.Database(), "coupons", clocks{}), stream: "coupons"}
			registry := prometheus.NewRegistry()
			c.metrics = NewMetrics(registry, nil)
			c.metrics.Expect("coupons", "coupons")
			c.seam.set(panicAt(step.point))
			if _, err := c.Run(t.Context(), c.job(t, "coupons", "coupons")); err == nil {
				t.Fatal("the run did not fail")
			}
			c.seam.set(nil)
			for _, vec := range []*prometheus.CounterVec{c.metrics.read, c.metrics.inserted, c.metrics.unchanged} {
				if n := value(t, vec.WithLabelValues("coupons", "coupons")); n != 0 {
					t.Errorf("%v records count that nobody sees", n)
				}
			}
			if v, _ := gathered(t, registry, "dealhouse_last_success_timestamp_seconds"); v != 0 {
				t.Errorf("the last success was at %v", v)
			}
			expireLeases(t, w, "coupons")
			c.clean(t)
			count, read := float64(x.Count("coupons", "")), 1.0
			if step.published {
				read = 2 // the run that was finished, and the one that finished it
			}
			if n := value(t, c.metrics.inserted.WithLabelValues("coupons", "coupons")); n != count {
				t.Errorf("%v inserted, of %v", n, count)
			}
			if n := value(t, c.metrics.read.WithLabelValues("coupons", "coupons")); n != read*count {
				t.Errorf("%v read, of %v", n, count)
			}
			if v, _ := gathered(t, registry, "dealhouse_live_rows"); v != count {
				t.Errorf("%v live, of %v", v, count)
			}
			failed, succeeded := c.metrics.runs.WithLabelValues("coupons", "coupons",
				"failed"), c.metrics.runs.WithLabelValues("coupons", "coupons", "success")
			if value(t, failed) != 1 || value(t, succeeded) != 1 {
				t.Errorf("%v failed, %v succeeded", value(t, failed), value(t, succeeded))
			}
		})
	}
}

// The lag is measured by the API's clock, and ages by the warehouse's. Both grow while nothing runs.
func TestLagAndAge(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	o := tinyWorld(14, "acme")
	o.Settings.DateSkew = 0
	x := serve(t, o)
	now := time.Now()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, func() time.Time { return now })
	m.Expect("acme", "transactions")
	if _, known := gathered(t, registry, "dealhouse_look_age_seconds"); known {
		t.Error("there is an age before the first success")
	}
	if _, known := gathered(t, registry, "dealhouse_watermark_lag_seconds"); known {
		t.Error("there is a lag before the first watermark")
	}
	s, err := New(Options{Warehouse: w, Grace: patience, Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	record, err := s.Run(t.Context(), x.jobs(t, "acme", "transactions")[0])
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(now).Seconds() // the clocks of the metrics and of the world stood still meanwhile
	lag, _ := gathered(t, registry, "dealhouse_watermark_lag_seconds")
	// The world's clock differs from ours, so only the API's clock gives a lag of this size.
	if want := x.Now().Sub(record.Watermark).Seconds(); math.Abs(lag-want) > 60+took {
		t.Errorf("the lag is %v s, by the API's clock %v s", lag, want)
	}
	before, _ := gathered(t, registry, "dealhouse_look_age_seconds")
	now = now.Add(time.Hour)
	if later, _ := gathered(t, registry, "dealhouse_watermark_lag_seconds"); later-lag != 3600 {
		t.Errorf("the lag grew by %v s in an hour", later-lag)
	}
	if age, _ := gathered(t, registry, "dealhouse_look_age_seconds"); math.Round(age-before) != 3600 {
		t.Errorf("the age grew by %v s in an hour", age-before)
	}

	// A new process learns the same from the warehouse.
	all, err := w.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again := prometheus.NewRegistry()
	m = NewMetrics(again, nil)
	m.Expect("acme", "transactions")
	m.Observe(all)
	for _, name := range []string{"dealhouse_last_success_timestamp_seconds", "dealhouse_watermark_timestamp_seconds",
		"dealhouse_live_rows", "dealhouse_last_attempt_timestamp_seconds"} {
		was, _ := gathered(t, registry, name)
		if is, _ := gathered(t, again, name); math.Abs(is-was) > 1+took || is == 0 {
			t.Errorf("%s was %v and is %v", name, was, is)
		}
	}
}

// A guard that stops a run is counted by its name. Fields that dealhouse does not know are counted too. For wide
// samples: it is about counting alone.
func TestTripsAndNoise(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	o := tinyWorld(15, "acme")
	o.Settings.ExtraFields, o.Settings.IgnoreDateFilters = true, true
	x := serve(t, o)
	m := NewMetrics(prometheus.NewRegistry(), nil)
	s, err := New(Options{Warehouse: w, Grace: patience, Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	jobs := x.jobs(t, "acme", "transactions", "coupons")
	for _, job := range append(jobs, jobs...) {
		if _, err := s.Run(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 { // among few records, some that cannot be loaded do not stop an incremental run
		if err := x.Append("transactions", "acme", fmt.Appendf(nil, `{"cashback":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if record, err := s.Run(t.Context(), jobs[0]); err != nil || record.Totals.Unloadable != 3 {
		t.Errorf("%+v, %v", record, err)
	}
	if n := value(t, m.unknown.WithLabelValues("acme", "coupons")); n == 0 {
		t.Error("unknown fields were not counted")
	}
	if n := value(t, m.ignored.WithLabelValues("acme", "transactions")); n != 2 {
		t.Errorf("the filter was ignored in %v runs, want all but the first", n)
	}
	guarded := jobs[1]
	guarded.MaxRejectedRatio = 0
	if err := x.Append("coupons", "", []byte(`{"code":"no id"}`)); err != nil {
		t.Fatal(err)
	}
	record, err := s.Run(t.Context(), guarded)
	if _, tripped := errors.AsType[*GuardError](err); !tripped || record.Outcome != warehouse.OutcomeGuarded {
		t.Fatalf("%+v, %v", record, err)
	}
	if n := value(t, m.trips.WithLabelValues("acme", "coupons", GuardRejects)); n != 1 {
		t.Errorf("%v trips", n)
	}
	if n := value(t, m.trips.WithLabelValues("acme", "coupons", GuardDeletes)); n != 0 {
		t.Errorf("%v trips of the other guard", n)
	}
}
