package syncer

import (
	"sync"

	"dealhouse/internal/warehouse"
)

// Windows is how far a backfill is.
type Windows struct {
	Total   int // all windows of the range
	Done    int // windows that need not be read again: they are staged, or readers see them
	Earlier int // how many of these were done when this run began
}

// meter adds up the progress of windows that are read side by side.
type meter struct {
	mu      sync.Mutex
	ended   warehouse.Totals // of windows that were read
	live    map[*run]warehouse.Totals
	windows Windows
}

// read notes how far a window is.
func (m *meter) read(r *run, t warehouse.Totals) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[r] = t
}

// drop notes that a window is read, or given up.
func (m *meter) drop(r *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended.Add(m.live[r])
	delete(m.live, r)
}

// finish notes that this many more windows need not be read again.
func (m *meter) finish(windows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows.Done += windows
}

func (m *meter) now() (warehouse.Totals, Windows) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ended
	for _, w := range m.live {
		t.Add(w)
	}
	return t, m.windows
}
