package syncer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestClocks lets the clocks of a service, of its answers and of the warehouse go wrong, and old answers come, in ways
// that are written out. Afterwards, three runs put everything right.
func TestClocks(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const ahead = 3 * time.Hour
	cases := []struct {
		name string
		do   func(*testing.T, *clockWorld)
		says string // in a warning or an error of a run after that
	}{
		{"ahead and put right", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, ahead, 0)
			c.runs(t, 2)
			c.set(0, 0, 0)
			record, err := c.sync(t, "transactions", false)
			if said := strings.Join(record.Warnings, "; "); err != nil || !strings.Contains(said, "was never true") || c.mark(t).After(c.now()) {
				t.Errorf("the first run after that: %v, %q, with the watermark %v", err, said, c.mark(t))
			}
		}, ""},
		{"ahead by less than an hour", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(50*time.Minute, 50*time.Minute, 0)
			c.runs(t, 1)
			c.put(pathTransactions, 3)
			c.pass(time.Minute)
			for _, ahead := range []time.Duration{50 * time.Minute, 0} { // the row is known as one that is dated ahead
				c.set(ahead, ahead, 0)
				if _, err := c.sync(t, "transactions", false); err != nil {
					t.Error(err)
				}
				c.pass(time.Minute)
			}
			c.put(pathTransactions, 3)
			c.pass(5 * time.Hour) // the next run is after the time by which the row was dated
		}, ""},
		{"a cache with Age", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.runs(t, 1)
			c.keep(time.Hour, http.Header{"Age": {"3600"}})
			c.wantOld(t, "Age: 3600", 4)
			c.right()
		}, ""},
		{"a cache with an old Date", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.runs(t, 1)
			c.keep(time.Hour, nil)
			c.wantOld(t, "they come from a cache", 4)
			c.right()
		}, ""},
		{"a copy that is 40 minutes behind", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.pass(time.Hour)
			c.change(t)
			c.runs(t, 1)
			c.change(t)
			c.runs(t, 1)
			c.behind(40 * time.Minute)
			c.wantOld(t, "a copy that is behind", 2)
			c.right()
		}, ""},
		{"ahead from the first load on", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.forget(t)
			c.set(ahead, ahead, 0)
			c.runs(t, 1)
			c.set(0, 0, 0)
		}, "was ahead and was put right"},
		{"a year ahead", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(8760*time.Hour, 8760*time.Hour, 0)
			c.runs(t, 3)
			c.set(0, 0, 0)
		}, "was ahead and was put right"},
		{"only the Date is ahead", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, 0, 0)
			c.runs(t, 3)
			c.set(0, 0, 0)
		}, "its clock was put right"},
		{"only the Date, and one row is dated ahead", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, 30*24*time.Hour, 0)
			c.put(pathTransactions, 90)
			c.set(ahead, 0, 0)
			c.runs(t, 3)
			c.set(0, 0, 0)
		}, "put right"},
		{"only updatedAt is ahead", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(0, ahead, 0)
			c.runs(t, 3)
			c.set(0, 0, 0)
		}, ""},
		{"set back by less than what has passed", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, ahead, 0)
			c.runs(t, 2)
			c.set(0, 0, 0)
			c.change(t)
			c.pass(5 * time.Hour)
		}, "has lost 3h0m"},
		{"wrongly set back, and put right", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(-ahead, -ahead, 0)
			c.runs(t, 4)
			c.set(0, 0, 0)
		}, ""},
		{"ahead twice, and put right at once", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(time.Hour, time.Hour, 0)
			c.runs(t, 2)
			c.set(ahead, time.Hour, 0)
			c.runs(t, 2)
			c.set(0, 0, 0)
		}, "put right"},
		{"drifting for days", func(t *testing.T, c *clockWorld) {
			t.Helper()
			for i := range 6 {
				c.set(time.Duration(i)*10*time.Minute, time.Duration(i)*10*time.Minute, 0)
				c.runs(t, 1)
			}
			c.set(0, 0, 0)
		}, "put right"},
		{"the warehouse's is a day ahead", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(0, 0, 24*time.Hour)
			c.runs(t, 2)
			c.set(0, 0, 0)
		}, ""},
		{"the warehouse's and the service's", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, ahead, ahead)
			c.runs(t, 2)
			c.set(0, 0, 0)
		}, "put right"},
		{"put right in the middle of a run", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, ahead, 0)
			c.runs(t, 1)
			c.change(t)
			c.requests, c.onRequest = 0, func(n int) {
				if n == 2 {
					c.date, c.stamps = 0, 0
				}
			}
			if _, err := c.sync(t, "transactions", true); err == nil {
				t.Error("a list from two times is taken for one")
			}
		}, "put right"},
		{"a cache with Age and a new Date", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.runs(t, 1)
			c.keep(time.Hour, http.Header{"Age": {"3600"}})
			c.cache.date += c.passed - c.cache.passed
			c.wantOld(t, "Age: 3600", 2)
			c.right()
		}, ""},
		{"a copy that is behind and dates its answers now", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.pass(time.Hour)
			c.change(t)
			c.runs(t, 1)
			c.change(t)
			c.runs(t, 1)
			c.behind(40 * time.Minute)
			c.date = 40 * time.Minute
			if _, err := c.sync(t, "transactions", true); err == nil || !strings.Contains(err.Error(), "a copy that is behind") {
				t.Errorf("%v", err)
			}
			c.right()
		}, ""},
		{"no Date any more", func(t *testing.T, c *clockWorld) {
			t.Helper()
			c.set(ahead, ahead, 0)
			c.runs(t, 1)
			c.noDate = true
			c.set(0, 0, 0)
			c.runs(t, 1)
			c.noDate = false
		}, "put right"},
	}
	for i, c := range enginetest.Spread(cases, 2) {
		t.Run(c.name, func(t *testing.T) {
			beside(t)
			x := newClockWorld(t, w, fmt.Sprintf("clock%d", i))
			x.pass(2 * time.Hour)
			x.runs(t, 1)
			c.do(t, x)
			said := x.settle(t)
			if !strings.Contains(said, c.says) {
				t.Errorf("no run says %q:\n%s", c.says, said)
			}
		})
	}
}

