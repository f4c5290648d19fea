package syncer

import (
	"bytes"
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
)

// logOpaque logs, once for each list, that its cursors are not ids of items.
func (c *chain) logOpaque() {
	s := c.pager.reader.session
	if _, said := s.said.LoadOrStore("opaque "+s.job.Account+" "+s.job.Stream.Name, true); said {
		return
	}
	c.log.Info("the cursors of this list are not item ids: the list is read twice, or in short time ranges, to detect changes")
}

// readTwice reads a list with opaque cursors a second time, since its pages do not show whether they follow each other.
// A list that reads the same twice did not change in between. One that does not is read without its cursors. Only
// transactions need this: deals and products are read as a whole each time, and what is missing from a list is not
// deleted before that is confirmed.
func (c *chain) readTwice() error {
	if c.kind != cursorOpaque || c.stream.Kind != catalog.Incremental {
		return nil
	}
	for range 2 {
		before, whole := c.digest.hash.Sum64(), c.digest.whole
		c.reread++
		how, err := c.walk(place{}, nil)
		if err != nil {
			return err
		}
		if how == endOfList && whole && c.digest.hash.Sum64() == before {
			c.twice = true
			return nil
		}
	}
	return c.sweep()
}

// isMoment reports that the range is one millisecond, which cannot be divided.
func (r timeRange) isMoment() bool {
	return !r.after.IsZero() && !r.before.IsZero() && r.before.Sub(r.after) <= 2*time.Millisecond
}

// sweep reads the range of the chain in ranges of time that fit on one page each, the earliest first. A page comes from
// one moment, so a range that fits on one is complete. A row that changes moves to a range that is still to be read. So
// a sweep up to now has every row, even those that change while it reads. It relies on the service's filters, and has a
// gap if it sees that they do not work.
func (c *chain) sweep() error {
	c.swept = true
	for todo := []timeRange{c.pager.whole()}; len(todo) > 0 && c.gap == ""; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if r.isMoment() {
			if err := c.readMoment(r); err != nil {
				return err
			}
			continue
		}
		var rest []timeRange
		for page, err := range c.pager.pages(r, "", -1) {
			if err != nil {
				return err
			}
			rows, err := c.add(page)
			if err != nil {
				return err
			}
			if page.Next != "" {
				rest, c.gap = r.rest(rows)
			}
			if err := c.pager.flushFull(); err != nil {
				return err
			}
			break
		}
		todo = append(todo, rest...)
	}
	return nil
}

// readMoment reads a range of one millisecond by its cursors. If these are not the ids of items, it must read the same
// twice. If rows were seen in it and it is empty now, the service does not find rows by the millisecond.
func (c *chain) readMoment(r timeRange) error {
	var before reading
	for attempt := range 3 {
		now, err := c.readOnce(r)
		switch {
		case err != nil:
			return err
		case r.known && now.records == 0 && !now.broken:
			c.gap = "the service does not find rows by the millisecond at which they changed"
			return nil
		case !now.broken && (now.pages == 1 || now.begins || attempt > 0 && now == before):
			return nil
		}
		before = now
	}
	c.gap = "the rows that changed in one millisecond do not fit on a page, and moved while they were read"
	return nil
}

// reading is the result of reading a range by its cursors.
type reading struct {
	sum            uint64 // over its rows
	pages, records int
	begins         bool // each page began with the item that its cursor names
	broken         bool // a cursor was refused, or came back
}

func (c *chain) readOnce(r timeRange) (reading, error) {
	got := reading{begins: true}
	c.digest.restart(false)
	for page, err := range c.pager.pages(r, "", 1) {
		var api *dealapi.Error
		if errors.As(err, &api) && (api.CursorRefused() || api.Kind == dealapi.KindLoop) {
			got.broken = true
			return got, nil
		}
		if err != nil {
			return got, err
		}
		rows, err := c.add(page)
		if err != nil {
			return got, err
		}
		c.digest.add(rows)
		got.pages++
		got.records += page.Records()
		got.begins = got.begins && (page.Token == "" || strings.EqualFold(rows.first, page.Token))
		if err := c.pager.flushFull(); err != nil {
			return got, err
		}
	}
	got.sum = c.digest.hash.Sum64()
	return got, nil
}

