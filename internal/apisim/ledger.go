package apisim

// ledger computes the life of one organization's transactions: when each is sold, tracked, decided and paid. Nothing of
// that is stored: a transaction is a function of the seed and its number. The numbers are in the order of tracking, so
// the transactions of any moment are those with a number below a count.
type ledger struct {
	salt     uint64
	origin   int64 // the clock at the start
	initial  int64 // transactions before it
	start    int64 // when the first transaction is tracked
	step     int64 // time between two transactions, before the origin
	newStep  int64 // the same after the origin; `forever` if there are none
	cal      *calendar
	mixed    uint64 // share of foreign currencies, times 2^32
	currency string
	inTime   bool // every sale is decided before its payout
}

// status of a transaction; also the index of its column in payout totals.
type status int

const (
	pending status = iota
	confirmed
	declined
)

func newLedger(salt uint64, o *Options, org Org, cal *calendar) *ledger {
	l := &ledger{
		salt: salt, origin: o.Now.UnixMilli(), initial: int64(o.Transactions), cal: cal,
		mixed: uint64(o.MixedCurrencies * (1 << 32)), currency: org.Currency, inTime: o.DecidedInTime, newStep: forever,
	}
	l.step = spanDays * dayMs / max(l.initial, 1)
	l.start = l.origin - l.step*l.initial
	if perDay := o.Rates.NewTransactions * float64(o.Transactions); perDay > 0 {
		l.newStep = max(int64(float64(dayMs)/perDay), 1)
	}
	return l
}

// sale is the life of one transaction.
type sale struct {
	hash    uint64
	tracked int64 // when the service learns of it
	sold    int64
	decided int64 // when its status becomes outcome
	outcome status
	paid    int64 // the month border of its payout
	stamped int64 // when the payout's id is written to it
}

// hashOf returns the random number of a transaction.
func (l *ledger) hashOf(k int64) uint64 { return mix(l.salt ^ uint64(k)*golden) }

// trackedAt returns when the service learns of transaction k. It grows with k.
func (l *ledger) trackedAt(k int64, h uint64) int64 {
	if k < l.initial {
		return l.start + k*l.step + below(h, l.step)
	}
	return l.origin + 1 + (k-l.initial)*l.newStep + below(h, l.newStep)
}

// payoutAge is how old a sale must be to be paid.
const payoutAge = 90 * dayMs

// stampWindow is how long after midnight transactions get the id of their payout. No transaction is decided in that
// time, so each gets it in the state that the payout counted (apisim-6).
const stampWindow = 5 * minuteMs

func (l *ledger) sale(k int64) sale {
	h := l.hashOf(k)
	s := sale{hash: mix(h), tracked: l.trackedAt(k, h)}
	// Shops report within two minutes to two days, most of them soon.
	late := int64(s.hash & 0xffff)
	s.sold = s.tracked - 2*minuteMs - late*late>>16*(2*dayMs)>>16
	d := mix(s.hash)
	wait := 15*dayMs + below(d<<16, 65*dayMs)
	if d&31 == 0 && !l.inTime { // a few stay pending for long, some of these forever
		wait = 100*dayMs + below(d<<16, 120*dayMs)
		if d>>5&15 == 0 {
			wait = forever
		}
	}
	s.decided = s.sold + wait
	if day := floorDay(s.decided); s.decided-day*dayMs < stampWindow && l.cal.isFirst(day) {
		s.decided += stampWindow
	}
	s.outcome = confirmed
	if d>>9&7 == 0 {
		s.outcome = declined
	}
	s.paid = l.cal.border(s.sold + payoutAge)
	s.stamped = s.paid + secondMs + int64(d>>40&0xffff)*4
	return s
}

// count returns how many transactions are tracked up to a time.
func (l *ledger) count(now int64) int64 {
	if now < l.start {
		return 0
	}
	var k int64
	switch {
	case now < l.origin:
		k = (now - l.start) / l.step
	case l.newStep == forever:
		return l.initial
	default:
		k = l.initial + max(now-l.origin-1, 0)/l.newStep
	}
	// k is tracked shortly before or after now; all before it are tracked already.
	if l.trackedAt(k, l.hashOf(k)) <= now {
		k++
	}
	return k
}

// statusAt returns the state of a sale at a time.
func (s *sale) statusAt(now int64) status {
	if s.decided <= now {
		return s.outcome
	}
	return pending
}

// amounts returns order value and cashback, in ten-thousandths. A few are halved when they are decided, as if part
// of the order was returned.
func (s *sale) amounts(now, price int64) (value, cashback int64) {
	h := at(s.hash, 7)
	u := int64(h >> 48)
	value = (300 + u*u>>16*u>>16*price/100) * 100 // cents; most are small
	share := int64(h>>32&0xff) + 10               // 1 % to 26 %
	switch h & 127 {
	case 0:
		value = (value/10000 + 1) * 10000 // 50
	case 1:
		value = 50_000_000 // 5000
	case 2:
		value = value/100*100 + int64(h>>16&0xff)%100 // four decimals
	case 3:
		share = 0
	}
	if s.decided <= now && h>>8&31 == 0 {
		value = value / 200 * 100
	}
	cashback = value * share / 1000
	if h>>24&63 != 0 { // a few keep four decimals
		cashback = (cashback + 50) / 100 * 100
	}
	return value, cashback
}

// foreign tells whether a sale is in a currency that is not the organization's.
func (l *ledger) foreign(h uint64) bool {
	return l.mixed > 0 && at(h, 9)>>32 < l.mixed
}

// between returns a range of numbers that includes every sale paid at a month border.
func (l *ledger) between(border int64) (lo, hi int64) {
	previous := l.cal.border(border - 32*dayMs)
	// Sold within (previous, border] - payoutAge, tracked up to two days later. The previous border may be one too
	// early, which only costs time.
	lo = l.count(previous - payoutAge - dayMs)
	hi = l.count(border - payoutAge + 3*dayMs)
	return lo, hi
}

// borders returns the month borders in (after, until].
func (l *ledger) borders(after, until int64) []int64 {
	var out []int64
	for b := l.cal.border(after); b <= until; b = l.cal.border(b) {
		out = append(out, b)
	}
	return out
}

// retailerOf chooses a retailer; small numbers sell most.
func retailerOf(h uint64, n int) int {
	u := h >> 44
	return int((u * u >> 20 * uint64(n)) >> 20)
}
