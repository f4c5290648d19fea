package recent

import "testing"

// The map remembers what was used lately, and never more than it has room for.
func TestMap(t *testing.T) {
	t.Parallel()
	r := New[int, int](10)
	for n := range 1000 {
		r.Put(n, n)
		if v, ok := r.Get(0); !ok || v != 0 {
			t.Fatalf("what is used all the time was forgotten after %d", n)
		}
	}
	if kept := len(r.newer) + len(r.old); kept > 20 {
		t.Errorf("%d are kept", kept)
	}
	if _, ok := r.Get(1); ok {
		t.Error("what was not used again is still there")
	}
}
