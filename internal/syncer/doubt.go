package syncer

import (
	"time"

	"dealhouse/internal/dealapi"
)

// The service does not say when an item moved. Its updatedAt shows it, if it is compared with the right moment: the one
// at which the item was named as the next. The clock that sets updatedAt need not be that of the Date header, so its
// time is taken from the list itself. At the end of the chain, that clock shows the newest updatedAt that was seen, or
// later. When the item was named, it showed that time less the time that has passed since then, or later. An item whose
// updatedAt is earlier than this has not changed since it was named.

const (
	// clockSlack makes up for timestamps in whole seconds, and for times that are measured a little short.
	clockSlack = 2 * time.Second
	// maxClockError is how far the Date header may be ahead of the clock of updatedAt. Without it, a list in which
	// nothing has changed for days, and everything at once before that, would be doubted as a whole.
	maxClockError = 24 * time.Hour
)

// add decodes a page of the list, and notes what it shows about the clock and the order.
func (c *chain) add(page *dealapi.Page) (span, error) {
	read := &c.pager.reader.run.record.Totals.Read
	before := *read
	rows, err := c.pager.page(page)
	if err == nil {
		c.listed += *read - before
		c.observe(page, rows)
	}
	return rows, err
}

func (c *chain) observe(page *dealapi.Page, rows span) {
	c.pages++
	c.latest = page
	limit := page.ReceivedAt.UnixMilli()
	if !page.ServerTime.IsZero() {
		limit = page.ServerTime.Add(clockSlack).UnixMilli()
	}
	for _, updated := range rows.updates() {
		c.dated = c.dated || updated != 0
		if updated <= limit { // what is dated in the future says nothing about the clock
			c.newest = max(c.newest, updated)
		}
	}
	if c.kind == cursorNone {
		return
	}
	c.order.add(rows)
	if c.kind != cursorNext {
		c.digest.add(rows)
	}
}

// doubt returns the index of the most doubtful link in the trail, -1 if no link is doubtful. Items that are ordered by
// id cannot move, and without an updatedAt nothing is known about them. If a link is doubtful that was dropped from the
// trail, the chain has a gap.
func (c *chain) doubt() int {
	if c.kind != cursorNext || c.order.byID() || !c.dated {
		return -1
	}
	most := -1
	for i, l := range c.trail {
		if !l.verified && c.isDoubtful(l) && (most < 0 || l.rank() > c.trail[most].rank()) {
			most = i
		}
	}
	if len(c.pruned) > 0 && c.pruned[0] >= c.newest-c.latest.ReceivedAt.Add(clockSlack).UnixMilli() {
		c.gap = "too many of its items changed while they were read"
	}
	return most
}

func (c *chain) isDoubtful(l link) bool {
	if l.updated == 0 {
		return true
	}
	elapsed := c.latest.ReceivedAt.Sub(l.at)
	if !l.serverAt.IsZero() {
		elapsed = max(elapsed, c.latest.ServerTime.Sub(l.serverAt))
		if l.updated < l.serverAt.Add(-maxClockError).UnixMilli() {
			return false
		}
	}
	return l.updated >= c.newest-(elapsed+clockSlack).Milliseconds()
}
