package warehouse

import (
	"sync"
	"time"
)

// sightings are the leases of other processes, as this process has seen them. A lease is renewed four times in its
// time to live, each time with another version. So a lease that was not renewed for all of that time has ended,
// whatever its time of expiry and the clock of the warehouse say: the clock may have been wrong when it was written,
// or may be wrong now.
type sightings struct {
	now  func() time.Time // local; only its differences count
	mu   sync.Mutex
	seen map[StreamID]sighting
}

type sighting struct {
	version uint64
	first   time.Time // when this version was seen first
}

// left returns for how long a lease that is stored with this version still counts, if it is not renewed. byClock is the
// answer by the lease's own time of expiry and the warehouse's clock. If this process has seen the version for long,
// left returns less.
func (s *sightings) left(id StreamID, version uint64, byClock time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.now()
	last, known := s.seen[id]
	if !known || last.version != version {
		if s.seen == nil {
			s.seen = map[StreamID]sighting{}
		}
		last = sighting{version: version, first: at}
		s.seen[id] = last
	}
	return min(byClock, leaseTTL-at.Sub(last.first))
}
