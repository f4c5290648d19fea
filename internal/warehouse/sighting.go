package warehouse

import (
	"sync"
	"time"
)

// sightings are the leases of other processes, as this process has seen them. A lease is renewed four times in its time
// to live,
// each time with another version. So one that was not renewed for all of that time has ended, whatever its time of
// expiry and the clock of the warehouse say: the clock may have been wrong when it was written, or be wrong now.
type sightings struct {
	now  func() time.Time // local, of which only differences count
	mu   sync.Mutex
	seen map[StreamID]sighting
}

type sighting struct {
	version uint64
	first   time.Time // when this version was seen first
}

// left is how long a lease that is stored with the version still counts, if it is not renewed. byClock is that by its
// own time and the warehouse's clock.
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
