package apisim

import "iter"

// Truth yields every record that is listed now, with the bytes and in the order in which it would be served now. It
// shows one moment: changes during the reading do not appear. The caller may keep the slices. An unknown stream or
// organization has no records.
func (s *Sim) Truth(stream, org string) iter.Seq[[]byte] {
	w, set := s.snapshot(), s.settings.Load()
	st := w.style(set)
	l, err := w.list(stream, org)
	return func(yield func([]byte) bool) {
		if err != nil {
			return
		}
		var chunk []byte
		l.each(set.Order, &st, func(record func([]byte) []byte) bool {
			// Records share chunks, which saves an allocation for each.
			if cap(chunk)-len(chunk) < 4<<10 {
				chunk = make([]byte, 0, 64<<10)
			}
			from := len(chunk)
			chunk = record(chunk)
			return yield(chunk[from:len(chunk):len(chunk)])
		})
	}
}

// Count returns how many records are listed now.
func (s *Sim) Count(stream, org string) int {
	l, err := s.snapshot().list(stream, org)
	if err != nil {
		return 0
	}
	return l.count(s.settings.Load().Order)
}

func (l *listing) count(order Order) int { return len(l.view(filter{}, order).items) }

func (l *listing) each(order Order, st *style, f func(func([]byte) []byte) bool) {
	v := l.view(filter{}, order)
	for p := range v.items {
		if !f(func(dst []byte) []byte { return l.record(dst, v.at(p), st) }) {
			return
		}
	}
}

func (f *feed) count(Order) int {
	n := 0
	for p := f.next(0); p >= 0; p = f.next(p + 1) {
		n++
	}
	return n
}

func (f *feed) each(_ Order, st *style, yield func(func([]byte) []byte) bool) {
	for p := f.next(0); p >= 0; p = f.next(p + 1) {
		if !yield(func(dst []byte) []byte { return f.record(dst, p, st) }) {
			return
		}
	}
}

func (o *orgWorld) count(Order) int { return len(o.listedPayouts()) + o.script.live }

func (o *orgWorld) each(_ Order, st *style, f func(func([]byte) []byte) bool) {
	for _, p := range o.listedPayouts() {
		if !f(func(dst []byte) []byte { return p.record(dst, st) }) {
			return
		}
	}
	for _, rec := range o.script.records {
		if rec != nil && !f(func(dst []byte) []byte { return append(dst, rec.raw...) }) {
			return
		}
	}
}

// listedPayouts returns the generated payouts that no script hides.
func (o *orgWorld) listedPayouts() []*payout {
	var out []*payout
	for i := range o.payouts {
		if !o.script.hides(uint64(o.payouts[i].id)) {
			out = append(out, &o.payouts[i])
		}
	}
	return out
}

func (w *world) style(set *Settings) style {
	return style{cal: w.cal, times: set.Timestamps, extra: set.ExtraFields, compact: set.CompactDays}
}
