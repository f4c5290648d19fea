package recent

import "sync"

// Map remembers the entries that were used lately, in two generations of at most size entries each. When the newer
// generation is full, it becomes the older one, and the entries of the old one are forgotten. An entry of the older
// generation that is used moves into the newer one.
type Map[K comparable, V any] struct {
	size int

	mu         sync.Mutex
	newer, old map[K]V
}

// New makes a map that remembers size to twice size entries.
func New[K comparable, V any](size int) *Map[K, V] { return &Map[K, V]{size: size} }

// Get returns an entry, which counts as a use of it.
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

// add does what Put does. The caller holds r.mu.
func (r *Map[K, V]) add(key K, v V) {
	if len(r.newer) >= r.size {
		r.old, r.newer = r.newer, nil
	}
	if r.newer == nil {
		r.newer = map[K]V{}
	}
	r.newer[key] = v
}
