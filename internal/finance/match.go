package finance

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Due is what a payout paid in one currency.
type Due struct {
	Payout   int64
	Currency string // empty: not known
	Paid     decimal.Decimal
	Stamped  decimal.Decimal // what its transactions were worth when they were paid
	End      *time.Time      // of the sales that it pays; nil: not known
}

// Payment is what reached the bank, or was taken from it.
type Payment struct {
	Reference string
	On        time.Time // a day
	Currency  string    // in which it was sent
	Amount    decimal.Decimal
	Fee       decimal.Decimal // a part of Amount
	Named     []int64         // its payouts, if a person says so
	Words     []int64         // its payouts in the words of the bank
	Doubtful  []int64         // numbers in the words of the bank that may be payouts
	Kept      *Kept           // how it was matched before
}

// Kept is a match that was made before. It stays as long as the amounts agree.
type Kept struct {
	At      time.Time
	By      string
	Payouts []int64
}

// How the payouts of a payment are known.
const (
	ByName      = "named"     // a person says so
	ByReference = "reference" // the bank says so, and the amount agrees
	ByAmount    = "amount"    // only one payout has this amount
)

// Match says which payouts a payment settles. The slices besides Payouts have one amount for each of them.
type Match struct {
	By      string // empty: it is not known
	Payouts []int64
	Shares  []decimal.Decimal // of its amount
	Fees    []decimal.Decimal // of its shares
	// Rounding is what the transactions of each payout were worth beyond what arrived, rounded, if this payment is the
	// last of it.
	Rounding []decimal.Decimal
}

type payoutLine struct {
	payout   int64
	currency string
}

// matching is the state of Match.
type matching struct {
	payments []Payment
	matches  []Match
	order    []int // of the payments, by day and reference
	lines    map[payoutLine]*line
	count    map[int64]int    // lines of a payout
	told     map[int64]string // the currency of a payout of which only a payment says it
	claimed  map[int64]bool   // payouts that payments name
	until    time.Time
}

// Pair finds out which payouts payments settle (finance-6). It returns a match for each payment.
//
// What a person says comes first. Then a payment has the payouts that it had before, or those that the bank names, if
// its amount is what is left of them. Last, it has the only payout of its amount, if it can be for no other, and if no
// other payment can be for it. Otherwise nothing is claimed: also not by amount for a payment after the day until, when
// the payouts were read last, since they may lack the one that it is for.
func Pair(dues []Due, payments []Payment, until time.Time) []Match {
	m := &matching{until: until, payments: payments, matches: make([]Match, len(payments)), lines: map[payoutLine]*line{},
		count: map[int64]int{}, told: map[int64]string{}, claimed: map[int64]bool{}}
	for i := range dues {
		d := &dues[i]
		m.lines[payoutLine{d.Payout, d.Currency}] = &line{Due: d, unit: FromMinor(1, d.Currency)}
		m.count[d.Payout]++
	}
	for i := range payments {
		p := &payments[i]
		p.Words = slices.DeleteFunc(slices.Clone(p.Words), func(id int64) bool { // a year
			return m.count[id] == 0 && max(id-int64(p.On.Year()), int64(p.On.Year())-id) <= 1
		})
		m.order = append(m.order, i)
		for _, id := range slices.Concat(p.Named, p.Words, p.Doubtful) {
			m.claimed[id] = m.claimed[id] || !p.Amount.IsZero() // otherwise it was withdrawn
		}
	}
	slices.SortFunc(m.order, func(a, b int) int {
		return cmp.Or(payments[a].On.Compare(payments[b].On), cmp.Compare(payments[a].Reference, payments[b].Reference))
	})
	m.named()
	m.keep(ByReference)
	m.words()
	m.keep(ByAmount)
	m.words()
	m.amounts()
	m.words() // what was taken back of a payout that was just matched
	m.round()
	return m.matches
}

// open returns the payments without a match, in their order.
func (m *matching) open() []int {
	return slices.DeleteFunc(slices.Clone(m.order), func(i int) bool {
		return m.matches[i].By != "" || m.payments[i].Amount.IsZero() && len(m.payments[i].Named) == 0
	})
}

