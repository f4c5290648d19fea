package apisim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// filter reads the filter parameters of a list. Parameters that the operation does not know have no effect.
func (c *call) filter(q url.Values, texts []string, dates bool) (filter, *answer) {
	var f filter
	for _, name := range texts {
		v := q.Get(name)
		switch name {
		case "hostname":
			f.hostname = v
		case "name":
			f.name = v
		case "category":
			f.category = v
		case "country":
			if v != "" && len(v) != 2 {
				return f, problem(http.StatusBadRequest, name, "must be an ISO 3166-1 alpha-2 code")
			}
			f.country = strings.ToUpper(v)
		}
	}
	if c.set.IgnoreTextFilters {
		f = filter{}
	}
	if !dates {
		return f, nil
	}
	after, refusal := c.timeOf(q, c.set.Params.UpdatedAfter)
	if refusal != nil {
		return f, refusal
	}
	before, refusal := c.timeOf(q, c.set.Params.UpdatedBefore)
	if refusal != nil {
		return f, refusal
	}
	rules := &c.set.Dates
	if c.set.IgnoreDateFilters || rules.NotAfterCursor && q.Has("cursor") {
		return f, nil
	}
	f.bySale = rules.BySale
	// The borders of a filter are exclusive. updatedAt has whole milliseconds. A parameter between two of them is
	// rounded away from the range, which gives the right items.
	if !after.IsZero() {
		f.after = border(rules.lower(after.UnixMilli()))
	}
	if !before.IsZero() {
		f.before = border(rules.upper(before.Add(time.Millisecond - 1).UnixMilli()))
	}
	return f, nil
}

// lower is the exclusive border, in milliseconds, of the after-filter.
func (r *DateRules) lower(ms int64) int64 {
	unit := r.unit()
	ms = floorDiv(ms, unit)*unit + unit - 1
	if r.AfterInclusive {
		ms -= unit
	}
	return ms
}

// upper is the exclusive border, in milliseconds, of the before-filter.
func (r *DateRules) upper(ms int64) int64 {
	unit := r.unit()
	ms = floorDiv(ms, unit) * unit
	if r.BeforeInclusive {
		ms += unit
	}
	return ms
}

func (r *DateRules) unit() int64 {
	if r.WholeSeconds {
		return 1000
	}
	return 1
}

// border returns ms, but -1 for 1970-01-01, because 0 means "no border".
func border(ms int64) int64 {
	if ms == 0 {
		return -1
	}
	return ms
}

// timeOf returns the time in the query parameter, the zero time if it is not there.
func (c *call) timeOf(q url.Values, name string) (time.Time, *answer) {
	if !q.Has(name) {
		return time.Time{}, nil
	}
	if c.set.Dates.EpochOnly {
		ms, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil {
			return time.Time{}, problem(http.StatusBadRequest, name, "must be milliseconds since 1970")
		}
		return time.UnixMilli(ms).UTC(), nil
	}
	t, err := parseTime(q.Get(name))
	if err != nil {
		return t, problem(http.StatusBadRequest, name, "must be an ISO 8601 date-time")
	}
	return t, nil
}
