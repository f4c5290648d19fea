package syncer

import (
	"errors"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
)

// sayOpaque tells the operator once what cursors a list has.
func (c *chain) sayOpaque() {
	if _, said := c.said.LoadOrStore("opaque "+c.Account+" "+c.Stream.Name, true); said {
		return
	}
	c.log.Info("the cursors of this list are not the ids of items: whether it moves while it is read is told by reading it twice, or in ranges of time that fit on a page")
}

// lookTwice makes sure of a list with opaque cursors, in which a page does not show whether it continues the one before.
// It matters for transactions alone: deals and products are read as a whole each time, and what is missing from one list
// is not deleted before that is confirmed. A list that reads the same twice stood still in between; one that does not is
// read without its cursors.
func (c *chain) lookTwice() error {
	if c.kind != cursorOpaque || c.Stream.Kind != catalog.Incremental {
		return nil
	}
	for range 2 {
		before, whole := c.digest.hash.Sum64(), c.digest.whole
		c.reread++
		how, err := c.walk(place{}, "")
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
type timeRange struct{ after, before time.Time }

// sweep reads the range of the chain in ranges of time that fit on one page each, the earliest first. A page is of one
// moment, so a range without a cursor is complete. A row that changes moves on to a range that is still to be read, since
// none begins later than the rows that were seen: a sweep up to now has every row, those included that change meanwhile.
func (c *chain) sweep() error {
	c.swept = true
	for todo := []timeRange{{c.after, c.before}}; len(todo) > 0 && c.gap == ""; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		page, rows, err := c.firstPage(r)
		if err != nil {
			return err
		}
		var rest []timeRange
		if page.Next != "" {
			rest, c.gap = r.rest(rows)
		}
		switch err := c.flushFull(); {
		case err != nil:
			return err
		case page.Next != "" && len(rest) == 0 && c.gap == "":
			err = c.readMoment(r, page)
			if err != nil {
				return err
			}
		}
		todo = append(todo, rest...)
	}
	return nil
}

// firstPage reads the first page of a range.
func (c *chain) firstPage(r timeRange) (page *dealapi.Page, rows span, err error) {
	q := c.job.query(r.after, "")
	q.Ahead = -1
	c.job.bound(&q, r.before)
	for p, err := range c.job.Client.Pages(c.fetching, q) {
		if err != nil {
			return nil, span{}, err
		}
		page = p
		break
	}
	if rows, err = c.page(page); err == nil {
		c.observe(page, rows)
	}
	return page, rows, err
}

// readMoment goes on behind the first page of a range of one millisecond, which cannot be divided: by its cursors, which
// have to be the ids of items.
func (c *chain) readMoment(r timeRange, first *dealapi.Page) error {
	q := c.job.query(r.after, first.Next)
	c.job.bound(&q, r.before)
	for page, err := range c.job.Client.Pages(c.fetching, q) {
		var api *dealapi.Error
		if errors.As(err, &api) && api.CursorRefused() {
			c.gap = "the rows that changed in one millisecond do not fit on a page, and moved while they were read"
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := c.page(page)
		if err != nil {
			return err
		}
		c.observe(page, rows)
		if !strings.EqualFold(rows.first, page.Token) {
			c.gap = "the rows that changed in one millisecond do not fit on a page, and their cursors are not the ids of items"
		}
		if err := c.flushFull(); err != nil || c.gap != "" {
			return err
		}
	}
	return nil
}

// rest divides what is left of a range after its first page, the latest part first. Nothing is left to divide of a range
// of one millisecond. gap says why it cannot be told.
func (r timeRange) rest(rows span) (rest []timeRange, gap string) {
	updates := slices.Clone(rows.updates())
	for _, u := range updates {
		if u == 0 || !r.after.IsZero() && u <= r.after.UnixMilli() || !r.before.IsZero() && u >= r.before.UnixMilli() {
			return nil, "the service does not keep to the range of time that it is asked for"
		}
	}
	if len(updates) == 0 {
		return nil, "a page that promises more has no rows"
	}
	rising := len(updates) > enoughPairs && slices.IsSorted(updates)
	slices.Sort(updates)
	first, last := updates[0], updates[len(updates)-1]
	switch middle := updates[len(updates)/2]; {
	case rising && first < last: // these are the earliest rows: all up to the last one are here
		return []timeRange{{time.UnixMilli(last - 1), r.before}}, ""
	case middle > first:
		return []timeRange{{time.UnixMilli(middle - 1), r.before}, {r.after, time.UnixMilli(middle)}}, ""
	case last > first:
		return []timeRange{{time.UnixMilli(last - 1), r.before}, {r.after, time.UnixMilli(last)}}, ""
	case !r.after.IsZero() && first-1 <= r.after.UnixMilli() && !r.before.IsZero() && first+1 >= r.before.UnixMilli():
		return nil, ""
	}
	var parts []timeRange
	if r.before.IsZero() || first+1 < r.before.UnixMilli() {
		parts = append(parts, timeRange{time.UnixMilli(first), r.before})
	}
	parts = append(parts, timeRange{time.UnixMilli(first - 1), time.UnixMilli(first + 1)})
	if r.after.IsZero() || r.after.UnixMilli() < first-1 {
		parts = append(parts, timeRange{r.after, time.UnixMilli(first)})
	}
	return parts, ""
}
