package syncer

import (
	"slices"
	"testing"
	"time"
)

// TestPlan hands out each window once, joins only what is adjacent, and finds the width that fits: a service with a
// burst of rows after two empty years is asked few times for nothing, and never for much at once.
func TestPlan(t *testing.T) {
	t.Parallel()
	from := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	windows := cut(from, from.AddDate(3, 0, 0), time.Hour)
	pages := func(t task) (n uint64) { // a page for every two hours of the last year
		for _, number := range t.numbers {
			if number >= 2*365*24 && number%2 == 0 {
				n++
			}
		}
		return max(1, n)
	}
	for _, done := range []spans{nil, {{100, 120}, {20_000, 20_000}}} {
		var left []task
		for i, w := range windows {
			if !done.has(i) {
				left = append(left, task{w, []int{i}})
			}
		}
		p, seen, tasks, most, empty := newPlan(left, 4, true), []int{}, 0, uint64(0), 0
		for one, more := p.next(); more; one, more = p.next() {
			if !one.from.Equal(windows[one.numbers[0]].from) || !one.to.Equal(windows[one.numbers[len(one.numbers)-1]].to) ||
				one.to.Sub(one.from) != time.Duration(len(one.numbers))*time.Hour {
				t.Fatalf("%v of %d windows", one.window, len(one.numbers))
			}
			seen, tasks = append(seen, one.numbers...), tasks+1
			n := pages(one)
			if one.numbers[len(one.numbers)-1] < 2*365*24 {
				empty++
			}
			most = max(most, n)
			p.learn(one, n)
		}
		if len(seen) != len(left) || !slices.IsSorted(seen) {
			t.Errorf("%d of %d windows were handed out", len(seen), len(left))
		}
		if empty > 40 || most > largestTask/2 || tasks > 700 {
			t.Errorf("%d tasks, %d of them for two empty years; one had %d pages", tasks, empty, most)
		}
	}
	one := newPlan([]task{{windows[0], []int{0}}, {windows[1], []int{1}}}, 4, false)
	if first, _ := one.next(); len(first.numbers) != 1 {
		t.Errorf("windows of a given width were joined: %v", first)
	}
}
