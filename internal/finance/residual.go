package finance

import "github.com/shopspring/decimal"

// part is by how much a payout's figures for some of its transactions exceed what is loaded of them.
type part struct {
	beyond Sums
	own    bool // the difference between its total and its parts
}

// residual explains the part of the payout that exceeds what its transactions were worth when they were paid. shifted
// is the sums of the transactions that, as deduced, were not declined then, minus the sums of those that were.
func (p *Payout) residual(rest decimal.Decimal, shifted Sums, c *Culprits) []Item {
	var items []Item
	lacking := p.Lacking()
	possible := p.possible()
	for _, part := range p.parts(rest, shifted) {
		amount := part.beyond.Cashback
		if amount.IsZero() {
			continue
		}
		item := Item{Kind: PayoutError, Reason: OtherAmounts, Amount: amount}
		switch {
		case lacking > 0 && part.beyond.Count.IsPositive():
			item.Kind, item.Reason, item.Count = NotLoaded, Uncounted, part.beyond.Count.IntPart()
		case part.own:
			item.Reason = OwnSums
		case len(c.Sets) > 0 || possible:
			item.Kind, item.Reason = Clawback, BeforeLoaded
			if amount.IsNegative() {
				item.Kind = Claimable
			}
		}
		items = append(items, item)
	}
	return items
}

// parts splits this rest by status, as far as the payout and the seen statuses allow.
func (p *Payout) parts(rest decimal.Decimal, shifted Sums) []part {
	reported := p.Reported
	total, known := reported.Total.known()
	var by [3]Sums
	for i, of := range []Figures{reported.Confirmed, reported.Pending, reported.Declined} {
		s, ok := of.known()
		by[i], known = s, known && ok
	}
	if !known {
		return []part{{beyond: Sums{Count: decimal.NewFromInt(p.Lacking()), Cashback: rest}}}
	}
	confirmed, pending := p.Stamped.Confirmed.loaded(), p.Stamped.Pending.loaded()
	others := p.Stamped.Total.loaded().sub(confirmed).sub(pending).sub(p.Stamped.Declined.loaded())
	other := part{total.sub(by[0]).sub(by[1]).sub(by[2]).sub(others), others.Count.IsZero()}
	if len(p.unseen()) == 0 {
		return []part{{beyond: by[0].sub(confirmed)}, {beyond: by[1].sub(pending)}, other}
	}
	// It is not known which of the unseen were confirmed when they were paid, and which were pending.
	return []part{{beyond: by[0].add(by[1]).sub(confirmed).sub(pending).sub(shifted)}, other}
}
