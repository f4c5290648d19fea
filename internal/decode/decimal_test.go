package decode

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		in    string
		scale int
		want  int64
		how   rounding
		ok    bool
	}{
		{"0", 4, 0, exact, true},
		{"-0", 4, 0, exact, true},
		{"0.1", 4, 1000, exact, true},
		{"112.45", 4, 1124500, exact, true},
		{"5000", 4, 50000000, exact, true},
		{"1e2", 4, 1000000, exact, true},
		{"1E+2", 4, 1000000, exact, true},
		{"5e-3", 4, 50, exact, true},
		{"-5e-3", 4, -50, exact, true},
		{"99999999999999.9999", 4, 999999999999999999, exact, true},
		{"-99999999999999.9999", 4, -999999999999999999, exact, true},
		{"99999999999999.99995", 4, 0, exact, false},
		{"100000000000000", 4, 0, exact, false},
		{"1e14", 4, 0, exact, false},
		{"1e400", 4, 0, exact, false},
		{"1e99999999999999999999", 4, 0, exact, false},
		{"0e99999999999999999999", 4, 0, exact, true},
		{"1e-400", 4, 0, noise, true},
		{"23.139999999999997", 4, 231400, noise, true},
		{"23.140000000000001", 4, 231400, noise, true},
		{"12.34567", 4, 123457, rounded, true},
		{"1.239", 2, 124, rounded, true},
		{"75.57", 4, 755700, exact, true},
		{"0.00005", 4, 0, rounded, true}, // half to even: 0
		{"0.00015", 4, 2, rounded, true}, // half to even: 2
		{"0.000150001", 4, 2, rounded, true},
		{"0.00025", 4, 2, rounded, true}, // half to even: 2
		{"0.000251", 4, 3, rounded, true},
		{"-0.00015", 4, -2, rounded, true},
		{"1.00009999", 4, 10001, rounded, true},  // four nines are 1e-8 away: not noise
		{"1.000099999", 4, 10001, rounded, true}, // exactly 1e-9 away: not below
		{"1.0000999991", 4, 10001, noise, true},
		{"1.000000001", 4, 10000, rounded, true},
		{"1.0000000009", 4, 10000, noise, true},
		{"0.0333333333333", 9, 33333333, noise, true},
		{"10.3333333333333", 6, 10333333, rounded, true},
		{"", 4, 0, exact, false},
		{"-", 4, 0, exact, false},
		{"+1", 4, 0, exact, false},
		{".5", 4, 0, exact, false},
		{"5.", 4, 0, exact, false},
		{"1e", 4, 0, exact, false},
		{"NaN", 4, 0, exact, false},
		{"0x10", 4, 0, exact, false},
		{"1,5", 4, 0, exact, false},
	} {
		got, how, ok := parseDecimal([]byte(c.in), c.scale)
		if got != c.want || how != c.how || ok != c.ok {
			t.Errorf("parseDecimal(%q, %d) = %d, %d, %v; want %d, %d, %v", c.in, c.scale, got, how, ok, c.want, c.how, c.ok)
		}
	}
}

func TestParseInt(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "12": "12", "12.0": "12", "1.2e1": "12", "1200e-2": "12",
		"9223372036854775807": "9223372036854775807", "-9223372036854775808": "-9223372036854775808",
		"9223372036854775808": "no", "-9223372036854775809": "no", "12.5": "no", "1e30": "no", "0e30": "0", "x": "no",
	} {
		v, ok := parseInt([]byte(in))
		got := fmt.Sprint(v)
		if !ok {
			got = "no"
		}
		if got != want {
			t.Errorf("parseInt(%q) = %s, want %s", in, got, want)
		}
	}
}

// FuzzDecimal compares parseDecimal with arbitrary-precision arithmetic.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0.1", "112.45", "1e2", "5e-3", "23.139999999999997", "-0.00015", "99999999999999.99995",
		"1e-400"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 60 || strings.ContainsAny(s, "eE") && len(s) > 12 {
			return // big.Rat would write out a huge exponent
		}
		for _, scale := range []int{4, 6, 9} {
			got, how, ok := parseDecimal([]byte(s), scale)
			n, isNumber := splitNumber([]byte(s))
			if !isNumber {
				if ok {
					t.Fatalf("%q is no number but gave %d", s, got)
				}
				continue
			}
			if n.exponent > 1000 || n.exponent < -1000 {
				continue
			}
			exactValue, valid := new(big.Rat).SetString(s)
			if !valid {
				t.Fatalf("%q passed for a number", s)
			}
			unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
			want := halfEven(new(big.Rat).Mul(exactValue, unit))
			fits := new(big.Int).Abs(want).Cmp(big.NewInt(maxDecimal)) <= 0
			if fits != ok {
				t.Fatalf("%q at scale %d: ok = %v, want %v", s, scale, ok, fits)
			}
			if !ok {
				continue
			}
			if want.Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("%q at scale %d = %d, want %s", s, scale, got, want)
			}
			off := new(big.Rat).Sub(exactValue, new(big.Rat).Quo(new(big.Rat).SetInt64(got), unit))
			off.Abs(off)
			wantHow := rounded
			if off.Sign() == 0 {
				wantHow = exact
			} else if off.Cmp(big.NewRat(1, 1_000_000_000)) < 0 {
				wantHow = noise
			}
			if how != wantHow {
				t.Fatalf("%q at scale %d: rounding %d, want %d (off by %s)", s, scale, how, wantHow, off)
			}
		}
	})
}

func halfEven(r *big.Rat) *big.Int {
	quotient, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	twice := new(big.Int).Mul(new(big.Int).Abs(rest), big.NewInt(2))
	if c := twice.Cmp(r.Denom()); c > 0 || c == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(int64(r.Sign())))
	}
	return quotient
}