// forget makes the stream new: another account has nothing loaded.
func (c *clockWorld) forget(t *testing.T) {
	t.Helper()
	for stream := range clockStreams {
		for _, table := range []string{"sync_state_log", "sync_runs_log"} {
			if err := c.store.Conn().Exec(t.Context(), "ALTER TABLE "+table+" DELETE WHERE account = '"+c.account+"' AND stream = '"+stream+
				"' SETTINGS mutations_sync = 2"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// change changes some rows of each list: one is new, one is changed, and one of a deal is gone.
func (c *clockWorld) change(t *testing.T) {
	t.Helper()
	for _, p := range clockPaths {
		n := c.version
		c.put(p, 100+n)
		c.pass(2 * time.Minute)
		c.put(p, n%12)
		if p == pathCoupons {
			c.remove(p, (n+5)%12)
		}
		c.pass(3 * time.Minute)
	}
}

// runs lets so many runs of each stream pass, with changes before each.
func (c *clockWorld) runs(t *testing.T, n int) {
	t.Helper()
	for range n {
		c.change(t)
		c.pass(15 * time.Minute)
		for stream := range clockStreams {
			_, err := c.sync(t, stream, false)
			if incomplete := (*IncompleteError)(nil); err != nil && !errors.As(err, &incomplete) {
				t.Error(err)
			}
		}
	}
}

// wantOld wants runs whose answers are old to say so, and to change nothing that is newer.
func (c *clockWorld) wantOld(t *testing.T, says string, runs int) {
	t.Helper()
	mark := c.mark(t)
	for n := range runs {
		for stream := range clockStreams {
			before := c.visible(t, stream)
			record, err := c.sync(t, stream, n%2 == 0)
			if err == nil || !strings.Contains(err.Error(), says) || record.Outcome != warehouse.OutcomeIncomplete {
				t.Errorf("%s: %v", stream, err)
			}
			if after := c.visible(t, stream); !maps.Equal(before, after) {
				t.Errorf("%s: old answers have changed %v to %v", stream, before, after)
			}
		}
	}
	if at := c.mark(t); !at.Equal(mark) {
		t.Errorf("old answers have moved the watermark from %v to %v", mark, at)
	}
}

// settle makes changes and three runs of each stream, and wants nothing to be missing after them. It returns what the
// runs have said.
func (c *clockWorld) settle(t *testing.T) (said string) {
	t.Helper()
	var errs map[string]error
	for range 3 {
		c.change(t)
		errs = map[string]error{}
		for stream := range clockStreams {
			record, err := c.sync(t, stream, false)
			said += fmt.Sprintf("%s: %v %q\n", stream, err, record.Warnings)
			errs[stream] = err
		}
	}
	for stream := range clockStreams {
		if errs[stream] != nil {
			t.Errorf("%s: the third run: %v", stream, errs[stream])
		}
		if want, got := c.truth(stream), c.visible(t, stream); !maps.Equal(want, got) {
			t.Errorf("%s: readers see %v, want %v", stream, got, want)
		}
	}
	if at := c.mark(t); at.After(c.now()) || at.Before(c.now().Add(-time.Hour)) {
		t.Errorf("the watermark is %v, and it is %v", at, c.now())
	}
	return said
}

// TestModelOfClocks makes histories of clocks, caches, copies and runs at random. What readers see is never set back,
// and three runs after all is put right nothing is missing. Three things are left out, because nothing shows them: the
// clock of updatedAt is not set back by itself, a run of transactions sees each state of the service's clock, and an
// answer of a cache that is dated after the present has an Age.
func TestModelOfClocks(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	first, histories := setting(t, modelSeed, 1), setting(t, modelHistories, enginetest.Sample(1, 30))
	for i := range histories {
		seed := first + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			beside(t)
			random := rand.New(rand.NewPCG(uint64(seed), 3))
			c := newClockWorld(t, w, fmt.Sprintf("model%d", seed))
			var events []string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("again with %s=%d %s=1; what happened:\n%s", modelSeed, seed, modelHistories, strings.Join(events, "\n"))
				}
			})
			off := func() time.Duration {
				return time.Duration(random.IntN(2*600)-600) * time.Minute * time.Duration(random.IntN(3)) / 2
			}
			for range 4 + random.IntN(8) {
				c.pass(time.Duration(random.IntN(120)) * time.Minute)
				c.change(t)
				kind, date := random.IntN(9), off()
				switch kind {
				case 0:
					c.set(date, date, c.warehouse)
				case 1:
					c.set(date, max(off(), min(date, 0)), c.warehouse)
				case 2:
					c.set(c.date, c.stamps, off())
				case 3:
					c.set(date, max(c.stamps, min(date, 0)), c.warehouse)
				case 4:
					c.keep(date.Abs(), http.Header{"Age": {fmt.Sprint(int(date.Abs().Seconds()))}})
				case 5:
					c.keep(date.Abs(), nil)
					if c.cache.now().Add(c.cache.date).After(c.now().Add(c.date)) {
						c.header = http.Header{"Age": {fmt.Sprint(int((c.passed - c.cache.passed).Seconds()))}}
					}
				case 6:
					c.behind(min(date.Abs(), time.Hour))
				default:
					c.right()
				}
				text := fmt.Sprintf("it is %v, date %v, stamps %v, warehouse %v, cache %t, behind %v", c.passed, c.date, c.stamps, c.warehouse,
					c.cache != nil, c.lag)
				if kind < 4 && kind != 2 {
					c.cache, c.lag = nil, 0
					c.change(t)
					_, err := c.sync(t, "transactions", false)
					text += fmt.Sprintf("\n    transactions, watermark %v: %v", c.mark(t), err)
				}
				for range random.IntN(3) {
					stream := []string{"transactions", "coupons", "products"}[random.IntN(3)]
					full := random.IntN(4) == 0
					record, err := c.sync(t, stream, full)
					text += fmt.Sprintf("\n    %s, full %t, watermark %v: %v %q", stream, full, c.mark(t), err, record.Warnings)
				}
				events = append(events, text)
			}
			c.right()
			c.pass(10 * time.Minute)
			events = append(events, "all is put right\n"+c.settle(t))
		})
	}
}
