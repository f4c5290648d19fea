package door

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newPeer() *peer {
	return &peer{rc: http.NewResponseController(httptest.NewRecorder()), grace: time.Minute, rate: 1}
}

// crowded has one turn, which is taken. After over, those that wait get it one by one; order has their names.
type crowded struct {
	*turns
	over  func()
	order []string
	mu    sync.Mutex
	group sync.WaitGroup
}

func newCrowded(t *testing.T) *crowded {
	t.Helper()
	c := &crowded{turns: newTurns(1)}
	_, over, err := c.acquire(context.Background(), newPeer(), source{}, time.Second, false)
	if err != nil {
		t.Fatal(err)
	}
	c.over = over
	return c
}

// wait starts a request that waits for the turn and gives it back at once.
func (c *crowded) wait(t *testing.T, name string, s source) {
	t.Helper()
	c.group.Go(func() {
		_, over, err := c.acquire(context.Background(), newPeer(), s, time.Hour, false)
		if err != nil {
			t.Error(err)
			return
		}
		c.mu.Lock()
		c.order = append(c.order, name)
		c.mu.Unlock()
		over()
	})
	synctest.Wait()
}

// A request for little does not wait behind requests for much. Its statement, its connection or its address
// may show that it is one.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		known        map[source]time.Duration
		heavy, light source
	}{
		{"by statement",
			map[source]time.Duration{{statement: "h"}: 300 * time.Millisecond, {statement: "l"}: 5 * time.Millisecond},
			source{statement: "h", connection: "c1", address: "a"}, source{statement: "l", connection: "c2", address: "a"}},
		{"by connection, among strangers",
			map[source]time.Duration{{connection: "mine", address: "a"}: 5 * time.Millisecond,
				{address: "a"}: 300 * time.Millisecond},
			source{connection: "new", address: "a"}, source{statement: "new", connection: "mine", address: "a"}},
		{"by address",
			map[source]time.Duration{{address: "heavy"}: 300 * time.Millisecond, {address: "light"}: 5 * time.Millisecond},
			source{connection: "c1", address: "heavy"}, source{connection: "c2", address: "light"}},
		{"whatever others do with the same statement",
			map[source]time.Duration{{statement: "same"}: 300 * time.Millisecond, {connection: "mine"}: 5 * time.Millisecond},
			source{statement: "same", connection: "c1", address: "a"},
			source{statement: "same", connection: "mine", address: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newCrowded(t)
				for s, held := range c.known {
					q.costs.record(s, held)
				}
				for range 3 {
					q.wait(t, "heavy", c.heavy)
				}
				time.Sleep(time.Second) // on the clock of the bubble
				q.wait(t, "light", c.light)
				q.over()
				q.group.Wait()
				if got := strings.Join(q.order, " "); got != "light heavy heavy heavy" {
					t.Errorf("the order was %s", got)
				}
			})
		})
	}
}

// A request for much is delayed, but gets its turn before those that arrive long after it. Equal ones keep their order.
func TestTurnsForgetNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newCrowded(t)
		heavy, light := source{statement: "h"}, source{statement: "l"}
		q.costs.record(heavy, 100*time.Millisecond)
		q.costs.record(light, time.Millisecond)
		q.wait(t, "first", light)
		q.wait(t, "heavy", heavy)
		var want []string
		for _, name := range []string{"second", "third", "fourth", "fifth"} {
			time.Sleep(900 * time.Millisecond) // on the clock of the bubble
			q.wait(t, name, light)
		}
		q.over()
		q.group.Wait()
		want = []string{"first", "second", "third", "heavy", "fourth", "fifth"}
		if !slices.Equal(q.order, want) {
			t.Errorf("the order was %v, want %v", q.order, want)
		}
	})
}

// No turn is lost, in whatever way a request ends.
func TestTurnsAreNotLost(t *testing.T) {
	t.Parallel()
	q := newTurns(2)
	var group sync.WaitGroup
	for n := range 200 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if n%3 == 0 {
				cancel()
			}
			wait := time.Second
			if n%3 == 1 {
				wait = time.Microsecond
			}
			if _, over, err := q.acquire(ctx, newPeer(), source{}, wait, n%2 == 0); err == nil {
				over()
			}
		})
	}
	group.Wait()
	if q.free != 2 || q.spare != 1 || len(q.queue) != 0 || len(q.holders) != 0 || len(q.trials) != 0 {
		t.Errorf("%d turns and %d spare ones are free, %d wait, %d and %d hold one", q.free, q.spare, len(q.queue),
			len(q.holders), len(q.trials))
	}
}