// named gives payments to the payouts that a person named. What fits is certain, so it comes before parts of several
// payouts.
func (m *matching) named() {
	for _, certain := range []bool{true, false} {
		for _, i := range m.open() {
			p := &m.payments[i]
			if len(p.Named) == 0 {
				continue
			}
			lines, left, known := m.of(p, p.Named)
			if certain && len(lines) > 1 && (!known || !fits(p.Amount, FromMinor(1, p.Currency), left)) {
				continue
			}
			shares := make([]decimal.Decimal, len(lines))
			if !p.Amount.IsZero() || known && len(lines) > 1 && fits(p.Amount, FromMinor(1, p.Currency), left) {
				shares = share(p.Amount, FromMinor(1, p.Currency), lines)
			}
			m.give(i, ByName, p.Named, lines, shares)
		}
	}
}

// of returns the lines of payouts in the currency of a payment, and what is left of each. known says that all are
// known.
func (m *matching) of(p *Payment, ids []int64) (lines []*line, left []decimal.Decimal, known bool) {
	known = len(ids) > 0
	for _, id := range ids {
		l := m.lines[payoutLine{id, p.Currency}]
		if l == nil && m.count[id] == 1 && cmp.Or(m.told[id], p.Currency) == p.Currency {
			l = m.lines[payoutLine{id, ""}]
		}
		lines, left = append(lines, l), append(left, decimal.Zero)
		if l == nil {
			known = false
			continue
		}
		if l.Currency == "" {
			l.unit = FromMinor(1, p.Currency)
		}
		left[len(left)-1] = l.left()
	}
	return lines, left, known
}

// keep gives payments to the payouts that they had before, in the order in which they were matched.
func (m *matching) keep(by string) {
	kept := slices.DeleteFunc(m.open(), func(i int) bool {
		k := m.payments[i].Kept
		return k == nil || k.By != by || len(m.payments[i].Words) > 0 && !slices.Equal(m.payments[i].Words, k.Payouts)
	})
	slices.SortStableFunc(kept, func(a, b int) int { return m.payments[a].Kept.At.Compare(m.payments[b].Kept.At) })
	for _, i := range kept {
		m.try(i, by, m.payments[i].Kept.Payouts)
	}
}

// words gives payments to the payouts that the bank names.
func (m *matching) words() {
	for _, i := range m.open() {
		m.try(i, ByReference, m.payments[i].Words)
	}
}

// try gives a payment to payouts if its amount is exactly what is left of them or, where the bank names them, takes
// back exactly what they were given.
func (m *matching) try(i int, by string, ids []int64) {
	p := &m.payments[i]
	lines, left, known := m.of(p, ids)
	if !known || slices.ContainsFunc(lines, func(l *line) bool { return !l.before(p.On) }) {
		return
	}
	unit := FromMinor(1, p.Currency)
	if !fits(p.Amount, unit, left) {
		for j, l := range lines {
			left[j] = l.given.Neg()
		}
		if by != ByReference || !fits(p.Amount, unit, left) {
			return
		}
	}
	m.give(i, by, ids, lines, whole(p.Amount, unit, left))
}

// before reports whether the sales of a payout had ended on a day, so that it can have been paid.
func (l *line) before(day time.Time) bool { return l.End == nil || l.End.Before(day.AddDate(0, 0, 1)) }

// give records the shares of a payment. The fee goes with the largest.
func (m *matching) give(i int, by string, ids []int64, lines []*line, shares []decimal.Decimal) {
	p := &m.payments[i]
	fees, most, direction := make([]decimal.Decimal, len(ids)), len(ids)-1, decimal.NewFromInt(int64(p.Amount.Sign()))
	for j, s := range shares {
		if s.Mul(direction).GreaterThan(decimal.Max(shares[most].Mul(direction), decimal.Zero)) {
			most = j
		}
		if l := lines[j]; l != nil && !s.IsZero() {
			l.given, l.last, l.touched = l.given.Add(s), i, true
			if l.Currency == "" {
				m.told[l.Payout] = p.Currency
			}
		}
	}
	fees[most] = p.Fee
	m.matches[i] = Match{by, ids, shares, fees, make([]decimal.Decimal, len(ids))}
}

