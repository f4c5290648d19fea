package finance

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
)

// TestSince has matters that move after they were acknowledged, and others that do not.
func TestSince(t *testing.T) {
	t.Parallel()
	of := func(entries ...string) Matter {
		m := Matter{Entries: map[string]decimal.Decimal{}}
		for i := 0; i < len(entries); i += 2 {
			m.Entries[entries[i]] = num(entries[i+1])
		}
		return m
	}
	for _, test := range []struct {
		name        string
		before, now Matter
		tolerance   string
		open        bool
		moved       string
	}{
		{"it stands", of("a", "9"), of("a", "9.00"), "0", false, "0"},
		{"one more", of("a", "9"), of("a", "9", "b", "3"), "0", true, "3"},
		{"one less", of("a", "9", "b", "3"), of("a", "9"), "0", true, "-3"},
		{"another one, of as much", of("a", "9"), of("b", "9"), "0", true, "0"},
		{"up and down", of("a", "9", "b", "3"), of("a", "8", "b", "4"), "1.99", true, "0"},
		{"within the tolerance", of("a", "9", "b", "3"), of("a", "8", "b", "4"), "2", false, "0"},
		{"a remark stands", of("from 1 to 2", "0"), of("from 1 to 2", "0"), "5", false, "0"},
		{"another remark", of("from 1 to 2", "0"), of("from 1 to 3", "0"), "5", true, "0"},
	} {
		open, moved := test.now.Since(test.before, num(test.tolerance))
		if open != test.open || !moved.Equal(num(test.moved)) {
			t.Errorf("%s: open %t, moved %s", test.name, open, moved)
		}
	}
}

// TestAcknowledgedStaysQuiet acknowledges everything in random worlds: nothing is open then. If an amount moves, only
// its matter is open again, by as much as it moved.
func TestAcknowledgedStaysQuiet(t *testing.T) {
	t.Parallel()
	moves := 0
	for seed := range uint64(1000) {
		d := rand.New(rand.NewPCG(seed, 3))
		e := Explain(newPlay(seed, 20).payout(), &Budget{Left: 100_000})
		matters := e.Matters()
		for i, m := range matters {
			if open, moved := m.Since(matters[i], decimal.Zero); open || !moved.IsZero() {
				t.Errorf("world %d: %s is open, moved by %s", seed, m.Kind, moved)
			}
		}
		if len(matters) == 0 {
			continue
		}
		which := d.IntN(len(matters))
		later := matters[which]
		later.Entries = maps.Clone(later.Entries)
		by := decimal.New(int64(1+d.IntN(500)), -2)
		names := slices.Sorted(maps.Keys(later.Entries))
		name := names[d.IntN(len(names))]
		later.Entries[name] = later.Entries[name].Add(by)
		open, moved := later.Since(matters[which], decimal.Zero)
		if tolerated, _ := later.Since(matters[which], by); !open || tolerated || !moved.Equal(by) {
			t.Errorf("world %d: moved by %s, said %s, open %t, within the tolerance open %t", seed, by, moved, open, tolerated)
		}
		moves++
	}
	if moves < 400 {
		t.Errorf("only %d worlds had anything to acknowledge", moves)
	}
}
