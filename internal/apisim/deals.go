package apisim

import "strconv"

// dealKind says how the records of a list of deals are made.
type dealKind struct {
	salt uint64  // different for each kind
	stay float64 // how much longer its records stay than others, as a factor
	// write appends what follows the id. The span is a copy: a pointer would cost an allocation for each record.
	write func(d *deals, dst []byte, i uint32, s span, st *style) []byte
}

// deals has everything about a list of deals that never changes.
type deals struct {
	*dealKind
	n         int
	ids       identity
	line      timeline
	retailers []retailer
	words     *lexicon
}

// dealSource is a deal stream at a moment.
type dealSource struct {
	*deals
	now int64
}

func (d *deals) retailer(slot uint32) *retailer {
	return &d.retailers[int(slot)%len(d.retailers)]
}

func (d *deals) category(slot uint32) *category {
	return &d.words.categories[int(slot)%len(d.retailers)%len(d.words.categories)]
}

func (d dealSource) size() int { return d.n }

func (d dealSource) code(i uint32) (uint64, bool) {
	s, listed := d.line.at(i, d.now)
	return s.code, listed
}

func (d dealSource) updated(i uint32) int64 {
	s, _ := d.line.at(i, d.now)
	return s.updated
}

func (d dealSource) until() int64 {
	next := d.now + forever
	for i := range uint32(d.n) {
		next = min(next, d.line.next(i, d.now))
	}
	return next - 1
}

func (d dealSource) identity() *identity { return &d.ids }

