//go:build !noengine && (linux || darwin)

package chdb

import "sync"

// recent remembers what was used lately, at most twice its size of entries: those of this generation, and of the one
// before it. An entry of the older generation that is used moves into the newer one.
type recent[K comparable, V any] struct {
	size int

	mu         sync.Mutex
	newer, old map[K]V
}

// get finds an entry.
func (r *recent[K, V]) get(key K) (v V, ok bool) {
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

// put adds an entry, or replaces it.
func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, v)
}

// add does so while r.mu is held.
func (r *recent[K, V]) add(key K, v V) {
	if len(r.newer) >= r.size {
		r.old, r.newer = r.newer, nil
	}
	if r.newer == nil {
		r.newer = map[K]V{}
	}
	r.newer[key] = v
}
