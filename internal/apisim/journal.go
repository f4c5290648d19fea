package apisim

import "sync"

// Request is one request that was served.
type Request struct {
	Method     string
	Path       string // as asked for
	Query      string // raw
	Org        string // of the key; empty when the key was not accepted
	PayoutsKey bool
	Status     int // 0 when no response was sent
	Rows       int // records in the body
	Bytes      int // of the body before compression
}

// journal counts requests and keeps the last of them.
type journal struct {
	mu       sync.Mutex
	requests map[string]int
	rows     map[string]int
	last     []Request // a ring once it is full
	next     int
}

const journalSize = 1000

func (j *journal) arrive(path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.requests == nil {
		j.requests, j.rows = map[string]int{}, map[string]int{}
	}
	j.requests[path]++
}

func (j *journal) done(path string, r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.rows == nil {
		j.requests, j.rows = map[string]int{}, map[string]int{}
	}
	j.rows[path] += r.Rows
	if len(j.last) < journalSize {
		j.last = append(j.last, r)
		return
	}
	j.last[j.next] = r
	j.next = (j.next + 1) % journalSize
}

// Requests returns how many requests have arrived for a path, or for all paths if path is empty. Requests for one
// record count for the path that ends in /{id}, requests for paths that the API does not have count for "other".
func (s *Sim) Requests(path string) int { return sum(&s.journal, s.journal.counts, path) }

// Rows returns how many records were served from a path, or from all paths if path is empty.
func (s *Sim) Rows(path string) int { return sum(&s.journal, s.journal.served, path) }

func (j *journal) counts() map[string]int { return j.requests }
func (j *journal) served() map[string]int { return j.rows }

func sum(j *journal, counts func() map[string]int, path string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if path != "" {
		return counts()[path]
	}
	n := 0
	for _, v := range counts() {
		n += v
	}
	return n
}

// Log returns the last 1,000 requests, the oldest first.
func (s *Sim) Log() []Request {
	j := &s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	return append(append([]Request(nil), j.last[j.next:]...), j.last[:j.next]...)
}

// ResetLog forgets all requests.
func (s *Sim) ResetLog() {
	j := &s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests, j.rows, j.last, j.next = nil, nil, nil, 0
}