func (d dealSource) matches(i uint32, f *filter) bool {
	r := d.retailer(i)
	if f.hostname != "" && r.hostname != f.hostname || f.name != "" && r.name != f.name {
		return false
	}
	if f.category != "" {
		s, _ := d.line.at(i, d.now)
		if d.bareCategory(s.hash) || d.category(i).name != f.category {
			return false
		}
	}
	return f.country == "" || contains(r.countries, f.country)
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// bareCategory tells whether an offer has no category.
func (d *deals) bareCategory(h uint64) bool { return h>>32&31 == 0 }

func (d dealSource) record(dst []byte, i uint32, st *style) []byte {
	s, _ := d.line.at(i, d.now)
	dst = append(dst, `{"id":"`...)
	dst = d.ids.appendUUID(dst, s.code)
	return st.closeRecord(d.write(d.deals, append(dst, '"'), i, s, st))
}

// dates appends startDate and endDate. Most records start at midnight, a few are announced some days ahead.
func (d *deals) dates(dst []byte, s *span, st *style, open bool) []byte {
	start := floorDay(s.begin) * dayMs
	if s.hash>>8&15 == 0 && s.end-s.begin > 8*dayMs {
		start += dayMs * (1 + int64(s.hash>>12&3))
	}
	dst = append(dst, `,"startDate":`...)
	dst = st.time(dst, start)
	if open {
		return append(dst, `,"endDate":null`...)
	}
	dst = append(dst, `,"endDate":`...)
	return st.time(dst, s.end)
}

// phrase appends a description. Each edit chooses another percentage and, every third time, another text.
func (d *deals) phrase(dst []byte, list []phrase, s *span, r *retailer) []byte {
	h := at(s.hash, 50+s.rev)
	p := &list[int(at(s.hash, 40+s.rev/3)%uint64(len(list)))]
	dst = append(dst, `,"description":"`...)
	dst = append(dst, p.before...)
	dst = strconv.AppendInt(dst, 5+below(h, 14)*5, 10)
	dst = append(dst, p.middle...)
	dst = append(dst, r.nameText...)
	dst = append(dst, p.after...)
	return append(dst, '"')
}

func (d *deals) promotion(dst []byte, i uint32, s span, st *style) []byte {
	r := d.retailer(i)
	dst = d.dates(dst, &s, st, false)
	if s.hash>>16&63 == 0 {
		dst = append(dst, `,"description":""`...)
	} else {
		dst = d.phrase(dst, d.words.promos, &s, r)
	}
	dst = append(dst, r.head...)
	dst = append(dst, r.url...)
	dst = append(dst, r.logo...)
	dst = append(dst, `,"deepLink":"https://go.deals.test/p/`...)
	dst = appendHex(dst, s.hash)
	dst = append(dst, `?to=https%3A%2F%2F`...)
	dst = append(dst, r.hostname...)
	dst = append(dst, `%2Fsale","updatedAt":`...)
	return st.time(dst, s.updated)
}

func (d *deals) coupon(dst []byte, i uint32, s span, st *style) []byte {
	r := d.retailer(i)
	switch s.hash >> 20 & 63 {
	case 0:
		dst = append(dst, `,"code":""`...)
	case 1:
		dst = append(dst, `,"code":"SAVE & \"WIN\" ü"`...)
	default:
		dst = append(dst, `,"code":"`...)
		dst = append(dst, `SAVEDEALXTRACODESALEGIFTSHOPBEST`[s.hash>>28&7*4:][:4]...)
		dst = appendBase36(dst, at(s.hash, 3), 5)
		dst = append(dst, '"')
	}
	dst = d.dates(dst, &s, st, s.hash>>32&63 == 0)
	switch s.hash >> 16 & 63 {
	case 0:
		dst = append(dst, `,"description":""`...)
	case 1:
		dst = append(dst, `,"description":null`...)
	case 2: // absent
	default:
		dst = d.phrase(dst, d.words.coupons, &s, r)
	}
	dst = append(dst, r.head...)
	dst = append(dst, r.url...)
	dst = append(dst, `,"updatedAt":`...)
	dst = st.time(dst, s.updated)
	return append(dst, r.logo...)
}

func (d *deals) offer(dst []byte, i uint32, s span, st *style) []byte {
	r := d.retailer(i)
	h := at(s.hash, 50+s.rev)
	if s.hash>>12&15 == 0 {
		dst = append(dst, `,"featured":true`...)
	} else {
		dst = append(dst, `,"featured":false`...)
	}
	dst = append(dst, `,"countries":`...)
	dst = append(dst, r.listJSON...)
	fixed := s.hash>>8&3 == 0
	dst = append(dst, `,"maximumFixedCommissionFee":`...)
	if fixed {
		dst = appendAmount(dst, (1+below(h, 400))*2500) // steps of 0.25
		dst = append(dst, `,"description":"Fixed cashback at `...)
		dst = append(dst, r.nameText...)
		dst = append(dst, '"')
	} else {
		dst = append(dst, "null"...)
		if s.hash>>16&1 == 0 {
			dst = append(dst, `,"description":""`...)
		}
	}
	if d.bareCategory(s.hash) {
		dst = append(dst, `,"category":null`...)
	} else {
		dst = append(dst, `,"category":`...)
		dst = append(dst, d.category(i).quoted...)
	}
	if s.hash>>20&15 != 0 {
		dst = append(dst, `,"termsAndExclusions":`...)
		dst = append(dst, d.words.terms[int(at(s.hash, 4)%uint64(len(d.words.terms)))]...)
	}
	switch {
	case !fixed:
		dst = append(dst, `,"cashbackPercentage":`...)
		dst = appendAmount(dst, (1+below(h, 60))*25) // a fraction, in steps of 0.0025
	case s.hash>>24&1 == 0:
		dst = append(dst, `,"cashbackPercentage":null`...)
	}
	dst = append(dst, r.head...)
	dst = append(dst, r.url...)
	dst = append(dst, `,"updatedAt":`...)
	dst = st.time(dst, s.updated)
	return append(dst, r.logo...)
}

// appendHex appends 16 digits.
func appendHex(dst []byte, v uint64) []byte {
	n := len(dst)
	dst = append(dst, "0000000000000000"...)
	putHex(dst[n:], v)
	return dst
}

// appendBase36 appends n capital letters and digits.
func appendBase36(dst []byte, v uint64, n int) []byte {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for range n {
		dst = append(dst, digits[v%36])
		v /= 36
	}
	return dst
}
