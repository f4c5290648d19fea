package notify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// One fault stops many streams, one after the other, as each is due. It is told once: streams that fail of a cause that
// the receiver knows join it without a message, and its end is told when it is over for all of them.
//
// What a receiver was told of a failing stream says when, and of which causes: "failing/acme/coupons@since.now.a~b".

// joinWithin is how long streams join a cause that was told. After that, it may be another fault of the same kind.
const joinWithin = 6 * time.Hour

// group is what was told of one cause.
type group struct {
	told  time.Time // when it was told last
	lasts bool      // a stream that was told of fails still
}

// cause identifies what a stream fails of, among all streams of the warehouse; "" is not known.
func (o *observation) cause(s Stream) string {
	c := o.standings[warehouse.StreamID{Account: s.Account, Stream: s.Stream}].Faults.Cause
	switch {
	case c == "":
		return ""
	case c == "warehouse" || strings.HasPrefix(c, "service "):
		return digest(c)
	}
	return digest(c, s.Account)
}

// causes returns what a subject of a failing stream says: when it was told, and of which causes, the last one last.
func causes(told string) (at time.Time, all []string) {
	_, since, _ := strings.Cut(told, "@")
	parts := strings.SplitN(since, ".", 3)
	if len(parts) < 3 {
		return at, nil
	}
	if ms, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
		at = time.UnixMilli(ms)
	}
	return at, strings.Split(parts[2], "~")
}

// groups finds out which causes the receiver knows.
func (e *edging) groups() {
	e.faults = map[string]group{}
	fails := map[string]bool{}
	for _, s := range e.streams {
		if _, ended, _ := e.holds(receiver.EventFailing, s, e.After); !ended {
			fails[subject{event: receiver.EventFailing, account: s.Account, name: s.Stream}.about()] = true
		}
	}
	for about, told := range e.open {
		at, all := causes(told)
		for _, c := range all {
			g := e.faults[c]
			if at.After(g.told) {
				g.told = at
			}
			g.lasts = g.lasts || fails[about] && c == all[len(all)-1]
			e.faults[c] = g
		}
	}
}

// fails adds that a stream fails, or fails of something else than what was told before.
func (e *edging) fails(s Stream, what subject, before string) {
	c := e.cause(s)
	known, at := e.faults[c], e.now
	joins := c != "" && known.told.Add(joinWithin).After(e.now)
	if joins {
		at = known.told
	}
	var all []string
	if before != "" {
		_, all = causes(before)
	}
	if c != "" {
		all = append(slices.DeleteFunc(all, func(other string) bool { return other == c }), c)
	}
	first, _, _ := strings.Cut(what.since, ".")
	what.since = first + "." + stamp(at)
	if len(all) > 0 {
		what.since += "." + strings.Join(all, "~")
	}
	subjects := []string{"+" + what.String()}
	if before != "" {
		subjects = append(subjects, "-"+before)
	}
	if joins {
		e.noted = append(e.noted, subjects...)
		return
	}
	d := e.draft(receiver.EventFailing)
	d.add(s, subjects[0], e.describe(receiver.EventFailing, s))
	d.subjects = append(d.subjects, subjects[1:]...)
}

// another adds that a stream fails of another cause than those that were told.
func (e *edging) another(s Stream, told string) {
	c := e.cause(s)
	_, all := causes(told)
	if c == "" || len(all) == 0 || slices.Contains(all, c) {
		return
	}
	_, since, _ := strings.Cut(told, "@")
	e.fails(s, subject{receiver.EventFailing, s.Account, s.Stream, since}, told)
}

// lasts reports that a cause goes on for other streams, so that its end is told later.
func (e *edging) lasts(told string) bool {
	at, all := causes(told)
	return len(all) > 0 && e.faults[all[len(all)-1]].lasts && at.Add(joinWithin).After(e.now)
}