// rest divides what is left of a range after its first page, the latest part first. If it cannot, gap says why. A
// row on a border is ignored, since it belongs to the range next to this: the service may keep finer times than it
// shows, or include borders.
func (r timeRange) rest(rows span) (rest []timeRange, gap string) {
	var updates []int64
	for _, u := range rows.updates() {
		if u == 0 || !r.after.IsZero() && u < r.after.UnixMilli() || !r.before.IsZero() && u > r.before.UnixMilli() {
			return nil, "the service sends rows outside the requested time range"
		}
		if (r.after.IsZero() || u > r.after.UnixMilli()) && (r.before.IsZero() || u < r.before.UnixMilli()) {
			updates = append(updates, u)
		}
	}
	at := time.UnixMilli
	if len(updates) == 0 {
		switch {
		case !r.after.IsZero() && !r.before.IsZero():
			middle := r.after.Add(r.before.Sub(r.after) / 2).Truncate(time.Millisecond)
			return []timeRange{{after: middle.Add(-time.Millisecond), before: r.before}, {after: r.after, before: middle}}, ""
		case !r.after.IsZero():
			return []timeRange{{after: r.after.Add(time.Millisecond)},
				{after: r.after, before: r.after.Add(2 * time.Millisecond)}}, ""
		}
		return nil, "a page that announces more pages has no rows with a time"
	}
	slices.Sort(updates)
	first, last, middle := updates[0], updates[len(updates)-1], updates[len(updates)/2]
	switch {
	case first < last && slices.IsSorted(rows.updates()): // these may be the earliest rows: then the first part fits on a page
		return []timeRange{{at(last - 1), r.before, true}, {r.after, at(last), true}}, ""
	case middle > first:
		return []timeRange{{at(middle - 1), r.before, true}, {r.after, at(middle), true}}, ""
	case last > first:
		return []timeRange{{at(last - 1), r.before, true}, {r.after, at(last), true}}, ""
	}
	var parts []timeRange
	if r.before.IsZero() || first+1 < r.before.UnixMilli() {
		parts = append(parts, timeRange{after: at(first), before: r.before})
	}
	parts = append(parts, timeRange{at(first - 1), at(first + 1), true})
	if r.after.IsZero() || r.after.UnixMilli() < first-1 {
		parts = append(parts, timeRange{after: r.after, before: at(first)})
	}
	return parts, ""
}

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

// span is the rows of one page, as a part of the batch that they were decoded into.
type span struct {
	batch    *decode.Batch
	from, to int
	first    string // id of the page's first record, as the page spells it; "" if there is none
}

func (s span) ids() []uuid.UUID {
	if i := s.batch.Stream.KeyField(); i >= 0 && s.batch.Columns[i].UUIDs != nil {
		return s.batch.Columns[i].UUIDs[s.from:s.to]
	}
	return nil
}

// updates returns the updatedAt of the rows, in milliseconds; 0 for a row without one.
func (s span) updates() []int64 {
	if i := s.batch.Stream.VersionField(); i >= 0 {
		return s.batch.Columns[i].Ints[s.from:s.to]
	}
	return nil
}

// firstUpdated returns the updatedAt of the page's first record, 0 if it is not known.
func (s span) firstUpdated() int64 {
	updates := s.updates()
	if len(updates) == 0 || s.batch.Key(s.from) != canonical(s.first) {
		return 0
	}
	return updates[0]
}

// last returns the id of the last row.
func (s span) last() string {
	if s.from == s.to {
		return ""
	}
	return s.batch.Key(s.to - 1)
}

// at returns the number of the row with an id, -1 if there is none.
func (s span) at(id string) int {
	want, err := uuid.Parse(id)
	if err != nil {
		return -1
	}
	return slices.Index(s.ids(), want)
}

// canonical returns an id as Batch.Key writes it.
func canonical(id string) string {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed.String()
	}
	return id
}

// order tells whether the items of a list come in the order of their ids, in which none can move, or in that of their
// updatedAt, in which an item that changes moves to the end.
type order struct {
	pairs      int  // of rows that followed each other on one page
	begun      bool // last and lastTime belong to the row before
	last       uuid.UUID
	lastTime   int64
	up, down   bool // ids went up, went down
	late, fell bool // times went forward, went back
	unknown    bool // a time was not known
}

// enoughPairs is the number of pairs of rows that show that an order is not chance. Only pairs on one page count as
// evidence for an order, because the next page may begin anywhere. All pairs count as evidence against it.
const enoughPairs = 24

// restart says that the next row does not follow the last one.
func (o *order) restart() { o.begun = false }

func (o *order) add(rows span) {
	updates := rows.updates()
	for i, id := range rows.ids() {
		at := int64(0)
		if updates != nil {
			at = updates[i]
		}
		if i > 0 {
			o.pairs++
		}
		if o.begun {
			sign := bytes.Compare(o.last[:], id[:])
			o.up, o.down = o.up || sign < 0, o.down || sign > 0
			o.late, o.fell = o.late || at > o.lastTime, o.fell || at < o.lastTime
		}
		o.unknown = o.unknown || at == 0
		o.last, o.lastTime, o.begun = id, at, true
	}
}

// byID reports that the list is in the order of ids. A list by updatedAt, in which items do move, looks the same if ids
// are assigned in the order of time. Only times that go both forward and back prove that it is not such a list.
func (o *order) byID() bool {
	return o.pairs >= enoughPairs && o.up != o.down && o.late && o.fell && !o.unknown
}

func (o *order) byTime() bool { return o.pairs >= enoughPairs && o.late && !o.fell && !o.unknown }

// sequence is a hash of the rows that a walk read, in their order.
type sequence struct {
	hash  maphash.Hash
	whole bool // the walk began at the first page
}

func (d *sequence) restart(whole bool) {
	d.hash.Reset()
	d.whole = whole
}

func (d *sequence) add(rows span) {
	updates := rows.updates()
	for i, id := range rows.ids() {
		_, _ = d.hash.Write(id[:]) // it cannot fail
		if updates != nil {
			maphash.WriteComparable(&d.hash, updates[i])
		}
	}
}
