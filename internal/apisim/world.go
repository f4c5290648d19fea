package apisim

import "maps"

// stage is the part of a world that never changes: its organizations and lists, and the functions that
// compute records from the time.
type stage struct {
	endpoints []*endpoint
	orgs      []Org
	cal       *calendar
	origin    int64
	offered   map[string]*deals // by stream
	books     []*book           // by organization
	products  *products
}

// world is the state at one moment. When it is shared with a reader, it never changes any more: changes are
// made to a copy (apisim-4).
type world struct {
	*stage
	now    int64
	shared bool // guarded by Sim.mu

	deals map[string]*listing // by stream
	orgs  []*orgWorld
	feed  *feed
}

// orgWorld is what belongs to an organization at a moment.
type orgWorld struct {
	transactions *listing
	touched      []int64
	unpaid       map[int64]bool
	payouts      []payout // the oldest first
	byBorder     map[int64]*payout
	script       *script // of the payouts
}

// feed is the product feed at a moment.
type feed struct {
	src    productSource
	script *script
}

func newStage(o *Options) *stage {
	st := &stage{endpoints: endpoints(), orgs: o.Orgs, origin: o.Now.UnixMilli(), offered: map[string]*deals{}}
	st.cal = newCalendar(st.origin)
	words, shops := newLexicon(), newRetailers(o.Seed, o.Retailers)
	for _, e := range st.endpoints {
		if e.deals == nil {
			continue
		}
		salt := at(o.Seed, e.deals.salt)
		st.offered[e.stream] = &deals{
			dealKind: e.deals, n: e.number(o), ids: newIdentity(salt), retailers: shops, words: words,
			line: newTimeline(salt, st.origin, o.Rates.DealTurnover/e.deals.stay, o.Rates.DealEdits),
		}
	}
	for i, org := range o.Orgs {
		salt := hashText(at(o.Seed, 2000), org.Name)
		st.books = append(st.books, &book{
			ledger: newLedger(salt, o, org, st.cal), ids: newIdentity(salt),
			position: int64(i), orgs: int64(len(o.Orgs)), retailers: shops,
			offers: st.offered[StreamCashbackOffers], coupons: st.offered[StreamCoupons],
			promos: st.offered[StreamPromotions], words: words,
		})
	}
	salt := at(o.Seed, 3000)
	st.products = &products{
		n: o.Products, days: o.HistoryDays, ids: newIdentity(salt), retailers: shops, words: words, cal: st.cal,
		line: newTimeline(salt, st.origin, o.Rates.ProductTurnover, o.Rates.ProductPrices),
	}
	for _, brand := range words.brands {
		st.products.slugs = append(st.products.slugs, slug(brand))
	}
	return st
}

// newWorld returns the world at the time that the options name, with the payouts made before it.
func newWorld(st *stage) *world {
	w := &world{stage: st, deals: map[string]*listing{}, feed: &feed{script: newScript()}}
	for stream := range st.offered {
		w.deals[stream] = &listing{script: newScript()}
	}
	for range st.orgs {
		w.orgs = append(w.orgs, &orgWorld{
			transactions: &listing{script: newScript()}, byBorder: map[int64]*payout{}, script: newScript(),
		})
	}
	begin := st.origin
	for _, b := range st.books {
		begin = min(begin, b.start)
	}
	w.moveTo(begin-dayMs, st.origin)
	return w
}

// clone returns a copy that may be changed, with those orders of items that are still valid.
func (w *world) clone() *world {
	c := &world{
		stage: w.stage, now: w.now, deals: make(map[string]*listing, len(w.deals)),
		feed: &feed{script: w.feed.script.freeze()},
	}
	for stream, l := range w.deals {
		c.deals[stream] = l.carry()
	}
	for _, o := range w.orgs {
		c.orgs = append(c.orgs, &orgWorld{
			transactions: o.transactions.carry(),
			touched:      o.touched, // only replaced as a whole, never written to
			unpaid:       maps.Clone(o.unpaid),
			payouts:      o.payouts[:len(o.payouts):len(o.payouts)],
			byBorder:     maps.Clone(o.byBorder),
			script:       o.script.freeze(),
		})
	}
	c.bind()
	return c
}

// bind gives each list the source of this moment.
func (w *world) bind() {
	for stream, l := range w.deals {
		l.bind(dealSource{w.offered[stream], w.now}, w.now)
	}
	w.feed.src = productSource{w.products, w.now}
	for i, o := range w.orgs {
		b := w.books[i]
		o.transactions.bind(saleSource{
			book: b, now: w.now, n: int(min(b.count(w.now), maxSales)),
			touched: o.touched, unpaid: o.unpaid, payouts: o.byBorder,
		}, w.now)
	}
}

// keepOrders makes existing orders stay valid over small steps of the clock.
func (w *world) keepOrders() {
	for _, l := range w.deals {
		l.keepOrders()
	}
	for _, o := range w.orgs {
		o.transactions.keepOrders()
	}
}

// maxSales is how many transactions an organization can have: their numbers must fit the identity.
const maxSales = itemMask

// moveTo makes the payouts that are due in (from, to] and sets the clock.
func (w *world) moveTo(from, to int64) {
	for i, o := range w.orgs {
		b := w.books[i]
		hidden := o.transactions.script.hidden
		for _, border := range b.borders(from, to) {
			var skip func(int64) bool
			if len(hidden) > 0 {
				// A transaction that is not listed is never paid, now or later.
				skip = func(k int64) bool {
					if !hidden[uint64(k)] {
						return false
					}
					if o.unpaid == nil {
						o.unpaid = map[int64]bool{}
					}
					o.unpaid[k] = true
					return true
				}
			}
			if p, ok := b.makePayout(border, skip); ok {
				o.payouts = append(o.payouts, p)
				made := p
				o.byBorder[border] = &made
			}
		}
	}
	w.now = to
	w.bind()
}

// org returns the index of an organization, or -1.
func (st *stage) org(name string) int {
	for i := range st.orgs {
		if st.orgs[i].Name == name {
			return i
		}
	}
	return -1
}
