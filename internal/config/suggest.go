package config

import (
	"fmt"
	"strings"
)

// didYouMean returns `; did you mean "x"?` for the candidate nearest to name, or "" if none is near.
func didYouMean(name string, candidates []string) string {
	near, ok := nearest(name, candidates, len(name)/3)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// nearest finds the candidate that name was probably meant to be: the nearest one with no more than the given number of
// wrong letters, or else the only one that contains it.
func nearest(name string, candidates []string, wrong int) (string, bool) {
	// Every key is much shorter, and the comparison is quadratic.
	const longest = 128
	if name == "" || len(name) > longest {
		return "", false
	}
	plain := fold(name)
	best, bestDistance := "", wrong+1
	for _, c := range candidates {
		if d := distance(plain, fold(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best, true
	}
	const shortest = 3 // "a" is contained in nearly everything
	if len(plain) < shortest {
		return "", false
	}
	for _, c := range candidates {
		if !strings.Contains(fold(c), plain) {
			continue
		}
		if best != "" {
			return "", false
		}
		best = c
	}
	return best, best != ""
}

// fold takes away what people vary without meaning it.
func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
