package apisim

import "time"

const (
	secondMs = int64(1000)
	minuteMs = 60 * secondMs
	hourMs   = 60 * minuteMs
	dayMs    = 24 * hourMs
)

// calendar is a table of what rendering needs most about dates: the ten characters of a day, and the next first of a
// month. Days are counted from 1970-01-01, times are Unix milliseconds. Days outside the table are computed: an empty
// table does for a few.
type calendar struct {
	first int64 // day of the first entry
	days  []calendarDay
}

type calendarDay struct {
	text  [10]byte // 2026-03-15
	isOne bool     // the first of a month
	next  int32    // day number of the first of the next month
}

// newCalendar covers six years before the day of now and twenty after it.
func newCalendar(now int64) *calendar {
	c := &calendar{first: floorDay(now) - 6*366}
	c.days = make([]calendarDay, 26*366)
	for i := range c.days {
		c.days[i] = computeDay(c.first + int64(i))
	}
	return c
}

func (c *calendar) day(d int64) calendarDay {
	if i := d - c.first; i >= 0 && i < int64(len(c.days)) {
		return c.days[i]
	}
	return computeDay(d)
}

// border returns the first month border after the time t: midnight of the first day of the next month.
func (c *calendar) border(t int64) int64 {
	d := floorDay(t)
	if i := d - c.first; i >= 0 && i < int64(len(c.days)) {
		return int64(c.days[i].next) * dayMs
	}
	return int64(computeDay(d).next) * dayMs
}

func (c *calendar) isFirst(d int64) bool {
	if i := d - c.first; i >= 0 && i < int64(len(c.days)) {
		return c.days[i].isOne
	}
	return computeDay(d).isOne
}

func computeDay(d int64) calendarDay {
	t := time.Unix(d*86400, 0).UTC()
	y, m, dom := t.Date()
	var out calendarDay
	copy(out.text[:], t.Format(time.DateOnly))
	out.isOne = dom == 1
	out.next = int32(time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	return out
}

// monthNumber counts months from January 2000 to the month of a time.
func monthNumber(t int64) int64 {
	y, m, _ := time.UnixMilli(t).UTC().Date()
	return int64(y-2000)*12 + int64(m) - 1
}

func floorDay(t int64) int64 { return floorDiv(t, dayMs) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
