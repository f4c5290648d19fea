package syncer

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
)

// A list is read by cursors, each of which is the id of the next item, while its items come, go and move. A chain of
// pages is whole (syncer-11) when each page that was asked for by a cursor begins with the item that the cursor names,
// and that item kept its place between the moment at which it was named and the moment at which its page was read. Then
// every item that did not change meanwhile is on one of the pages, whatever the list is ordered by: a page has all
// items from its first up to the next cursor's, and these ranges leave no gap. An item that did change has an updatedAt
// after the start of the chain: it is left to the next run, which reads what changed since.
//
// The updatedAt of an item shows whether it kept its place (sweep.go). If it may have moved, the page before is read
// again, up to the item. If a page begins with another item, or is empty, reading continues from the last page before
// it that can be found again. A chain that is still not whole after that has a gap, and its run is incomplete.

// The limits of mending a chain. A chain that reaches one is given up.
const (
	maxRepairs  = 30   // repairs, and one more for each repairEvery pages
	repairEvery = 100  // pages
	maxReread   = 1000 // pages that are read again, and twice the pages of the list more
	maxLoops    = 3    // how often a cursor comes back while nothing changes: once may be an item that moved to the front
	maxMisses   = 3    // a cursor that leads to another item, or is refused, this often is no item's id
	maxRefusals = 9    // so many refusals one after the other are no movement of the list
)

// cursorKind is what the cursors of a list turn out to be.
type cursorKind uint8

const (
	cursorUnknown cursorKind = iota // no page was asked for by a cursor yet
	cursorNext                      // the id of the next item, as the service promises
	cursorOpaque                    // something else: a page does not show whether it continues the one before
	cursorNone                      // the list is one array, or its pages are named by nextPage
)

// ending is how a walk through pages ended.
type ending uint8

const (
	endOfList ending = iota
	endJoined        // it met the item that it searched for
	endBroken        // a page did not begin with the item that its cursor names, or the cursor was refused
)

func newChain(d *pager) *chain {
	c := &chain{pager: d, stream: d.reader.run.Stream, log: d.reader.session.log, missed: map[string]int{}, total: -1}
	if c.stream.Paging != catalog.CursorPages {
		c.kind = cursorNone
	}
	return c
}

// read reads the list from the page start on ("" is the first), and mends the chain where it breaks.
func (c *chain) read(start string) error {
	if start != "" {
		c.listed = c.pager.reader.run.record.Totals.Read
	}
	how, err := c.walk(place{token: start}, nil)
	for err == nil && c.gap == "" {
		if how == endBroken {
			how, err = c.mend()
			continue
		}
		at := c.doubt()
		if at < 0 {
			return c.readTwice()
		}
		how, err = c.verify(at)
	}
	if err == nil && c.stream.Kind == catalog.Incremental {
		level := slog.LevelDebug
		if c.refusal != nil {
			level = slog.LevelWarn // it takes more requests, and nobody would know why
		}
		c.log.Log(c.pager.fetching, level, "reading the list in time ranges", "reason", c.reason())
		c.gap = ""
		err = c.sweep()
	}
	c.gap = c.reason()
	return err
}

// reason is why the chain is not whole, with what the service said when it refused a page.
func (c *chain) reason() string {
	if c.gap == "" || c.refusal == nil {
		return c.gap
	}
	return c.gap + ": " + c.refusal.Error()
}

// walk reads pages from a known page on, to the end of the list or to the item that find looks for,
// and returns how it ended.
func (c *chain) walk(from place, find *search) (ending, error) {
	c.order.restart()
	c.digest.restart(from.token == "")
	c.hold, c.held = find != nil, nil
	if from.token == "" {
		c.listed, c.total = 0, -1
	}
	var before *dealapi.Page
	var at place    // where that page begins
	var last string // id of its last item
	for page, err := range c.pager.pages(c.pager.whole(), from.token, pagesAhead) {
		if err != nil {
			c.giveUp(find)
			token := from.token
			if before != nil {
				token = before.Next
			}
			return endBroken, c.broken(err, token)
		}
		rows, err := c.add(page)
		if err != nil {
			return endBroken, err
		}
		if page.Total >= 0 && (c.total < 0 || page.Total < c.total) { // rows may come and go meanwhile
			c.total = page.Total
		}
		here := place{page.Token, rows.firstUpdated()}
		follows := c.follows(page, rows, from, before, link{place: here, before: at}, last)
		met := find != nil && follows && find.met(page, rows)
		if before == nil && c.pages > 1 {
			c.reread++
		}
		before, at, last = page, here, rows.last()
		if err := c.pager.flushFull(); err != nil {
			return endBroken, err
		}
		switch {
		case !follows:
			c.giveUp(find)
			return endBroken, nil
		case met:
			c.hold = false
			c.trail = slices.Insert(c.trail, find.at, c.held...)
			return endJoined, nil
		case find != nil && !c.repair(): // each page of a search may leave a link that has to be looked at again
			c.giveUp(find)
			return endBroken, nil
		case find != nil && find.pages >= maxSearch:
			c.giveUp(find)
			find = nil
		}
	}
	c.giveUp(find)
	return endOfList, nil
}

