package apisim

import (
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Sim is the simulated service. It is an http.Handler, all of its methods may be called at any time from any goroutine,
// and it runs no goroutine itself.
type Sim struct {
	stage *stage
	keys  map[string]account
	wall  func() time.Time

	mu     sync.Mutex // guards cur, movers, moves, world.shared and script.frozen
	cur    *world
	movers map[listName]*mover
	moves  Moves

	settingsMu sync.Mutex // serializes writers
	settings   atomic.Pointer[Settings]

	limiter limiter
	journal journal
	fault   atomic.Pointer[func(*http.Request) Fault]
	before  atomic.Pointer[func(*http.Request)]

	pages   pool      // of page buffers
	zippers sync.Pool // of *gzip.Writer
}

// New makes a world and the service that serves it.
func New(o Options) (*Sim, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Sim{stage: newStage(&o), keys: map[string]account{}, wall: o.Wall, movers: map[listName]*mover{}}
	s.cur = newWorld(s.stage)
	settings := o.Settings
	s.settings.Store(&settings)
	for i, org := range o.Orgs {
		s.keys[org.Key] = account{org: i, name: org.Name}
		s.keys[org.PayoutsKey] = account{org: i, name: org.Name, payoutsOnly: true}
	}
	return s, nil
}

// Orgs returns the names of the organizations.
func (s *Sim) Orgs() []string {
	var names []string
	for _, org := range s.stage.orgs {
		names = append(names, org.Name)
	}
	return names
}

// Keys returns the API keys of an organization: one that reads everything and one that reads payouts only. An unknown
// organization has empty keys.
func (s *Sim) Keys(org string) (full, payoutsOnly string) {
	if i := s.stage.org(org); i >= 0 {
		return s.stage.orgs[i].Key, s.stage.orgs[i].PayoutsKey
	}
	return "", ""
}

// Now returns the time of the world's clock, which also dates the answers.
func (s *Sim) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(s.cur.now).UTC()
}

// snapshot returns the present moment, which never changes from then on.
func (s *Sim) snapshot() *world {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cur.shared = true
	return s.cur
}

// change runs f on a moment that no reader has, and makes it the present one. If f returns an error, it must have
// changed nothing: its changes might stay.
func (s *Sim) change(f func(*world) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.cur
	if w.shared {
		w = w.clone()
	}
	if err := f(w); err != nil {
		return err
	}
	s.cur = w
	return nil
}

// Advance moves the world's clock: transactions come and are decided, deals and products come, change and go, histories
// slide, payouts are made. Steps of any size lead to the same world. A step back does nothing.
func (s *Sim) Advance(d time.Duration) {
	ms := d.Milliseconds()
	if ms <= 0 {
		return
	}
	_ = s.change(func(w *world) error {
		w.moveTo(w.now, w.now+ms)
		return nil
	})
}

// TouchTransactions gives a share (0 to 1) of an organization's generated transactions the present time as updatedAt,
// and returns how many it has changed. The time decides which ones, so calls at different times touch different ones.
func (s *Sim) TouchTransactions(org string, share float64) (changed int) {
	i := s.stage.org(org)
	if i < 0 || !(share > 0) {
		return 0
	}
	_ = s.change(func(w *world) error {
		o := w.orgs[i]
		src := o.transactions.src.(saleSource)
		touched := make([]int64, src.n)
		copy(touched, o.touched)
		limit := uint64(math.MaxUint64)
		if share < 1 {
			limit = uint64(share * (1 << 63) * 2)
		}
		salt := at(src.salt, uint64(w.now))
		for k := range touched {
			if mix(salt^uint64(k)*golden) <= limit {
				touched[k] = w.now
				if !o.transactions.script.hides(uint64(k)) {
					changed++
				}
			}
		}
		o.touched = touched
		o.transactions.forget()
		w.bind()
		return nil
	})
	return changed
}
