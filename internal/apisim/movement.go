package apisim

import (
	"errors"
	"fmt"
	"time"
)

// Movement says how a list moves while it is read. Before a page of a cursor list or of the products is made, a random
// number of events befalls that list: a record is inserted, updated, deleted, or comes back after it was deleted. The
// zero value is a list that stands still.
//
// Chance has a seed and counters of its own for each list: equal requests for a list meet equal events, whatever else
// is read meanwhile. Only the times differ, because all lists share one clock.
type Movement struct {
	Seed    uint64  `json:"seed"`
	PerPage float64 `json:"perPage"` // mean number of events between two pages, at most 1,000; 0: none

	// Aim is the share of the events that hit the item named by the last cursor of the list. The nextPage of products
	// names no item, so they hit the item before that place or the one after it. Aimed events update or delete the
	// item, or bring it back.
	Aim float64 `json:"aim"`

	// How often each kind of event happens, relative to the others. All equally often when all are 0.
	Insert float64 `json:"insert"`
	Update float64 `json:"update"`
	Delete float64 `json:"delete"`
	Return float64 `json:"return"`

	// ReturnOld lets records come back as they were, with the old updatedAt, so that no reader of changes can notice
	// them. By default they come back updated.
	ReturnOld bool `json:"returnOld"`

	// Step is the mean time of the world's clock between two events, in whole milliseconds; 5 ms by default, a negative
	// one stops the clock. One event in eight has the time of the event before it.
	Step time.Duration `json:"step"`

	MaxEvents int `json:"maxEvents"` // of all lists together, since the start; 0: no bound
}

// Moves counts the events so far.
type Moves struct {
	Inserted int `json:"inserted"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Returned int `json:"returned"`
	Aimed    int `json:"aimed"` // of them, at the item that a cursor named
}

func (m *Moves) total() int { return m.Inserted + m.Updated + m.Deleted + m.Returned }

// Moves is the number of events that Movement has made so far.
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

// eventKind is what befalls a record.
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

// choose draws a kind by its weight; false when all weights are 0.
func choose(h uint64, weights [eventKinds]float64) (eventKind, bool) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	// The conversions keep each product rounded, so that no machine fuses it with the sum that follows.
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

// unit maps 64 random bits evenly to 0..1, without 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// events is how many events happen between two pages: the mean is PerPage, the most about twice that.
func (m *Movement) events(a, b uint64) int {
	x := float64(unit(a) * 2 * m.PerPage)
	n := int(x)
	if unit(b) < x-float64(n) {
		n++
	}
	return n
}

// pause is the time in milliseconds between two events.
func (m *Movement) pause(h uint64) int64 {
	step := m.Step.Milliseconds()
	if step <= 0 || h&7 == 0 {
		return 0
	}
	return 1 + below(mix(h), 2*step-1)
}
