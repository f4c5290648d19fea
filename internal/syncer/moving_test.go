package syncer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// Lists that move while they are read, from seeds: how many, and the first of them.
const (
	movingSeeds = "SYNCER_MOVING_SEEDS" // default: see enginetest.Worlds
	movingSeed  = "SYNCER_MOVING_SEED"  // default 4, a small one, or 1 in a wide sample
)

func numberFrom(t *testing.T, name string, standard uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return standard
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestMovingLists reads lists that move between any two pages, in each order, with each kind of cursor. After each
// run, everything up to the watermark is loaded, and no row is gone that the service had all the time. After a quiet
// run the views equal the truth.
func TestMovingLists(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	first := numberFrom(t, movingSeed, uint64(enginetest.Sample(4, 1)))
	var incomplete, runs atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+numberFrom(t, movingSeeds, uint64(enginetest.Worlds(1, 16))); seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				beside(t)
				m := newMoving(t, w, seed)
				m.play()
				incomplete.Add(m.incomplete)
				runs.Add(m.runs)
			})
		}
	})
	t.Logf("%d runs, %d of them incomplete", runs.Load(), incomplete.Load())
}

// moving is a list that moves, and what reads it.
type moving struct {
	*testing.T
	*world
	w          *warehouse.Warehouse
	chance     *rand.Rand
	stream     string
	account    string
	job        Job
	syncer     *Syncer
	movement   apisim.Movement
	what       string
	runs       int64
	incomplete int64
}

func newMoving(t *testing.T, w *warehouse.Warehouse, seed uint64) *moving {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 14))
	m := &moving{T: t, w: w, chance: chance, account: fmt.Sprintf("m%d", seed)}
	m.stream = []string{"transactions", "transactions", "coupons", "products"}[chance.IntN(4)]
	o := tinyWorld(seed, m.account)
	o.Coupons, o.Transactions, o.Products = 30+chance.IntN(40), 40+chance.IntN(60), 20+chance.IntN(30)
	o.Settings = apisim.Settings{
		PageSize: []int{1, 3, 7, 20}[chance.IntN(4)], Order: apisim.Order(chance.IntN(5)),
		Cursor: apisim.CursorKind(max(0, chance.IntN(7)-3)), UnknownCursor: apisim.UnknownCursor(chance.IntN(4)),
		CursorMustMatch: chance.IntN(2) == 0, FeedOffsets: chance.IntN(2) == 0,
		DateSkew: []time.Duration{0, 0, time.Hour, -time.Hour}[chance.IntN(4)],
	}
	// The clock of the service moves with the events, and must not get far ahead of ours.
	m.movement = apisim.Movement{
		Seed: seed, PerPage: []float64{.05, .3, 1, 3}[chance.IntN(4)], Aim: []float64{0, .3, 1}[chance.IntN(3)],
		Insert: 1, Update: 2, Delete: float64(chance.IntN(2)), Step: time.Millisecond, MaxEvents: 300,
	}
	m.world = serve(t, o)
	m.what = fmt.Sprintf("%s, %s, cursor %s, unknown %s, match %t, pages of %d, %+v", m.stream, o.Settings.Order,
		o.Settings.Cursor,
		o.Settings.UnknownCursor, o.Settings.CursorMustMatch, o.Settings.PageSize, m.movement)
	m.job = m.jobs(t, m.account, m.stream)[0]
	m.job.AllowMassDelete, m.job.DeleteAfterLists, m.job.BatchRows = true, 2, 16
	if m.stream == "products" {
		// A feed without ids, which is cut into pages at the very items that vanish, can hide a product any number of times.
		m.movement.Aim = 0
		m.movement.PerPage = min(m.movement.PerPage, .3)
		m.job.DeleteAfterLists = 4
	}
	var err error
	if m.syncer, err = New(Options{Warehouse: w, Grace: patience}); err != nil {
		t.Fatal(err)
	}
	return m
}

// play is one history: some runs while the list moves, each followed by a look, and quiet ones after that.
func (m *moving) play() {
	if m.stream == "transactions" && m.chance.IntN(3) == 0 {
		m.job.InitialFrom = m.Now().Add(-time.Duration(1+m.chance.IntN(400)) * 24 * time.Hour)
	}
	for range 1 + m.chance.IntN(3) {
		if m.chance.IntN(2) == 0 {
			m.Advance(time.Duration(m.chance.IntN(40)) * time.Hour)
		}
		m.move(true)
		m.run(m.chance.IntN(3) == 0)
	}
	m.move(false)
	if m.stream == "transactions" {
		m.run(false)
		missing(m, m.truth(), m.shown(), time.Time{})
	}
	for range m.job.DeleteAfterLists {
		m.run(true)
	}
	if d := cmp.Diff(truthRows(m.T, m.world, m.stream, m.account), m.shown()); d != "" {
		m.Errorf("%s: after quiet runs the view differs from the truth (-truth +view):\n%.2000s", m.what, d)
	}
}

