package finance

import "github.com/shopspring/decimal"

// Culprits are the transactions that were declined, or accepted again, between being paid and being loaded: nobody saw
// it, and the counts of the payout tell.
type Culprits struct {
	// Sets are the sets of transactions that explain what the payout counts: each of them does, by itself. Where it is
	// one, these are the culprits (finance-5).
	Sets [][]*Transaction
	// More says that there are more sets than these, GaveUp that there were too many to try.
	More, GaveUp bool
	// IfFinal says that the sets are those in which nothing was declined and then accepted again before it was loaded:
	// there were too many others to try.
	IfFinal bool
	// Unseen are the transactions among which they are.
	Unseen []*Transaction

	undeclined string // the status of those that were not declined, as far as it is certain

	declined map[*Transaction]bool // when they were paid; nil where there is more than one answer, or none
}

// Certain reports whether it is certain which they are.
func (c *Culprits) Certain() bool { return c.declined != nil }

// paidAs is how a transaction stood when it was paid, and whether that was not seen but deduced.
func (c *Culprits) paidAs(t *Transaction) (s Standing, deduced bool) {
	s = t.Stamped
	if !t.Unseen || c.declined == nil || c.declined[t] == (s.Status == Declined) {
		return s, false
	}
	s.Status = Declined
	if !c.declined[t] {
		s.Status = c.undeclined
	}
	return s, true
}

// status is what the unseen were that were not declined: where the payout counts no other pending ones than were seen,
// they were confirmed, and the other way round.
func (p *Payout) status(unseen []*Transaction) string {
	none := func(reported, stamped Figures, status string) bool {
		seen := orZero(stamped.Count)
		for _, t := range unseen {
			if t.Stamped.Status == status {
				seen = seen.Sub(decimal.NewFromInt(1))
			}
		}
		return reported.Count != nil && reported.Count.Equal(seen)
	}
	switch {
	case !p.sumsUp():
	case none(p.Reported.Pending, p.Stamped.Pending, Pending):
		return Confirmed
	case none(p.Reported.Confirmed, p.Stamped.Confirmed, Confirmed):
		return Pending
	}
	return Undeclined
}

// Undeclined is the status when paid of a transaction of which only that is certain: it was not declined.
const Undeclined = "not DECLINED"

// culprits solves for what the transactions that nobody saw were when they were paid: those that were declined then are
// as many, and add up to as much, as the payout counts beyond what was seen (finance-5).
func (p *Payout) culprits(budget *Budget) Culprits {
	c := Culprits{Unseen: p.unseen()}
	c.undeclined = p.status(c.Unseen)
	want := p.Reported.Declined
	if len(c.Unseen) == 0 || want.Count == nil || p.Lacking() < 0 {
		return c
	}
	var declined, all Sums
	for _, t := range c.Unseen {
		all = all.add(t.Stamped.sums())
		if t.Stamped.Status == Declined {
			declined = declined.add(t.Stamped.sums())
		}
	}
	seen := p.Stamped.Declined.loaded().sub(declined)
	target := want.loaded().sub(seen)
	switch {
	case target.Count.IsNegative() || target.Count.GreaterThan(all.Count):
		return c // it cannot be
	case target.Count.IsZero():
		c.settle(nil)
	case target.Count.Equal(all.Count) && p.Lacking() == 0:
		c.settle(c.Unseen)
	case p.Lacking() > 0 || !p.amountsAgree() || equal(target, declined):
	default:
		c.search(target, budget)
	}
	return c
}

// amountsAgree reports whether all transactions together are what the payout says: then statuses alone have changed.
func (p *Payout) amountsAgree() bool {
	reported, known := p.Reported.Total.known()
	_, declined := p.Reported.Declined.known()
	return known && declined && equal(reported, p.Stamped.Total.loaded())
}

func equal(a, b Sums) bool {
	return a.Count.Equal(b.Count) && a.Value.Equal(b.Value) && a.Cashback.Equal(b.Cashback)
}

// settle says which of the unseen transactions were declined when they were paid.
func (c *Culprits) settle(declined []*Transaction) {
	c.declined = map[*Transaction]bool{}
	for _, t := range declined {
		c.declined[t] = true
	}
	if set := c.differing(c.declined); len(set) > 0 {
		c.Sets = [][]*Transaction{set}
	}
}

// differing are the transactions whose status was not what was loaded.
func (c *Culprits) differing(declined map[*Transaction]bool) []*Transaction {
	var set []*Transaction
	for _, t := range c.Unseen {
		if declined[t] != (t.Stamped.Status == Declined) {
			set = append(set, t)
		}
	}
	return set
}

// search looks for all that the unseen may have been. Where that is too much, it looks among what is declined now: a
// transaction that was declined when it was paid is rarely accepted again.
func (c *Culprits) search(target Sums, budget *Budget) {
	var declined []*Transaction
	for _, t := range c.Unseen {
		if t.Stamped.Status == Declined {
			declined = append(declined, t)
		}
	}
	for _, candidates := range [][]*Transaction{c.Unseen, declined} {
		items := make([]Sums, len(candidates))
		for i, t := range candidates {
			items[i] = t.Stamped.sums()
		}
		found := choose(items, target, budget)
		c.IfFinal, c.More, c.GaveUp = len(candidates) < len(c.Unseen), found.more, found.gaveUp
		if found.gaveUp {
			continue
		}
		for _, chosen := range found.found {
			then := map[*Transaction]bool{}
			for _, i := range chosen {
				then[candidates[i]] = true
			}
			c.Sets = append(c.Sets, c.differing(then))
			c.declined = then
		}
		if len(found.found) > 1 {
			c.declined = nil
		}
		return
	}
}

// possible reports whether what the unseen transactions were when they were paid can explain what the payout says of
// each status, whatever their amounts were.
func (p *Payout) possible() bool {
	if p.Lacking() != 0 || !p.sumsUp() {
		return false
	}
	unseen := p.unseen()
	for status, of := range map[string][2]Figures{
		Confirmed: {p.Reported.Confirmed, p.Stamped.Confirmed}, Declined: {p.Reported.Declined, p.Stamped.Declined},
		Pending: {p.Reported.Pending, p.Stamped.Pending},
	} {
		seen := of[1].loaded()
		for _, t := range unseen {
			if t.Stamped.Status == status {
				seen = seen.sub(t.Stamped.sums())
			}
		}
		reported := of[0].loaded()
		more := reported.Count.Cmp(seen.Count)
		if more < 0 || more == 0 && !equal(reported, seen) {
			return false
		}
	}
	return len(unseen) > 0
}

// sumsUp reports whether the payout says all, and its totals are the sums of what it says of each status.
func (p *Payout) sumsUp() bool {
	total, known := p.Reported.Total.known()
	for _, of := range []Figures{p.Reported.Confirmed, p.Reported.Declined, p.Reported.Pending} {
		s, ok := of.known()
		total, known = total.sub(s), known && ok
	}
	return known && equal(total, Sums{decimal.Zero, decimal.Zero, decimal.Zero})
}
