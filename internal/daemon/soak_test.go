//go:build soak && !noengine

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// TestSoak runs the daemon for SOAK_SECONDS (60), with every stream every few seconds, against a service whose world
// changes and at which every twentieth request goes wrong. Nothing may grow after the first third, every scheduled run
// has a row in sync_runs, and in the end the views equal the truth.
func TestSoak(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("SOAK_SECONDS"))
	if err != nil {
		seconds = 60
	}
	length := time.Duration(seconds) * time.Second
	s := newSoak(t)
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.Context()))
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	sampled := time.NewTicker(length / 60)
	defer sampled.Stop()
	var samples []sample
	for end := time.Now().Add(length); time.Now().Before(end); {
		select {
		case <-sampled.C:
			s.sim.Advance(37 * time.Minute)
			samples = append(samples, s.sample(t))
		case err := <-ended:
			t.Fatalf("the daemon ended by itself: %v", err)
		}
	}
	s.sim.SetFault(nil)
	s.settle(t)
	stop(errors.New("the soak is over"))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	checkGrowth(t, samples)
	s.checkRuns(t)
	s.checkViews(t)
	t.Logf("%d runs begun, %d faults; last sample %+v of %d", s.begun.Load(), s.faults.Load(), samples[len(samples)-1],
		len(samples))
}