// amounts gives payments to the only payout of their amount, until nothing more is certain.
func (m *matching) amounts() {
	for more := true; more; {
		more = false
		of, certain, only := map[int][]*line{}, map[int]bool{}, map[*line]int{} // only: of how many payments it is the only one
		for _, i := range m.open() {
			p := &m.payments[i]
			if len(p.Named)+len(p.Words) > 0 || p.On.After(m.until) {
				continue
			}
			if of[i], certain[i] = m.candidates(p); len(of[i]) == 1 {
				only[of[i][0]]++
			}
		}
		for i, lines := range of {
			if len(lines) != 1 || !certain[i] || contested(i, of, only) {
				continue
			}
			m.give(i, ByAmount, []int64{lines[0].Payout}, lines, []decimal.Decimal{m.payments[i].Amount})
			more = true
		}
	}
}

// contested reports whether the only candidate of a payment may be for another payment: for one whose other candidates
// are all needed by a third, or if there are more of them than candidates.
func contested(i int, of map[int][]*line, only map[*line]int) bool {
	rivals, candidates := 0, map[*line]bool{}
	for o, lines := range of {
		if !slices.Contains(lines, of[i][0]) {
			continue
		}
		free := o == i
		for _, l := range lines {
			candidates[l] = true
			free = free || l != of[i][0] && only[l] == 0
		}
		if rivals++; !free {
			return true
		}
	}
	return rivals > len(candidates)
}

// candidates returns the payouts that a payment could be for, by its amount and its day. If it could also be for one
// whose currency is not known, for one that another payment names, for two or three others at once, or for one that the
// bank may mean, nothing is certain.
func (m *matching) candidates(p *Payment) (of []*line, certain bool) {
	unit := FromMinor(1, p.Currency)
	var others []int64
	certain = !slices.ContainsFunc(p.Doubtful, func(id int64) bool { return m.count[id] > 0 })
	for key, l := range m.lines {
		if l.left().IsZero() || !l.before(p.On) || key.currency != p.Currency && key.currency != "" {
			continue
		}
		switch {
		case !l.left().Sub(p.Amount).Abs().LessThan(unit):
			others = append(others, parts(l.left()))
		case key.currency == "" || l.touched || m.claimed[key.payout] || l.Paid.Abs().LessThan(unit):
			certain = false
		default:
			of = append(of, l)
		}
	}
	return of, certain && (len(of) != 1 || !severalFit(parts(p.Amount), parts(unit), others))
}

// parts returns an amount in its last decimal.
func parts(amount decimal.Decimal) int64 { return amount.Shift(4).IntPart() }

// severalFit reports whether two or three amounts add up to another, where each may be rounded.
func severalFit(amount, unit int64, all []int64) bool {
	slices.Sort(all)
	pair := func(sum, within int64, of []int64) bool {
		for i, j := 0, len(of)-1; i < j; {
			switch d := of[i] + of[j] - sum; {
			case d > -within && d < within:
				return true
			case d < 0:
				i++
			default:
				j--
			}
		}
		return false
	}
	for i, first := range all {
		if pair(amount-first, 3*unit, all[i+1:]) {
			return true
		}
	}
	return pair(amount, 2*unit, all)
}

// round finds the rounding of payouts of which all has arrived.
func (m *matching) round() {
	for _, l := range m.lines {
		if !l.touched || !l.left().IsZero() || l.Stamped.Sub(l.given).Abs().GreaterThanOrEqual(l.unit) {
			continue
		}
		match := &m.matches[l.last]
		for j, id := range match.Payouts {
			if id == l.Payout {
				match.Rounding[j] = Payable(l.Stamped, m.payments[l.last].Currency).Sub(l.given)
			}
		}
	}
}
