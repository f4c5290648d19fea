package finance

import (
	"github.com/shopspring/decimal"
)

// Budget bounds a search, in steps of about a tenth of a microsecond and 50 bytes each. Several searches share one.
type Budget struct{ Left int }

const (
	maxSets = 6       // the most sets that a search returns
	maxHalf = 400_000 // subsets of one half of the transactions, which are in memory at once
)

// subsets has the ways to choose items of a list so that they have given sums.
type subsets struct {
	found  [][]int // indexes, ascending
	more   bool    // there are more than found
	gaveUp bool    // not all could be tried
}

// partial is a subset of one half: another partial, before, and one more item.
type partial struct {
	before, item int32
	sums         key
}

// key is the sums of a subset in units of the smallest decimal that occurs.
type key struct{ count, value, cashback int64 }

// choose finds all ways to choose a number of items with given sums. It works from two halves: it indexes
// the subsets of the first half of the items by their sums, and looks up, for each subset of the second
// half, those that complete it.
func choose(items []Sums, want Sums, budget *Budget) subsets {
	n, count := len(items), int(want.Count.IntPart())
	if count < 0 || count > n {
		return subsets{}
	}
	scaled, target, ok := scale(items, want)
	if !ok {
		return subsets{gaveUp: true}
	}
	without := 2*count > n // fewer are left out than chosen: search for these
	if without {
		rest := key{count: int64(n) - target.count, value: -target.value, cashback: -target.cashback}
		for _, s := range scaled {
			rest.value += s.value
			rest.cashback += s.cashback
		}
		target = rest
	}
	found := meet(scaled, target, budget)
	if without {
		for i, chosen := range found.found {
			found.found[i] = complement(chosen, n)
		}
	}
	return found
}

// scale converts amounts to integers, so that all sums of them are exact. ok is false if they do not fit.
func scale(items []Sums, want Sums) (scaled []key, target key, ok bool) {
	digits := int32(0)
	each := func(f func(d decimal.Decimal)) {
		for _, s := range append([]Sums{want}, items...) {
			f(s.Value)
			f(s.Cashback)
		}
	}
	each(func(d decimal.Decimal) { digits = max(digits, -d.Exponent()) })
	total := decimal.Zero
	each(func(d decimal.Decimal) { total = total.Add(d.Abs()) })
	if total.Shift(digits).GreaterThan(decimal.New(1, 18)) {
		return nil, key{}, false
	}
	unit := func(s Sums) key {
		return key{s.Count.IntPart(), s.Value.Shift(digits).IntPart(), s.Cashback.Shift(digits).IntPart()}
	}
	for _, s := range items {
		scaled = append(scaled, unit(s))
	}
	return scaled, unit(want), true
}

func meet(items []key, target key, budget *Budget) subsets {
	positive := true
	for _, k := range items {
		positive = positive && k.value >= 0 && k.cashback >= 0
	}
	if positive && (target.value < 0 || target.cashback < 0) {
		return subsets{}
	}
	half := len(items) / 2
	first, ok := enumerate(items[:half], target, positive, budget)
	if !ok {
		return subsets{gaveUp: true}
	}
	second, ok := enumerate(items[half:], target, positive, budget)
	if !ok {
		return subsets{gaveUp: true}
	}
	bySums := make(map[key][]int32, len(first))
	for i, p := range first {
		bySums[p.sums] = append(bySums[p.sums], int32(i))
	}
	var out subsets
	for i, p := range second {
		rest := key{target.count - p.sums.count, target.value - p.sums.value, target.cashback - p.sums.cashback}
		for _, f := range bySums[rest] {
			if len(out.found) == maxSets {
				out.more = true
				return out
			}
			out.found = append(out.found, append(members(first, f, 0), members(second, int32(i), half)...))
		}
	}
	return out
}

// enumerate lists the subsets that can be part of one with the target's sums. If positive is set, no amount is below
// zero, so a subset that already exceeds the target needs no more items.
func enumerate(items []key, target key, positive bool, budget *Budget) ([]partial, bool) {
	all := []partial{{before: -1, item: -1}}
	for i, k := range items {
		for j, known := 0, len(all); j < known; j++ {
			budget.Left--
			s := key{all[j].sums.count + 1, all[j].sums.value + k.value, all[j].sums.cashback + k.cashback}
			if s.count > target.count || positive && (s.value > target.value || s.cashback > target.cashback) {
				continue
			}
			if len(all) == maxHalf || budget.Left < 0 {
				return nil, false
			}
			all = append(all, partial{before: int32(j), item: int32(i), sums: s})
		}
	}
	return all, true
}

// members returns the indexes of a subset, ascending.
func members(all []partial, at int32, offset int) []int {
	var chosen []int
	for ; all[at].before >= 0; at = all[at].before {
		chosen = append(chosen, int(all[at].item)+offset)
	}
	for i, j := 0, len(chosen)-1; i < j; i, j = i+1, j-1 {
		chosen[i], chosen[j] = chosen[j], chosen[i]
	}
	return chosen
}

func complement(chosen []int, n int) []int {
	var rest []int
	for i := range n {
		if len(chosen) > 0 && chosen[0] == i {
			chosen = chosen[1:]
			continue
		}
		rest = append(rest, i)
	}
	return rest
}
