package warehouse

import "testing"

func TestZ(t *testing.T) {
	for _, n := range []string{"acme", "globex", "initech", "one", "two"} {
		t.Log(n, homeOf(n, 2), homeOf(n, 3), homeOf(n, 5))
	}
}
