package web

import (
	"cmp"
	"time"
)

// Waits are time limits. A zero value means the default, which each comment gives.
type Waits struct {
	Read    time.Duration // the warehouse, before a page is shown without it; 4 s
	Detail  time.Duration // the figures of a payout, or of a month; 30 s
	Compare time.Duration // comparing payouts with all transactions, which takes seconds for millions of them; 1 min
	// Viewer is how long a viewer waits for what is read in the background, when nothing is known yet; 3 s.
	Viewer time.Duration
	Act    time.Duration // an action, including its record; 30 s

	Header  time.Duration // a client, to send the header of a request; 5 s
	Request time.Duration // a client, to send all of it; 10 s
	Answer  time.Duration // an answer, from the request on; 1 min
	Drain   time.Duration // answers under way, when the server is asked to stop; 10 s
}

// orUsual replaces zero values by the defaults.
func (w Waits) orUsual() Waits {
	return Waits{
		Read:    cmp.Or(w.Read, 4*time.Second),
		Detail:  cmp.Or(w.Detail, 30*time.Second),
		Compare: cmp.Or(w.Compare, time.Minute),
		Viewer:  cmp.Or(w.Viewer, 3*time.Second),
		Act:     cmp.Or(w.Act, 30*time.Second),
		Header:  cmp.Or(w.Header, 5*time.Second),
		Request: cmp.Or(w.Request, 10*time.Second),
		Answer:  cmp.Or(w.Answer, time.Minute),
		Drain:   cmp.Or(w.Drain, 10*time.Second),
	}
}