// soak is a daemon on a world that changes.
type soak struct {
	*Daemon
	sim      *apisim.Sim
	store    *warehouse.Warehouse
	registry *prometheus.Registry
	accounts []string
	begun    atomic.Int64 // runs
	faults   atomic.Int64

	mu       sync.Mutex
	outcomes map[uuid.UUID]string // of the runs that have ended
	early    int                  // runs that ended before they had a row in sync_runs
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	sim, err := apisim.New(apisim.Options{
		Retailers: 30, Promotions: 40, Coupons: 60, CashbackOffers: 50, Transactions: 200, Products: 80, HistoryDays: 3,
		Settings: apisim.Settings{PageSize: 25},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{sim: sim, registry: prometheus.NewRegistry(), accounts: sim.Orgs(), outcomes: map[uuid.UUID]string{}}
	sim.SetFault(s.fault)
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	metrics := NewMetrics(s.registry, Build{Version: "soak"}, nil)
	if s.store, err = warehouse.Open(t.Context(),
		warehouse.Options{DSN: enginetest.DSN(), Database: "soak", Metrics: metrics.Warehouse}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan := &Plan{Grace: time.Minute}
	for i, account := range s.accounts {
		key, _ := sim.Keys(account)
		client, err := dealapi.New(dealapi.Options{Account: account, BaseURL: server.URL, Key: key, Metrics: metrics.API,
			Backoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond, Timeout: 2 * time.Second,
			MaxAttempts: 1 + 2*i, // one account repeats nothing, so that runs fail
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		for i, stream := range catalog.All() {
			p := planned(t, account, stream.Name, fmt.Sprintf("@every %ds", 3+i%3), "")
			if stream.Kind == catalog.Incremental {
				p.Resync = schedule(t, "@every 20s", "UTC")
			}
			p.Job.Client, p.Job.MaxDeleteRatio = client, 1
			plan.Streams = append(plan.Streams, p)
		}
	}
	logger := slog.New(slog.DiscardHandler)
	if s.Daemon, err = New(Options{Warehouse: s.store, Plan: plan, Metrics: metrics, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	run := s.o.run
	s.o.run = func(ctx context.Context, job syncer.Job) (warehouse.RunRecord, error) {
		s.begun.Add(1)
		record, err := run(ctx, job)
		s.mu.Lock()
		defer s.mu.Unlock()
		if record.StartedAt.IsZero() {
			s.early++
		} else {
			s.outcomes[record.RunID] = record.Outcome
		}
		return record, err
	}
	return s
}

// fault lets one request in twenty go wrong, in every possible way.
func (s *soak) fault(*http.Request) apisim.Fault {
	if rand.IntN(20) > 0 {
		return apisim.Fault{}
	}
	s.faults.Add(1)
	return []apisim.Fault{
		{Kind: apisim.FaultStatus, Status: http.StatusInternalServerError},
		{Kind: apisim.FaultStatus, Status: http.StatusTooManyRequests},
		{Kind: apisim.FaultCut, After: 200},
		{Kind: apisim.FaultDrop},
		{Kind: apisim.FaultInvalidJSON},
		{Kind: apisim.FaultErrorObject},
		{Kind: apisim.FaultHang},
		{Delay: 300 * time.Millisecond},
	}[rand.IntN(8)]
}

// sample has the numbers that must not grow.
type sample struct {
	goroutines, files int
	heap              uint64
}

func (s *soak) sample(t *testing.T) sample {
	t.Helper()
	const open = "/proc/self/fd"
	entries, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		// The engine is in this process only in tests: the parts that it merges and its threads, whose statistics it
		// reads from /proc, are not ours.
		target, err := os.Readlink(filepath.Join(open, e.Name()))
		if err == nil && !strings.HasPrefix(target, enginetest.Folder()) && !strings.HasPrefix(target, "/proc/") {
			files++
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sample{goroutines: runtime.NumGoroutine(), files: files, heap: m.HeapAlloc}
}

// checkGrowth compares the last third with the one after the warm-up. What runs differs from moment to moment, so it
// compares the medians, and allows some growth.
func checkGrowth(t *testing.T, samples []sample) {
	t.Helper()
	third := len(samples) / 3
	if third < 5 {
		t.Fatalf("only %d samples", len(samples))
	}
	middle, last := samples[third:2*third], samples[2*third:]
	for _, what := range []struct {
		name  string
		of    func(sample) float64
		slack float64
	}{
		{"goroutines", func(s sample) float64 { return float64(s.goroutines) }, 25},
		{"open files", func(s sample) float64 { return float64(s.files) }, 25},
		{"heap", func(s sample) float64 { return float64(s.heap) }, 16 << 20},
	} {
		before, after := median(middle, what.of), median(last, what.of)
		t.Logf("%s: %.0f in the second third, %.0f in the last", what.name, before, after)
		if after > before*1.2+what.slack {
			t.Errorf("%s grew from %.0f to %.0f", what.name, before, after)
		}
	}
}

func median(samples []sample, of func(sample) float64) float64 {
	var all []float64
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// settle waits until each stream has succeeded once more, now that nothing goes wrong.
func (s *soak) settle(t *testing.T) {
	t.Helper()
	since := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		all, err := s.store.Standings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// A walk may be continued from before, and only a full read of transactions shows what vanished.
		late := slices.ContainsFunc(all, func(x warehouse.StreamStatus) bool {
			looked := x.LookedAt
			if x.Stream == "transactions" {
				looked = x.LastFull
			}
			return looked == nil || looked.Before(since)
		})
		if !late && len(all) == len(s.accounts)*len(catalog.All()) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not every stream succeeded after the faults: %+v", all)
		}
	}
}

// checkRuns wants every run that was begun to be in sync_runs, with its outcome. A continued walk is the same run as
// before, and has the outcome of its last attempt.
func (s *soak) checkRuns(t *testing.T) {
	t.Helper()
	rows, err := s.store.Conn().Query(t.Context(), "SELECT run_id, outcome FROM sync_runs")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := map[string]int{}
	for rows.Next() {
		var id uuid.UUID
		var outcome string
		if err := rows.Scan(&id, &outcome); err != nil {
			t.Fatal(err)
		}
		ended[outcome]++
		switch want, known := s.outcomes[id]; {
		case !known:
			s.early-- // the daemon's row for a run that had none of its own
		case want != outcome:
			t.Errorf("run %s ended as %q, and is %q in sync_runs", id, want, outcome)
		}
		delete(s.outcomes, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(s.outcomes) > 0 || s.early != 0 || ended[warehouse.OutcomeSuccess] == 0 {
		t.Errorf("runs that are not in sync_runs: %v, and %d that ended before they had begun there", s.outcomes, s.early)
	}
	t.Logf("outcomes: %v", ended)
}

// checkViews compares each view with the truth, by key and a telling field.
func (s *soak) checkViews(t *testing.T) {
	t.Helper()
	for _, account := range s.accounts {
		for _, stream := range catalog.Names() {
			columns, key, field := "toString(id) || ' ' || formatDateTime(updated_at, '%Y-%m-%dT%H:%i:%S.%fZ')", "id", "updatedAt"
			switch stream {
			case "payouts":
				columns, field = "toString(id) || ' ' || toString(total_transactions)", "totalTransactions"
			case "products":
				columns, key, field = "url || ' ' || name", "url", "name"
			}
			var want, have []string
			for record := range s.sim.Truth(stream, account) {
				var fields map[string]any
				d := json.NewDecoder(strings.NewReader(string(record)))
				d.UseNumber()
				if err := d.Decode(&fields); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprint(orEmpty(fields[key]), " ", orEmpty(fields[field])))
			}
			rows, err := s.store.Conn().Query(t.Context(), "SELECT "+columns+" FROM "+stream+" WHERE account = '"+account+"'")
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					t.Fatal(err)
				}
				have = append(have, strings.Replace(text, "000Z", "Z", 1))
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(want, have) {
				t.Errorf("%s of %s: %d rows upstream, %d in the view, and they differ", stream, account, len(want), len(have))
			}
		}
	}
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}
