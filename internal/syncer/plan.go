package syncer

import "sync"

// taskPages is how many pages a task should have where windows are joined: enough that the last, half-filled page and
// the publication of its own cost little, and few enough that a crash costs little.
const taskPages = 8

// firstTask is how many windows the first tasks have, where they are joined, and largestTask the most: a day and a
// month, unless the range is one of many years. After empty years comes what nobody foresees.
const firstTask, largestTask = 24, 30 * 24

// task is what one chain reads: a window, with the numbers of the windows that it replaces.
type task struct {
	window
	numbers []int
}

// plan hands out what is left of a backfill, in the order of time. Where windows are joined, a task has as many as the
// pages of the tasks before it call for: many where little happened, and few where much did.
type plan struct {
	mu    sync.Mutex
	left  []task // windows
	parts int    // readers
	size  int    // windows of the next task; 0: each window is a task
}

func newPlan(left []task, readers int, join bool) *plan {
	p := &plan{left: left, parts: readers}
	if join {
		p.size = firstTask
	}
	return p
}

// next returns the next task, false if there is none.
func (p *plan) next() (task, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return task{}, false
	}
	n := 1
	if p.size > 0 {
		// At the end, tasks become smaller, so that the readers end together.
		most := max(1, min(p.size, max(len(p.left)/p.parts, p.size/4)))
		for n < min(most, len(p.left)) && p.left[n].from.Equal(p.left[n-1].to) {
			n++
		}
	}
	t := joined(p.left[:n])[0]
	p.left = p.left[n:]
	return t, true
}

// learn takes in how many pages a task had.
func (p *plan) learn(t task, pages uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size == 0 {
		return
	}
	n := len(t.numbers)
	fitting := 4 * n // of a single page, nothing is known but that it had room
	if pages > 1 {
		fitting = n * taskPages / int(pages)
	}
	p.size = min(max(1, fitting), 4*n, largestTask)
}

// joined merges the tasks into one.
func joined(all []task) []task {
	if len(all) == 0 {
		return nil
	}
	one := task{window: window{all[0].from, all[len(all)-1].to}}
	for _, t := range all {
		one.numbers = append(one.numbers, t.numbers...)
	}
	return []task{one}
}
