package apisim

import "math/bits"

// golden spreads consecutive numbers over 64 bits.
const golden = 0x9e3779b97f4a7c15

// mix is the finalizer of splitmix64: a bijection that scatters its input.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// at returns the n-th random number that follows from h.
func at(h uint64, n uint64) uint64 { return mix(h + n*golden) }

// below maps 64 random bits evenly to 0..n-1.
func below(h uint64, n int64) int64 {
	if n <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(h, uint64(n))
	return int64(hi)
}

// hashText returns FNV-1a of a text, mixed with the seed.
func hashText(seed uint64, text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return mix(h ^ mix(seed))
}