func (m *moving) move(on bool) {
	movement := m.movement
	if !on {
		movement = apisim.Movement{}
	}
	if err := m.SetMovement(movement); err != nil {
		m.Fatal(err)
	}
}

func (m *moving) truth() map[string]map[string]string {
	rows := truthRows(m.T, m.world, m.stream, m.account)
	if from := m.job.InitialFrom; !from.IsZero() {
		maps.DeleteFunc(rows, func(_ string, row map[string]string) bool { return updatedAt(m.T, row).Before(from) })
	}
	return rows
}

func (m *moving) shown() map[string]map[string]string {
	return shownRows(m.T, m.w, m.stream, m.account)
}

// run makes a run, and looks at what readers see after it.
func (m *moving) run(full bool) {
	before, known := truthRows(m.T, m.world, m.stream, m.account), m.shown()
	job := m.job
	job.Full = full
	record, err := m.syncer.Run(m.Context(), job)
	m.runs++
	incomplete, moved := errors.AsType[*IncompleteError](err)
	switch {
	case moved:
		m.incomplete++
		if record.Outcome != warehouse.OutcomeIncomplete || m.Settings().Movement.PerPage == 0 {
			m.Errorf("%s: %v, outcome %s", m.what, incomplete, record.Outcome)
		}
	case err != nil:
		m.Fatalf("%s: %v", m.what, err)
	}
	after, shown := truthRows(m.T, m.world, m.stream, m.account), m.shown()
	for key := range known {
		if before[key] != nil && after[key] != nil && shown[key] == nil {
			m.Errorf("%s: %s was deleted, and the service has it: run %+v", m.what, key, record)
		}
	}
	if until := record.Watermark; !until.IsZero() {
		if m.Settings().DateSkew > 0 { // the start of the run is not known: the overlap of the next one makes up for that
			until = until.Add(-catalog.DefaultOverlap)
		}
		missing(m, m.truth(), shown, until)
	}
}

// missing wants every row that has not changed after a time (zero: every row) to be shown as the truth has it.
func missing(m *moving, truth, shown map[string]map[string]string, until time.Time) {
	for key, row := range truth {
		if !until.IsZero() && updatedAt(m.T, row).After(until) {
			continue
		}
		if d := cmp.Diff(row, shown[key]); d != "" {
			m.Errorf("%s: watermark %s, %s: (-truth +view)\n%s", m.what, until, key, d)
			return
		}
	}
}

func updatedAt(t *testing.T, row map[string]string) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.000"} {
		if at, err := time.Parse(layout, row["updated_at"]); err == nil {
			return at
		}
	}
	t.Fatalf("updated_at is %q", row["updated_at"])
	return time.Time{}
}

// TestMovingBackfill backfills a range while its rows leave it, in ordinary keyset SQL: a cursor whose row has left the
// window marks the place that it would have, which is the end. A window that lacks a row of the range is not done. For
// wide samples: TestMovingLists moves rows while they are read.
func TestMovingBackfill(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	for i, order := range []apisim.Order{apisim.ByUpdatedAsc, apisim.ByUpdatedDesc, apisim.ByID, apisim.Drifting} {
		for _, match := range []bool{false, true} {
			if (match != (i%2 == 0) || i%3 == 0) && !enginetest.Wide() {
				continue
			}
			t.Run(fmt.Sprintf("%s match %t", order, match), func(t *testing.T) {
				t.Parallel()
				account := fmt.Sprintf("b%d%t", i, match)
				o := tinyWorld(uint64(i), account)
				o.Transactions = 300
				o.Settings = apisim.Settings{PageSize: 9, Order: order, CursorMustMatch: match, UnknownCursor: apisim.UnknownEmpty,
					Movement: apisim.Movement{Seed: 5, PerPage: 1, Aim: .5, Update: 1, Step: time.Millisecond, MaxEvents: 60}}
				x := serve(t, o)
				from, to := x.Now().Add(-400*24*time.Hour), x.Now()
				job := x.jobs(t, account, "transactions")[0]
				s, err := New(Options{Warehouse: w, Grace: patience})
				if err != nil {
					t.Fatal(err)
				}
				for range 20 {
					record, err := s.Backfill(t.Context(), job, Range{From: from, To: to, Window: 200 * 24 * time.Hour, Parallel: 2})
					if _, moved := errors.AsType[*IncompleteError](err); err != nil && !moved {
						t.Fatal(err)
					}
					if err == nil && record.Done == record.Windows {
						break
					}
				}
				truth, shown := truthRows(t, x, "transactions", account), shownRows(t, w, "transactions", account)
				for key, row := range truth {
					if updatedAt(t, row).Before(to) && updatedAt(t, row).After(from) {
						if d := cmp.Diff(row, shown[key]); d != "" {
							t.Fatalf("%d of %d rows: %s (-truth +view)\n%s", len(shown), len(truth), key, d)
						}
					}
				}
			})
		}
	}
}
