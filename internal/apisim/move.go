package apisim

// mover is the state of one list's movement; guarded by Sim.mu.
type mover struct {
	drawn uint64      // how many random numbers were drawn
	gone  []departure // deleted by an event and not back yet
	aim   []spot      // the items at the end of the last page
}

// listName identifies a list. Deals and products are the same for all organizations, so their org is empty.
type listName struct{ stream, org string }

func (e *endpoint) name(org string) listName {
	if e.own == nil {
		org = ""
	}
	return listName{e.stream, org}
}

func (s *Sim) mover(name listName) *mover {
	m := s.movers[name]
	if m == nil {
		m = &mover{}
		s.movers[name] = m
	}
	return m
}

// draw returns the next random number of a list.
func (m *mover) draw(seed uint64, name listName) uint64 {
	m.drawn++
	return at(hashText(seed, name.stream+"/"+name.org), m.drawn)
}

// moved returns the moment from which a page is made: w, or a later one if the list moves before the page.
func (s *Sim) moved(w *world, of *endpoint, org string, set *Settings) *world {
	if set.Movement.PerPage == 0 {
		return w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := of.name(org)
	m := s.mover(name)
	n := set.Movement.events(m.draw(set.Movement.Seed, name), m.draw(set.Movement.Seed, name))
	for range n {
		if set.Movement.MaxEvents > 0 && s.moves.total() >= set.Movement.MaxEvents {
			break
		}
		if s.cur.shared {
			s.cur = s.cur.clone()
		}
		s.cur.keepOrders()
		e := event{moves: &s.moves, mover: m, world: s.cur, of: of, set: set, chance: m.draw(set.Movement.Seed, name)}
		e.style = s.cur.style(set)
		if _, e.ground, _ = s.cur.ground(of.stream, org); e.ground != nil {
			e.happen()
		}
	}
	s.cur.shared = true
	return s.cur
}

// handOut remembers which items the cursor of a page names; on the last page, none.
func (s *Sim) handOut(of *endpoint, org string, spots ...spot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mover(of.name(org)).aim = spots
}

// event is one thing that happens to a list.
type event struct {
	moves  *Moves
	mover  *mover
	world  *world
	ground ground
	of     *endpoint
	set    *Settings
	style  style
	chance uint64
}

// draw returns the n-th random number of the event.
func (e *event) draw(n uint64) uint64 { return at(e.chance, n) }

// happen moves the clock and changes a record. No record changes if an event of these kinds is not possible.
func (e *event) happen() {
	m := &e.set.Movement
	e.world.moveTo(e.world.now, e.world.now+m.pause(e.draw(1)))
	weights := m.weights()
	if unit(e.draw(2)) < m.Aim && len(e.mover.aim) > 0 {
		if e.hit(e.mover.aim[below(e.draw(3), int64(len(e.mover.aim)))], weights) {
			e.moves.Aimed++
			return
		}
	}
	if len(e.mover.gone) == 0 {
		weights[returned] = 0
	}
	item, found := e.ground.pick(e.draw(4), e.set.Order)
	if !found {
		weights[inserted], weights[updated], weights[deleted] = 0, 0, 0
	}
	kind, ok := choose(e.draw(5), weights)
	switch {
	case !ok:
	case kind == returned:
		e.giveBack(int(below(e.draw(6), int64(len(e.mover.gone)))))
	default:
		e.change(kind, item)
	}
}

// hit aims at an item: a listed one is updated or deleted, one that is gone comes back. It returns false
// if this is not possible.
func (e *event) hit(s spot, weights [eventKinds]float64) bool {
	weights[inserted] = 0
	if item, there := e.ground.find(s); there {
		weights[returned] = 0
		kind, ok := choose(e.draw(5), weights)
		return ok && e.change(kind, item)
	}
	if weights[returned] == 0 {
		return false
	}
	for i := range e.mover.gone {
		if e.mover.gone[i].spot == s || s.id != "" && e.mover.gone[i].spot.id == s.id {
			return e.giveBack(i)
		}
	}
	return false
}

// change inserts a record that resembles an item, or updates or deletes the item.
func (e *event) change(kind eventKind, item uint32) bool {
	raw := e.ground.render(nil, item, &e.style)
	if kind == deleted {
		gone := e.ground.withdraw(item)
		gone.raw = raw
		e.mover.gone = append(e.mover.gone, gone)
		e.moves.Deleted++
		return true
	}
	if !isObject(raw) {
		return false
	}
	if kind == inserted {
		e.ground.add(e.record(e.of.newcomer(raw, e.draw(7), e.world.now, &e.style)))
		e.moves.Inserted++
		return true
	}
	e.ground.swap(item, e.record(e.of.revise(raw, e.draw(7), e.world.now, &e.style)))
	e.moves.Updated++
	return true
}

// giveBack lists an item again that is gone, unless a caller has already done so by hand.
func (e *event) giveBack(i int) bool {
	d := e.mover.gone[i]
	e.mover.gone = append(e.mover.gone[:i], e.mover.gone[i+1:]...)
	if !e.ground.vacant(&d) {
		return false
	}
	same := e.set.Movement.ReturnOld || e.of.undated || !isObject(d.raw)
	switch {
	case same && e.ground.undo(&d):
	case same:
		e.ground.add(e.record(d.raw))
	default:
		e.ground.add(e.record(e.of.revise(d.raw, e.draw(7), e.world.now, &e.style)))
	}
	e.moves.Returned++
	return true
}

func (e *event) record(raw []byte) *scriptedRecord { return e.of.read(raw) }
