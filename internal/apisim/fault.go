package apisim

import (
	"net/http"
	"time"
)

// FaultKind is what goes wrong with a request.
type FaultKind int

// The kinds of faults.
const (
	FaultNone        FaultKind = iota
	FaultStatus                // Status, Header and Body instead of the answer
	FaultHang                  // no answer until the client gives up
	FaultCut                   // the connection breaks after After bytes of the body
	FaultDrop                  // the connection breaks before the response
	FaultInvalidJSON           // a complete response with a body that is not JSON: Body, or half of the answer
	FaultErrorObject           // status 200 and an error object: Body, or a default one
	FaultRedirect              // to URL, with Status or 302
)

// Fault is what goes wrong with a request. The zero value is no fault.
type Fault struct {
	Kind   FaultKind
	Delay  time.Duration // real time to wait first; works with every kind
	Status int
	Header http.Header // added to the response
	Body   string
	After  int
	URL    string
}

// SetFault sets the function that chooses the fault of each request; nil means no faults. It runs
// before the key is checked.
func (s *Sim) SetFault(f func(*http.Request) Fault) {
	if f == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&f)
}

// SetBefore sets a function that is called before each request is served; nil means none. It may change the world.
func (s *Sim) SetBefore(f func(*http.Request)) {
	if f == nil {
		s.before.Store(nil)
		return
	}
	s.before.Store(&f)
}

// instead returns the answer that a fault gives in place of the right one, or nil.
func (f *Fault) instead() *answer {
	switch f.Kind {
	case FaultStatus:
		a := problem(f.Status, "", "a fault was asked for")
		if f.Body != "" {
			a.body = []byte(f.Body)
		}
		return a
	case FaultErrorObject:
		a := problem(http.StatusOK, "", "")
		a.body = []byte(`{"error":{"code":"INTERNAL","message":"something went wrong"}}`)
		if f.Body != "" {
			a.body = []byte(f.Body)
		}
		return a
	case FaultRedirect:
		a := problem(http.StatusFound, "", "")
		if f.Status != 0 {
			a.status = f.Status
		}
		a.body = nil
		a.header.Set("Location", f.URL)
		return a
	}
	return nil
}

// spoil makes the body of an answer invalid JSON.
func (f *Fault) spoil(a *answer) {
	if f.Body != "" {
		a.body = append(a.body[:0], f.Body...)
		return
	}
	a.body = a.body[:len(a.body)/2]
}
