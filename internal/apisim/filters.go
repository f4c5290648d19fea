package apisim

import (
	"net/http"
	"net/url"
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
	after, refusal := date(q, c.set.Params.UpdatedAfter)
	if refusal != nil {
		return f, refusal
	}
	before, refusal := date(q, c.set.Params.UpdatedBefore)
	if refusal != nil {
		return f, refusal
	}
	if c.set.IgnoreDateFilters {
		return f, nil
	}
	// Both borders are exclusive. updatedAt has whole milliseconds. A parameter between two of them is rounded away
	// from the range, which gives the right items.
	if !after.IsZero() {
		f.after = border(after.UnixMilli())
	}
	if !before.IsZero() {
		f.before = border(before.Add(time.Millisecond - 1).UnixMilli())
	}
	return f, nil
}

// border returns ms, but -1 for 1970-01-01, because 0 means "no border".
func border(ms int64) int64 {
	if ms == 0 {
		return -1
	}
	return ms
}

func date(q url.Values, name string) (time.Time, *answer) {
	if !q.Has(name) {
		return time.Time{}, nil
	}
	t, err := parseTime(q.Get(name))
	if err != nil {
		return t, problem(http.StatusBadRequest, name, "must be an ISO 8601 date-time")
	}
	return t, nil
}
