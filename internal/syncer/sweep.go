package syncer

import (
	"errors"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
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

// timeRange is a range of updatedAt, both ends exclusive; zero: no end.
type timeRange struct {
	after, before time.Time
	known         bool // a row was seen in it
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
