package apisim

// A timeline gives each slot of a stream an endless series of generations: a record lives for a while, ends, and
// another takes its place. Everything is a function of the salt, the slot and the time, so that nothing is stored and
// the world does not depend on how its clock was moved.
type timeline struct {
	salt   uint64
	origin int64 // the clock at the start
	life   int64 // mean time of a generation
	edit   int64 // time between two edits of one record
}

// forever is the time between two events if their rate is zero.
const forever = 1000 * 365 * dayMs

// maxAge bounds how old a record is when the world begins.
const maxAge = 400 * dayMs

// genBias keeps the generation numbers of times before the origin positive.
const genBias = 1 << 20

func newTimeline(salt uint64, origin int64, turnover, edits float64) timeline {
	period := func(rate float64) int64 {
		if rate <= 0 {
			return forever
		}
		return min(max(int64(float64(dayMs)/rate), hourMs), forever)
	}
	return timeline{salt: salt, origin: origin, life: period(turnover), edit: period(edits)}
}

// span is one generation of one slot.
type span struct {
	code    uint64 // identity: generation and slot
	hash    uint64 // randomness of the generation
	begin   int64  // when the record appears
	end     int64  // the last moment it is listed
	rev     uint64 // number of edits so far
	updated int64  // time of the last edit, or begin
}

// pace returns how long each generation of a slot lives, and how old the first generation was when the world began.
func (t *timeline) pace(slot uint32) (life, phase int64) {
	h := mix(t.salt ^ uint64(slot)*golden)
	life = t.life/2 + below(h, t.life)
	return life, below(mix(h), min(life, maxAge))
}

// last returns the last moment, up to now, at which the record of a generation was listed. A generation that had ended
// before the world began was never listed.
func (t *timeline) last(code uint64, now int64) (int64, bool) {
	life, phase := t.pace(uint32(code & itemMask))
	gen := int64(code>>itemBits) - genBias
	begin := t.origin - phase + gen*life
	if gen < 0 || begin > now {
		return 0, false
	}
	s, _ := t.at(uint32(code&itemMask), begin)
	return min(s.end, now), true
}

// at returns the generation of a slot at a time, and whether its record is listed: some records end a little before
// the next generation begins.
func (t *timeline) at(slot uint32, now int64) (span, bool) {
	life, phase := t.pace(slot)
	gen := floorDiv(now-t.origin+phase, life)
	s := span{code: uint64(gen+genBias)<<itemBits | uint64(slot), begin: t.origin - phase + gen*life}
	s.hash = mix(t.salt ^ s.code*golden)
	s.end = s.begin + life - secondMs
	if s.hash&3 == 0 {
		s.end -= below(at(s.hash, 1), life/8)
	}
	if life > 4*dayMs {
		s.end = floorDay(s.end)*dayMs - secondMs // 23:59:59, as people set it
	}
	rev, next := t.revision(&s, now)
	s.rev, s.updated = rev, s.begin
	if rev > 0 {
		s.updated = next - t.edit
	}
	return s, now <= s.end
}

// next returns the first moment after now at which a slot changes: its record is edited, or ends, or another begins.
func (t *timeline) next(slot uint32, now int64) int64 {
	s, listed := t.at(slot, now)
	life, _ := t.pace(slot)
	_, edit := t.revision(&s, now)
	if listed {
		return min(edit, s.end+1, s.begin+life)
	}
	return s.begin + life
}

// revision returns the number of edits of a generation up to a time, and when the next one follows.
func (t *timeline) revision(s *span, now int64) (rev uint64, next int64) {
	if t.edit >= forever || now < s.begin {
		return 0, now + min(t.edit, dayMs)
	}
	phase := below(at(s.hash, 2), t.edit)
	n := (now - s.begin + phase) / t.edit
	return uint64(n), s.begin - phase + (n+1)*t.edit
}
