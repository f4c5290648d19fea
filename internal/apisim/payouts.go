package apisim

import "strconv"

// payout is a report that never changes once it is made (apisim-6).
type payout struct {
	id       int64
	border   int64 // when it was made
	count    [3]int64
	gmv      [3]int64 // ten-thousandths, by status
	cashback [3]int64
	first    int64 // first and last: the earliest and the latest soldAt in it
	last     int64
}

// makePayout sums up the sales that are due at a month border, in their state at that time. The second result is
// false if there are none.
func (b *book) makePayout(border int64, skip func(k int64) bool) (payout, bool) {
	p := payout{id: (monthNumber(border)-1)*b.orgs + b.position + 1, border: border}
	lo, hi := b.between(border)
	for k := lo; k < hi; k++ {
		s := b.sale(k)
		if s.paid != border || skip != nil && skip(k) {
			continue
		}
		r := &b.retailers[retailerOf(s.hash, len(b.retailers))]
		value, cashback := s.amounts(border, r.price)
		state := s.statusAt(border)
		if p.first == 0 || s.sold < p.first {
			p.first = s.sold
		}
		if p.last == 0 || s.sold > p.last {
			p.last = s.sold
		}
		p.count[state]++
		p.gmv[state] += value
		p.cashback[state] += cashback
	}
	return p, p.count[0]+p.count[1]+p.count[2] > 0
}

func total(v [3]int64) int64 { return v[0] + v[1] + v[2] }

func (p *payout) record(dst []byte, st *style) []byte {
	number := func(name string, v int64) {
		dst = append(dst, name...)
		dst = strconv.AppendInt(dst, v, 10)
	}
	amount := func(name string, v int64) {
		dst = append(dst, name...)
		dst = appendAmount(dst, v)
	}
	n, gmv := total(p.count), total(p.gmv)
	number(`{"id":`, p.id)
	number(`,"totalTransactions":`, n)
	amount(`,"totalGmv":`, gmv)
	dst = append(dst, `,"aov":`...)
	dst = appendFloat(dst, float64(gmv)/10000/float64(n))
	amount(`,"totalCashback":`, total(p.cashback))
	number(`,"confirmedTransactions":`, p.count[confirmed])
	number(`,"declinedTransactions":`, p.count[declined])
	number(`,"pendingTransactions":`, p.count[pending])
	amount(`,"confirmedGmv":`, p.gmv[confirmed])
	amount(`,"declinedGmv":`, p.gmv[declined])
	amount(`,"pendingGmv":`, p.gmv[pending])
	amount(`,"confirmedCashback":`, p.cashback[confirmed])
	amount(`,"declinedCashback":`, p.cashback[declined])
	amount(`,"pendingCashback":`, p.cashback[pending])
	dst = append(dst, `,"startDate":`...)
	dst = st.time(dst, p.first)
	dst = append(dst, `,"endDate":`...)
	dst = st.time(dst, p.last)
	return st.closeRecord(dst)
}
