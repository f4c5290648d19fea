package syncer

import (
	"slices"
	"strings"
	"time"

	"dealhouse/internal/dealapi"
)

// place is where a page begins.
type place struct {
	token   string // cursor of the page, which is the id of the item that it begins with; "" for the first page
	updated int64  // updatedAt of that item, in milliseconds; 0: not known
}

// link is where a page of a chain follows another.
type link struct {
	place
	before   place     // of the page before
	at       time.Time // local time at which the page before was asked for: the item was named after that
	serverAt time.Time // the same time by the service's clock; zero: not known
	verified bool      // it was looked at again
}

// rank orders links by how doubtful they are: the higher it is, the later the item changed,
// compared with when it was named.
func (l link) rank() int64 { return l.updated - l.at.UnixMilli() }

func medianRank(trail []link) int64 {
	ranks := make([]int64, len(trail))
	for i, l := range trail {
		ranks[i] = l.rank()
	}
	slices.Sort(ranks)
	return ranks[len(ranks)/2]
}

// maxTrail bounds the memory of a trail. Its last keptLinks links stay, as places to go back to.
const (
	maxTrail  = 8192
	keptLinks = 64
)

// link adds to the trail. If that gets too long, it drops the less doubtful half of the links.
func (c *chain) link(l link) {
	if c.hold {
		c.held = append(c.held, l)
		return
	}
	c.trail = append(c.trail, l)
	if len(c.trail) < maxTrail {
		return
	}
	limit := medianRank(c.trail)
	kept := c.trail[:0]
	for i, l := range c.trail {
		if l.rank() > limit || i >= len(c.trail)-keptLinks {
			kept = append(kept, l)
			continue
		}
		if !l.verified {
			c.pruned = []int64{slices.Max(append(c.pruned, l.rank()))}
		}
	}
	c.trail = kept
}

// shorten keeps the first n links.
func (c *chain) shorten(n int) {
	n = max(0, n)
	c.reread += len(c.trail) - n
	c.trail = c.trail[:n]
}

// giveUp ends a search that did not find its item: it cuts off the trail where the item was, and appends the links
// that were read on the way.
func (c *chain) giveUp(find *search) {
	if find == nil {
		return
	}
	c.shorten(find.at)
	c.trail, c.held, c.hold = append(c.trail, c.held...), nil, false
}

// search looks for the item of a link that was read before. at is the index of that link in the trail.
type search struct {
	link
	at    int
	pages int // that were read for the search
}

// maxSearch is the number of pages that are read to find an item: rows that were added before it may have
// pushed it to a later page.
const maxSearch = 16

// met reports whether a page has the item. After the first page, the item counts only if it has not changed.
func (f *search) met(page *dealapi.Page, rows span) bool {
	f.pages++
	if f.pages == 1 {
		return strings.EqualFold(page.Next, f.token) || rows.at(f.token) >= 0
	}
	row := rows.at(f.token)
	return row >= 0 && rows.updates()[row] == f.updated
}
