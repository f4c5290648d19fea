package apisim

import "strconv"

// book has everything about one organization's transactions that never changes, and what their records refer to.
type book struct {
	*ledger
	ids       identity
	position  int64 // of the organization; makes payout ids unique over all organizations
	orgs      int64
	retailers []retailer
	offers    *deals
	coupons   *deals
	promos    *deals
	words     *lexicon
}

// saleSource is an organization's transactions at a moment.
type saleSource struct {
	*book
	now     int64
	n       int
	touched []int64           // by number: a later updatedAt, or 0; may have fewer than n entries
	unpaid  map[int64]bool    // missed their payout because they were not listed
	payouts map[int64]*payout // by month border
}

func (t saleSource) size() int                    { return t.n }
func (t saleSource) code(i uint32) (uint64, bool) { return uint64(i), true }
func (t saleSource) identity() *identity          { return &t.ids }
func (t saleSource) matches(uint32, *filter) bool { return true }

func (t saleSource) updated(i uint32) int64 {
	s := t.sale(int64(i))
	return t.updatedAt(int64(i), &s)
}

func (t saleSource) until() int64 {
	next := t.now + forever
	if t.newStep != forever {
		n := int64(t.n)
		next = t.trackedAt(n, t.hashOf(n))
	}
	for k := range int64(t.n) {
		s := t.sale(k)
		if s.decided > t.now {
			next = min(next, s.decided)
		}
		if s.stamped > t.now {
			next = min(next, s.stamped)
		}
	}
	return next - 1
}

func (t saleSource) updatedAt(k int64, s *sale) int64 {
	u := s.tracked
	if s.decided <= t.now && s.decided > u {
		u = s.decided
	}
	if s.stamped <= t.now && s.stamped > u && !t.unpaid[k] {
		u = s.stamped
	}
	if k < int64(len(t.touched)) && t.touched[k] > u {
		u = t.touched[k]
	}
	return u
}

const (
	foreignCodes = "USDEURGBPCHF"
)

func (t saleSource) record(dst []byte, i uint32, st *style) []byte {
	k := int64(i)
	s := t.sale(k)
	a, b := at(s.hash, 11), at(s.hash, 12)
	shop := retailerOf(s.hash, len(t.retailers))
	r := &t.retailers[shop]
	clicked := s.sold - minuteMs - int64(a&0xffff)*150 // up to 2.7 hours before

	dst = append(dst, `{"id":"`...)
	dst = t.ids.appendUUID(dst, uint64(i))
	if b&127 == 0 {
		dst = append(dst, `","country":null`...)
	} else {
		dst = append(dst, `","country":`...)
		dst = append(dst, r.country...)
	}
	dst = appendClick(dst, a, clicked, st)
	dst = append(dst, `,"soldAt":`...)
	dst = st.time(dst, s.sold)
	dst = append(dst, `,"updatedAt":`...)
	dst = st.time(dst, t.updatedAt(k, &s))
	dst = append(dst, `,"currencyCode":"`...)
	if t.foreign(s.hash) {
		dst = append(dst, t.foreignCode(b)...)
	} else {
		dst = append(dst, t.currency...)
	}
	value, cashback := s.amounts(t.now, r.price)
	dst = append(dst, `","orderValue":`...)
	dst = appendAmount(dst, value)
	dst = append(dst, `,"cashback":`...)
	dst = appendAmount(dst, cashback)
	dst = appendStatus(dst, s.statusAt(t.now))
	dst = appendPassbackUID(dst, a)
	dst = append(dst, r.sold...)
	dst = t.payoutID(dst, k, &s, b>>8&1 == 0)
	if b>>9&3 != 0 {
		dst = append(dst, `,"passbackData":`...)
		dst = append(dst, t.words.passback[int(b>>16&0xff)%len(t.words.passback)]...)
	}
	dst = t.reference(dst, `,"cashbackOfferId":`, t.offers, shop, clicked, b>>24&15 != 0, b>>28&1 == 0)
	dst = t.reference(dst, `,"couponId":`, t.coupons, shop, clicked, b>>29&7 == 0, b>>32&1 == 0)
	dst = t.reference(dst, `,"promotionId":`, t.promos, shop, clicked, b>>33&15 == 0, b>>37&1 == 0)
	return st.closeRecord(dst)
}

// appendClick writes when a sale was activated, which is sometimes not known, and clicked.
func appendClick(dst []byte, a uint64, clicked int64, st *style) []byte {
	switch a >> 16 & 31 {
	case 0:
		dst = append(dst, `,"activatedAt":null`...)
	case 1: // absent
	default:
		dst = append(dst, `,"activatedAt":`...)
		dst = st.time(dst, clicked-secondMs-int64(a>>24&0xff)*200)
	}
	dst = append(dst, `,"clickedAt":`...)
	return st.time(dst, clicked)
}

func appendStatus(dst []byte, s status) []byte {
	switch s {
	case pending:
		return append(dst, `,"status":"PENDING"`...)
	case confirmed:
		return append(dst, `,"status":"CONFIRMED"`...)
	}
	return append(dst, `,"status":"DECLINED"`...)
}

// appendPassbackUID writes the user of a sale, who is sometimes not known.
func appendPassbackUID(dst []byte, a uint64) []byte {
	switch a >> 32 & 31 {
	case 0:
		return append(dst, `,"passbackUid":""`...)
	case 1:
		return append(dst, `,"passbackUid":null`...)
	case 2: // absent
		return dst
	}
	dst = append(dst, `,"passbackUid":"u-`...)
	dst = appendBase36(dst, a>>40, 5)
	return append(dst, '"')
}

func (t saleSource) payoutID(dst []byte, k int64, s *sale, null bool) []byte {
	if s.stamped <= t.now && !t.unpaid[k] {
		if p := t.payouts[s.paid]; p != nil {
			dst = append(dst, `,"payoutId":`...)
			return strconv.AppendInt(dst, p.id, 10)
		}
	}
	if null {
		return append(dst, `,"payoutId":null`...)
	}
	return dst
}

// reference appends the id of a deal of the same retailer that was listed at the time of the click. Clicks before the
// world began refer to the deals it began with.
func (t saleSource) reference(dst []byte, name string, d *deals, shop int, clicked int64, has, null bool) []byte {
	if has && shop < d.n {
		s, _ := d.line.at(uint32(shop), max(clicked, t.origin))
		dst = append(dst, name...)
		dst = append(dst, '"')
		dst = d.ids.appendUUID(dst, s.code)
		return append(dst, '"')
	}
	if null {
		dst = append(dst, name...)
		return append(dst, "null"...)
	}
	return dst
}

// foreignCode returns a currency that is not the organization's.
func (t saleSource) foreignCode(h uint64) string {
	for i := range uint64(4) {
		code := foreignCodes[(h>>40+i)&3*3:][:3]
		if code != t.currency {
			return code
		}
	}
	return t.currency
}
