package finance

import "github.com/shopspring/decimal"

// Culprits are the transactions that were declined, or accepted again, after they were paid and before they were
// loaded. No version that was loaded shows this, but the counts of the payout do.
type Culprits struct {
	// Sets are the sets of transactions that explain the counts of the payout. Each set alone explains them. If there
	// is only one set, its transactions are the culprits (finance-5).
	Sets [][]*Transaction
	// More says that there are more sets. GaveUp says that there were too many to try.
	More, GaveUp bool
	// IfFinal says that only sets were tried in which no transaction was declined and then accepted again before it was
	// loaded, because there were too many others.
	IfFinal bool
	// Unseen are the transactions that the culprits are among.
	Unseen []*Transaction

	undeclined string // the status of those that were not declined

	declined map[*Transaction]bool // which were declined when they were paid; nil if there is no answer, or more than one
}

// Certain reports whether it is certain which transactions are the culprits.
func (c *Culprits) Certain() bool { return c.declined != nil }

// paidAs returns the state of a transaction when it was paid, and whether that was deduced and not seen.
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

// status returns the status that the unseen transactions had when they were paid, if they were not declined. If the
// payout counts only the pending ones that were seen, they were confirmed, and the other way round.
func (p *Payout) status(unseen []*Transaction) string {
	none := func(reported, stamped Figures, status string) bool {
		seen := OrZero(stamped.Count)
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

// Undeclined is the status when paid of a transaction if only one thing is certain: it was not declined.
const Undeclined = "not DECLINED"

// culprits deduces what the unseen transactions were when they were paid. Those that were declined then must match, in
// number and in amount, what the payout counts as declined beyond what was seen (finance-5).
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
		c.setDeclined(nil)
	case target.Count.Equal(all.Count) && p.Lacking() == 0:
		c.setDeclined(c.Unseen)
	case p.Lacking() > 0 || !p.amountsAgree() || equal(target, declined):
	default:
		c.search(target, budget)
	}
	return c
}

// amountsAgree reports whether the sums of all transactions match the payout: then only statuses have changed.
func (p *Payout) amountsAgree() bool {
	reported, known := p.Reported.Total.known()
	_, declined := p.Reported.Declined.known()
	return known && declined && equal(reported, p.Stamped.Total.loaded())
}

func equal(a, b Sums) bool {
	return a.Count.Equal(b.Count) && a.Value.Equal(b.Value) && a.Cashback.Equal(b.Cashback)
}

// setDeclined says which of the unseen transactions were declined when they were paid.
func (c *Culprits) setDeclined(declined []*Transaction) {
	c.declined = map[*Transaction]bool{}
	for _, t := range declined {
		c.declined[t] = true
	}
	if set := c.differing(c.declined); len(set) > 0 {
		c.Sets = [][]*Transaction{set}
	}
}

// differing returns the transactions whose status was not the one that was loaded.
func (c *Culprits) differing(declined map[*Transaction]bool) []*Transaction {
	var set []*Transaction
	for _, t := range c.Unseen {
		if declined[t] != (t.Stamped.Status == Declined) {
			set = append(set, t)
		}
	}
	return set
}

// search tries all statuses that the unseen transactions may have had. If that is too much, it tries only transactions
// that are declined now: one that was declined when it was paid is rarely accepted again.
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

// possible reports whether some statuses of the unseen transactions at payment can explain the payout's counts of each
// status, whatever their amounts were.
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

// sumsUp reports whether the payout gives all figures, and its totals are the sums of those of each status.
func (p *Payout) sumsUp() bool {
	total, known := p.Reported.Total.known()
	for _, of := range []Figures{p.Reported.Confirmed, p.Reported.Declined, p.Reported.Pending} {
		s, ok := of.known()
		total, known = total.sub(s), known && ok
	}
	return known && equal(total, Sums{decimal.Zero, decimal.Zero, decimal.Zero})
}
