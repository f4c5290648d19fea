package conn

import (
	"errors"
	"testing"
)

// TestPoolKeepsKinds: if there are no more kinds of statements than connections allowed, each kind finds a connection
// that has its settings. There are never more connections than allowed.
func TestPoolKeepsKinds(t *testing.T) {
	t.Parallel()
	made := 0
	var refused error
	p := NewPool(2, func() (*Conn, error) {
		if refused != nil {
			return nil, refused
		}
		made++
		return &Conn{db: defaultDatabase}, nil
	})
	use := func(kind string) *Conn {
		t.Helper()
		settings := map[string]string{"kind": kind}
		c, err := p.Get(t.Context(), "", settings)
		if err != nil {
			t.Fatal(err)
		}
		c.settings = settings // as Prepare does, with the engine
		p.Put(c)
		return c
	}
	a, b := use("a"), use("b")
	for range 3 {
		if use("a") != a || use("b") != b {
			t.Error("a kind has lost its connection to the other one")
		}
	}
	if made != 2 {
		t.Errorf("%d connections were made for two kinds", made)
	}
	if c := use("c"); c != a || made != 2 {
		t.Errorf("a third kind does not have the connection that was idle for longest; %d were made", made)
	}

	// A connection that could not be opened does not count against the limit.
	p = NewPool(2, p.open)
	use("a")
	refused = errors.New("out of memory")
	if _, err := p.Get(t.Context(), "", nil); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	refused = nil
	use("b")
	if made != 4 {
		t.Errorf("%d connections were made in all, want 4", made)
	}
}
