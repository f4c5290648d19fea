package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const (
	crowdHeight = 40
	slotMinutes = 5 // the drawing shows the most runs at once in each
	busiest     = 5 // moments in the table
)

// atOnce shows how many runs were under way at once.
type atOnce struct {
	Width, Height int
	Path, Text    string
	Busiest       []busyMoment
}

// busyMoment is a time at which many streams ran.
type busyMoment struct {
	At, Streams string
	Runs        int
}

// slot returns the slot of a minute.
func slot(minute float64) int { return min(int(minute)/slotMinutes, laneWidth/slotMinutes-1) }

// crowding returns the most runs that were under way at once, for each slot of the day.
func crowding(d daySpan, now time.Time, runs []warehouse.RunSpan) []int {
	type edge struct {
		at    float64
		begin bool
	}
	var edges []edge
	for _, r := range runs {
		from, to := d.bounds(r, now)
		edges = append(edges, edge{from, true}, edge{to, false})
	}
	// If a run ends at the moment another one begins, the two were not under way at once.
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at || a.begin == b.begin {
			return cmp.Compare(a.at, b.at)
		}
		if b.begin {
			return -1
		}
		return 1
	})
	slots := make([]int, laneWidth/slotMinutes)
	under, at := 0, 0
	for _, e := range edges {
		for ; at < slot(e.at); at++ {
			slots[at+1] = max(slots[at+1], under)
		}
		if !e.begin {
			under--
			continue
		}
		under++
		slots[at] = max(slots[at], under)
	}
	return slots
}

// newCrowd draws how many runs were under way at once, and says when there were the most.
func newCrowd(d daySpan, now time.Time, slots []int, runs []warehouse.RunSpan) atOnce {
	c := atOnce{Width: laneWidth, Height: crowdHeight, Text: "No run"}
	most := slices.Max(slots)
	if most == 0 {
		return c
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M0 %d", crowdHeight)
	last := 0
	for i, n := range slots {
		height := n * crowdHeight / most
		if n > 0 {
			height = max(1, height)
		}
		if height != last || i == 0 {
			fmt.Fprintf(&path, "H%dV%d", i*slotMinutes, crowdHeight-height)
			last = height
		}
	}
	fmt.Fprintf(&path, "H%dV%dz", laneWidth, crowdHeight)
	c.Path = path.String()
	c.Busiest = busyMoments(d, now, slots, runs)
	c.Text = fmt.Sprintf("Runs under way at once: at most %d, at %s", most, c.Busiest[0].At)
	return c
}

// busyMoments returns the slots with the most runs at once, without neighbours of each other, and
// which streams ran in them.
func busyMoments(d daySpan, now time.Time, slots []int, runs []warehouse.RunSpan) (moments []busyMoment) {
	order := make([]int, len(slots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slots[b] - slots[a] })
	taken := map[int]bool{}
	for _, i := range order {
		if len(moments) == busiest || slots[i] < 2 && len(moments) > 0 {
			break
		}
		if taken[i-1] || taken[i+1] {
			continue
		}
		taken[i] = true
		counts := map[string]int{}
		for _, r := range runs {
			if from, to := d.bounds(r, now); slot(from) <= i && i <= slot(to) {
				counts[term.Spaced(r.Stream)]++
			}
		}
		var who []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			text := name
			if n := counts[name]; n > 1 {
				text = fmt.Sprintf("%d × %s", n, name)
			}
			who = append(who, text)
		}
		moments = append(moments, busyMoment{At: clock(d.from.Add(time.Duration(i*slotMinutes)*time.Minute), d),
			Runs: slots[i], Streams: strings.Join(who, ", ")})
	}
	return moments
}
