package syncer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// chainSeeds is how many lists TestChainsAreWhole reads.
const chainSeeds = "SYNCER_CHAIN_SEEDS" // default: see enginetest.Worlds

// TestChainsAreWhole reads lists that move between any two pages, without a warehouse: a chain that has no gap has
// every row that did not change while it was read (syncer-11), whatever the order of the list and the kind of its
// cursors. A chain may be given up with a gap, or after maxRefusals in a row: what each cursor names has gone before it
// is asked for.
func TestChainsAreWhole(t *testing.T) {
	enginetest.Long(t)
	var gaps, chains atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for seed := range numberFrom(t, chainSeeds, uint64(enginetest.Worlds(30, 400))) {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				if readMovingChain(t, seed) {
					gaps.Add(1)
				}
				chains.Add(1)
			})
		}
	})
	t.Logf("%d chains, %d of them with a gap", chains.Load(), gaps.Load())
	if gaps.Load()*2 > chains.Load() {
		t.Error("most chains have a gap: that says little")
	}
}

// readMovingChain reads one list, and reports whether it has a gap.
func readMovingChain(t *testing.T, seed uint64) (gap bool) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 11))
	stream := []string{"transactions", "coupons"}[chance.IntN(2)]
	o := tinyWorld(seed, "acme")
	o.Coupons, o.Transactions, o.Products = 20+chance.IntN(150), 20+chance.IntN(150), -1
	o.Settings = apisim.Settings{
		PageSize: 1 + chance.IntN(12), Order: apisim.Order(chance.IntN(5)), Cursor: apisim.CursorKind(chance.IntN(4)),
		UnknownCursor: apisim.UnknownCursor(chance.IntN(4)), CursorMustMatch: chance.IntN(2) == 0,
		DateSkew: []time.Duration{0, 0, time.Hour, -time.Hour}[chance.IntN(4)],
		Movement: apisim.Movement{
			Seed: seed, PerPage: []float64{.02, .1, .5, 2}[chance.IntN(4)], Aim: chance.Float64() * float64(chance.IntN(2)),
			Insert: 1,
			Update: float64(1 + chance.IntN(3)), Delete: float64(chance.IntN(3)), Return: float64(chance.IntN(2)),
			Step: time.Millisecond, MaxEvents: 400,
		},
	}
	if stream == "coupons" { // with other cursors nothing is promised of lists that are read anew each time
		o.Settings.Cursor = apisim.CursorNextID
	}
	x := serve(t, o)
	job := x.jobs(t, "acme", stream)[0]
	r := newTestReader(job)
	var after time.Time
	if stream == "transactions" && chance.IntN(2) == 0 {
		after = x.Now().Add(-time.Duration(chance.IntN(300*24)) * time.Hour)
		if chance.IntN(2) == 0 {
			r.before = x.Now().Add(-time.Duration(chance.IntN(30*24)) * time.Hour)
		}
	}
	before := truthRows(t, x, stream, "acme")
	read, c := collect(t, r, after, func(c *chain) error {
		err := c.read("")
		api, is := errors.AsType[*dealapi.Error](err)
		if is && api.CursorRefused() && c.refused >= maxRefusals {
			c.gap, err = err.Error(), nil
		}
		return err
	})
	for id, row := range truthRows(t, x, stream, "acme") {
		at := updatedAt(t, row)
		if old := before[id]; old == nil || !updatedAt(t, old).Equal(at) || !after.IsZero() && !at.After(after) ||
			!r.before.IsZero() && !at.Before(r.before) {
			continue
		}
		if !read[id] && c.gap == "" {
			t.Fatalf("%s, %+v, after %s, before %s: %s was not read, and stood still: %d pages, %d repairs, kind %d", stream,
				o.Settings, after, r.before, id, c.pages, c.repairs, c.kind)
		}
	}
	return c.gap != ""
}

// newTestReader reads a list without a warehouse.
func newTestReader(job Job) *pageReader {
	s := &Syncer{tools{log: slog.New(slog.DiscardHandler), progress: func(Progress) {}, local: time.Now,
		said: &sync.Map{}}}
	x := s.newSession(job)
	return &pageReader{session: x, run: x.run, batchBytes: batchBytes, report: func() {}}
}

// collect reads a chain to its end, and returns the ids that it read.
func collect(t *testing.T, r *pageReader, after time.Time, read func(*chain) error) (map[string]bool, *chain) {
	t.Helper()
	ids := map[string]bool{}
	full, empty := make(chan filled), make(chan *decode.Batch, 2)
	empty <- decode.NewBatch(r.run.Stream)
	empty <- decode.NewBatch(r.run.Stream)
	d := &pager{reader: r, staging: t.Context(), fetching: t.Context(), seen: newSeen(), after: after, full: full,
		empty: empty, decoder: decode.New(r.run.Stream)}
	var c *chain
	var failed error
	go func() {
		defer close(full)
		failed = d.read(func(of *chain) error {
			c = of
			return read(c)
		})
	}()
	for f := range full {
		for row := range f.batch.Len() {
			ids[f.batch.Key(row)] = true
		}
		if !f.last {
			f.batch.Reset()
			empty <- f.batch
		}
	}
	if failed != nil && context.Cause(t.Context()) == nil {
		t.Fatal(fmt.Errorf("%s: %w", r.run.Stream.Name, failed))
	}
	return ids, c
}
