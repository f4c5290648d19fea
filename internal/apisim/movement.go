package apisim

import (
	"errors"
	"fmt"
	"time"
)

// Movement says how a list moves while it is read. Before a page of a cursor list or of the products is made, a random
// number of events happen to that list: a record is inserted, updated, deleted, or comes back after it was deleted.
// With the zero value, lists do not move.
//
// The random numbers come from the seed and from one counter for each list. So equal requests for a list meet equal
// events, whatever else is read meanwhile. Only the times differ, because all lists share one clock.
type Movement struct {
	Seed    uint64  `json:"seed"`
	PerPage float64 `json:"perPage"` // mean number of events between two pages, at most 1,000; 0: none

	// Aim is the share of the events that hit the item named by the last cursor of the list. The nextPage of products
	// names no item, so there the events hit the item before that place or the one after it. Aimed events update or
	// delete the item, or bring it back.
	Aim float64 `json:"aim"`

	// How often each kind of event happens, relative to the others. If all are 0, all happen equally often.
	Insert float64 `json:"insert"`
	Update float64 `json:"update"`
	Delete float64 `json:"delete"`
	Return float64 `json:"return"`

	// ReturnOld lets records come back unchanged, with the old updatedAt, so that a reader of changes cannot notice
	// them. By default they come back updated.
	ReturnOld bool `json:"returnOld"`

	// Step is the mean time of the world's clock between two events, in whole milliseconds; 5 ms by default. A negative
	// step stops the clock. One event in eight happens at the same time as the one before it.
	Step time.Duration `json:"step"`

	MaxEvents int `json:"maxEvents"` // of all lists together, since the start; 0: no bound
}

// Moves counts the events so far.
type Moves struct {
	Inserted int `json:"inserted"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Returned int `json:"returned"`
	Aimed    int `json:"aimed"` // how many of them hit the item that a cursor named
}

func (m *Moves) total() int { return m.Inserted + m.Updated + m.Deleted + m.Returned }

// Moves returns how many events Movement has made so far.
func (s *Sim) Moves() Moves {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moves
}

// SetMovement sets how the lists move while they are read.
func (s *Sim) SetMovement(m Movement) error { return s.Update(func(t *Settings) { t.Movement = m }) }

const (
	defaultStep = 5 * time.Millisecond
	maxPerPage  = 1000
)

func (m *Movement) validate() error {
	var errs []error
	if !(m.PerPage >= 0 && m.PerPage <= maxPerPage) {
		errs = append(errs, fmt.Errorf("movement: %v events between two pages are not in 0..%d", m.PerPage, maxPerPage))
	}
	if !(m.Aim >= 0 && m.Aim <= 1) {
		errs = append(errs, fmt.Errorf("movement: aim: %v is not in 0..1", m.Aim))
	}
	for _, weight := range []float64{m.Insert, m.Update, m.Delete, m.Return} {
		if !(weight >= 0 && weight <= 1e6) {
			errs = append(errs, fmt.Errorf("movement: the weight %v of an event is not in 0..1000000", weight))
		}
	}
	if m.Step > 0 && m.Step%time.Millisecond != 0 || m.Step > time.Hour {
		errs = append(errs, fmt.Errorf("movement: step: %v is not whole milliseconds of at most an hour", m.Step))
	}
	if m.MaxEvents < 0 {
		errs = append(errs, errors.New("movement: the bound on the events is negative"))
	}
	return errors.Join(errs...)
}

// eventKind is what happens to a record.
type eventKind int

const (
	inserted eventKind = iota
	updated
	deleted
	returned
	eventKinds
)

func (m *Movement) weights() [eventKinds]float64 {
	w := [eventKinds]float64{m.Insert, m.Update, m.Delete, m.Return}
	if w == [eventKinds]float64{} {
		return [eventKinds]float64{1, 1, 1, 1}
	}
	return w
}

// choose draws a kind by its weight. It returns false if all weights are 0.
func choose(h uint64, weights [eventKinds]float64) (eventKind, bool) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	// The conversion rounds the product, so that no machine computes it and the subtraction below in one step.
	left := float64(unit(h) * sum)
	last, ok := inserted, false
	for kind, w := range weights {
		if w <= 0 {
			continue
		}
		last, ok = eventKind(kind), true
		if left < w {
			break
		}
		left -= w
	}
	return last, ok
}

// unit maps 64 random bits evenly to 0..1, but never to 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// events returns how many events happen between two pages: PerPage on average, and at most about twice that.
func (m *Movement) events(a, b uint64) int {
	x := float64(unit(a) * 2 * m.PerPage)
	n := int(x)
	if unit(b) < x-float64(n) {
		n++
	}
	return n
}

// pause returns the time between two events, in milliseconds.
func (m *Movement) pause(h uint64) int64 {
	step := m.Step.Milliseconds()
	if step <= 0 || h&7 == 0 {
		return 0
	}
	return 1 + below(mix(h), 2*step-1)
}
