package decode

// rounding says what happened to the digits that a decimal column has no room for.
type rounding uint8

const (
	exact   rounding = iota // nothing was lost
	noise                   // the rest was binary noise: the value was closer than 1e-9 to what is kept
	rounded                 // digits that meant something were rounded away
)

// maxDecimal is the largest unscaled value of a Decimal(18, s).
const maxDecimal = 999_999_999_999_999_999

// number is a JSON number taken apart. Its value is whole.fraction times 10 to the power of exponent.
type number struct {
	negative bool
	whole    []byte // digits before the dot
	fraction []byte // digits after the dot
	exponent int
}

// digits counts all digits of the number.
func (n *number) digits() int { return len(n.whole) + len(n.fraction) }

// digit returns the i-th digit, counted from the most significant one at 0; beyond the last it returns 0.
func (n *number) digit(i int) byte {
	switch {
	case i < len(n.whole):
		return n.whole[i] - '0'
	case i < n.digits():
		return n.fraction[i-len(n.whole)] - '0'
	}
	return 0
}

// maxExponent is the largest exponent that is kept: beyond it, every number except 0 is too large or rounds to 0.
const maxExponent = 1 << 20

// splitNumber takes a JSON number apart. It reports false for anything else, including NaN, hex and a leading plus.
func splitNumber(b []byte) (n number, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		n.negative = true
		b = b[1:]
	}
	i := skipDigits(b)
	if i == 0 {
		return n, false
	}
	n.whole, b = b[:i], b[i:]
	if len(b) > 0 && b[0] == '.' {
		b = b[1:]
		if i = skipDigits(b); i == 0 {
			return n, false
		}
		n.fraction, b = b[:i], b[i:]
	}
	if len(b) == 0 {
		return n, true
	}
	if b[0] != 'e' && b[0] != 'E' {
		return n, false
	}
	n.exponent, ok = splitExponent(b[1:])
	return n, ok
}

func splitExponent(b []byte) (exponent int, ok bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 || skipDigits(b) != len(b) {
		return 0, false
	}
	for _, c := range b {
		if exponent = exponent*10 + int(c-'0'); exponent > maxExponent {
			exponent = maxExponent
		}
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

func skipDigits(b []byte) int {
	i := 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// parseDecimal reads a JSON number as an integer scaled by 10 to the power of scale, rounding half-even on the digits
// (decode-1). ok is false when b is no number or does not fit into Decimal(18, scale).
func parseDecimal(b []byte, scale int) (value int64, how rounding, ok bool) {
	n, ok := splitNumber(b)
	if !ok {
		return 0, exact, false
	}
	keep := len(n.whole) + n.exponent + scale // digits that the column has room for
	var u uint64
	for i := range keep {
		u = u*10 + uint64(n.digit(i))
		if u > maxDecimal {
			return 0, exact, false
		}
		if u == 0 && i >= n.digits() { // a zero, however large its exponent
			break
		}
	}
	how = n.restAfter(keep, scale)
	if how != exact && n.roundsUp(keep, u%2 == 1) {
		if u++; u > maxDecimal {
			return 0, exact, false
		}
	}
	if n.negative {
		return -int64(u), how, true
	}
	return int64(u), how, true
}

// restAfter says what the digits from position keep on are, for which a column of that scale has no room. They are
// noise if the number is closer than 1e-9 to the value that is kept, whichever way it was rounded.
func (n *number) restAfter(keep, scale int) rounding {
	if n.zeroFrom(keep) {
		return exact
	}
	zeros, nines := true, true
	for i := keep; i < keep+9-scale; i++ {
		d := byte(0)
		if i >= 0 {
			d = n.digit(i)
		}
		zeros = zeros && d == 0
		nines = nines && d == 9
	}
	if zeros || nines && !n.zeroFrom(keep+9-scale) {
		return noise
	}
	return rounded
}

// roundsUp decides rounding half-even: up above a half, down below it, and a half itself to the even neighbour.
func (n *number) roundsUp(keep int, odd bool) bool {
	if keep < 0 {
		return false // the first digit that is cut off is a zero before the number begins
	}
	switch d := n.digit(keep); {
	case d != 5:
		return d > 5
	case n.zeroFrom(keep + 1):
		return odd
	}
	return true
}

// zeroFrom reports whether all digits from position i on are 0.
func (n *number) zeroFrom(i int) bool {
	for i = max(i, 0); i < n.digits(); i++ {
		if n.digit(i) != 0 {
			return false
		}
	}
	return true
}

// parseInt reads a JSON number that is whole, however it is written (12, 12.0, 1.2e1).
func parseInt(b []byte) (value int64, ok bool) {
	n, ok := splitNumber(b)
	if !ok {
		return 0, false
	}
	keep := len(n.whole) + n.exponent
	if !n.zeroFrom(keep) {
		return 0, false
	}
	const limit = 1 << 63
	var u uint64
	for i := range keep {
		d := uint64(n.digit(i))
		if u > (limit-d)/10 {
			return 0, false
		}
		u = u*10 + d
		if u == 0 && i >= n.digits() {
			break
		}
	}
	if n.negative {
		return -int64(u), true // -limit is its own negative in two's complement
	}
	return int64(u), u < limit
}