// broken returns the error if it must end the run, nil if it only breaks the chain. token was asked for.
func (c *chain) broken(err error, token string) error {
	var api *dealapi.Error
	switch {
	case c.kind == cursorNone || !errors.As(err, &api):
		return err
	case api.Kind == dealapi.KindLoop:
		if c.newest > c.looped {
			c.looped, c.loops = c.newest, 0
		}
		if c.loops++; c.loops >= maxLoops {
			if c.kind != cursorNext && c.stream.Kind != catalog.Incremental {
				return err
			}
			c.gap = "its cursors come back a second time"
		}
	case !api.CursorRefused():
		return err
	default:
		c.refusal, c.refused = api, c.refused+1
		if c.missed[token]++; c.missed[token] < maxMisses && c.refused < maxRefusals {
			break
		}
		if c.kind != cursorNext && c.stream.Kind != catalog.Incremental {
			return err
		}
		c.gap = "the service refuses cursors that it has just sent"
	}
	c.log.Debug("the chain of pages is broken", "error", err)
	return nil
}

// follows reports whether a page continues the one before it, and adds the link between them to the chain. For the
// first page of a walk, before is nil: the page must then begin at the known place that the walk starts from.
func (c *chain) follows(page *dealapi.Page, rows span, from place, before *dealapi.Page, l link, last string) bool {
	if page.Token == "" || c.kind == cursorNone {
		return true
	}
	c.refused = 0
	begins := strings.EqualFold(rows.first, page.Token)
	switch {
	case before == nil: // a page that was read before
		return c.kind == cursorOpaque || begins && (c.order.byID() || from.updated == l.updated)
	case begins:
		c.kind, c.back, c.digest.whole = cursorNext, 0, false
		l.at, l.serverAt = before.SentAt, before.ServerTime
		c.link(l)
		return true
	}
	return c.isOpaque(page.Token, last)
}

// isOpaque reports that the cursors of the list are not ids of items. It looks at a page that does not begin with the
// item that its cursor, token, names. A cursor is no item's id if it is no UUID, or if it is the last item of the page
// before. The same holds if the service sends the same cursor maxMisses times and its page begins with another item
// each time: the service would not name an item again that has gone or moved. Once a page has begun with the item of
// its cursor, cursors are ids.
func (c *chain) isOpaque(token, last string) bool {
	if c.kind != cursorUnknown {
		return c.kind == cursorOpaque
	}
	c.missed[token]++
	if uuid.Validate(token) == nil && !strings.EqualFold(token, last) && c.missed[token] < maxMisses {
		return false
	}
	c.kind = cursorOpaque
	c.logOpaque()
	return true
}

// mend continues from the last page that can be found again. It tries the page before the break first, then earlier
// ones, and finally the beginning of the list.
func (c *chain) mend() (ending, error) {
	if !c.repair() {
		return endBroken, nil
	}
	c.shorten(len(c.trail) - c.back)
	c.back = max(1, 2*c.back)
	from := place{}
	if n := len(c.trail); n > 0 {
		from = c.trail[n-1].place
	}
	return c.walk(from, nil)
}

// repair counts a repair, and reports whether it may be made.
func (c *chain) repair() bool {
	own := max(0, c.pages-c.reread) // pages that were read again do not allow more repairs
	if c.repairs++; c.repairs > maxRepairs+own/repairEvery || c.reread > maxReread+2*own {
		c.gap = fmt.Sprintf("the list moved while it was read, and the place was not found again in %d attempts", c.repairs-1)
	}
	return c.gap == ""
}

// verify reads the page before a link again, to see whether the link's item still follows it.
func (c *chain) verify(at int) (ending, error) {
	c.trail[at].verified = true
	l := c.trail[at]
	return c.walk(l.before, &search{link: l, at: at})
}

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

func (w window) before() time.Time { return w.to }

// after and before return the borders to request. Both borders of the API's filter are exclusive, so a window reaches
// one millisecond, the resolution of its timestamps, into the one before it: a row exactly on a border is read.
func (w window) after() time.Time { return w.from.Add(-time.Millisecond) }
