package recent

import "sync"

// Map remembers what was used lately, at most twice its size of entries: those of this generation, and of the one
// before it. An entry of the older generation that is used moves into the newer one.
type Map[K comparable, V any] struct {
	size int

	mu         sync.Mutex
	newer, old map[K]V
}

// New makes a map that remembers size to twice size entries.
func New[K comparable, V any](size int) *Map[K, V] { return &Map[K, V]{size: size} }

// Get finds an entry.
func (r *Map[K, V]) Get(key K) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok = r.newer[key]; ok {
		return v, true
	}
	if v, ok = r.old[key]; ok {
		r.add(key, v)
	}
	return v, ok
}

// Put adds an entry, or replaces it.
func (r *Map[K, V]) Put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, v)
}

// add does so while r.mu is held.
func (r *Map[K, V]) add(key K, v V) {
	if len(r.newer) >= r.size {
		r.old, r.newer = r.newer, nil
	}
	if r.newer == nil {
		r.newer = map[K]V{}
	}
	r.newer[key] = v
}
