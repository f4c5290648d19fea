package apisim

import "iter"

// Truth yields every record that is listed now, as it would be served now, in the order it would be served. It is one
// moment: changes made while it is read do not show. The slices may be kept. An unknown stream or organization has no
// records.
func (s *Sim) Truth(stream, org string) iter.Seq[[]byte] {
	w, set := s.snapshot(), s.settings.Load()
	st := w.style(set)
	return func(yield func([]byte) bool) {
		var chunk []byte
		w.each(stream, org, set.Order, func(record func([]byte) []byte) bool {
			// Records share chunks, which saves an allocation for each.
			if cap(chunk)-len(chunk) < 4<<10 {
				chunk = make([]byte, 0, 64<<10)
			}
			from := len(chunk)
			chunk = record(chunk)
			return yield(chunk[from:len(chunk):len(chunk)])
		}, &st)
	}
}

// Count is the number of records that are listed now.
func (s *Sim) Count(stream, org string) int {
	w := s.snapshot()
	switch stream {
	case StreamProducts:
		return w.feed.count()
	case StreamPayouts:
		if i := w.org(org); i >= 0 {
			return len(w.orgs[i].listedPayouts()) + w.orgs[i].script.live
		}
		return 0
	}
	l, err := w.listing(stream, org)
	if err != nil {
		return 0
	}
	return len(l.view(filter{}, s.settings.Load().Order).items)
}

// each calls f with the rendering of each listed record until f says no.
func (w *world) each(stream, org string, order Order, f func(func([]byte) []byte) bool, st *style) {
	switch stream {
	case StreamProducts:
		for p := w.feed.next(0); p >= 0; p = w.feed.next(p + 1) {
			if !f(func(dst []byte) []byte { return w.feed.record(dst, p, st) }) {
				return
			}
		}
	case StreamPayouts:
		if i := w.org(org); i >= 0 {
			w.orgs[i].eachPayout(f, st)
		}
	default:
		l, err := w.listing(stream, org)
		if err != nil {
			return
		}
		v := l.view(filter{}, order)
		for p := range v.items {
			if !f(func(dst []byte) []byte { return l.record(dst, v.at(p), st) }) {
				return
			}
		}
	}
}

// listedPayouts are the generated payouts that no script hides.
func (o *orgWorld) listedPayouts() []*payout {
	var out []*payout
	for i := range o.payouts {
		if !o.script.hides(uint64(o.payouts[i].id)) {
			out = append(out, &o.payouts[i])
		}
	}
	return out
}

func (o *orgWorld) eachPayout(f func(func([]byte) []byte) bool, st *style) {
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

func (w *world) style(set *Settings) style {
	return style{cal: w.cal, times: set.Timestamps, extra: set.ExtraFields, compact: set.CompactDays}
}
