package apisim

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
)

func FuzzIdentity(f *testing.F) {
	f.Add(uint64(0), uint64(1))
	f.Add(uint64(1<<48-1), uint64(7))
	f.Fuzz(func(t *testing.T, code, salt uint64) {
		code &= 1<<48 - 1
		d := newIdentity(salt)
		text := string(d.appendUUID(nil, code))
		if got, ok := d.parse(text); !ok || got != code {
			t.Fatalf("%d became %d (%v) by %s", code, got, ok, text)
		}
		id, err := uuid.Parse(text)
		if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || id.String() != text {
			t.Fatalf("%s: %v", text, err)
		}
		other := newIdentity(salt + 1)
		if _, ok := other.parse(text); ok {
			t.Fatalf("%s belongs to two", text)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("quote \" back \\ ü \U0001F389 \n \x01 /", true)
	f.Fuzz(func(t *testing.T, s string, ascii bool) {
		var back string
		q := appendText(nil, s, ascii)
		if err := json.Unmarshal(q, &back); err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		if string([]rune(s)) != back {
			t.Fatalf("%q became %q", s, back)
		}
	})
}

func FuzzAmount(f *testing.F) {
	for _, v := range []int64{0, 1, 10, 100, 1000, 10000, 12345, 99999, 1010, -5, 500000, math.MaxInt64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		if v == math.MinInt64 {
			return
		}
		text := string(appendAmount(nil, v))
		got, ok := new(big.Rat).SetString(text)
		if !ok || got.Cmp(big.NewRat(v, 10000)) != 0 {
			t.Fatalf("%d became %s", v, text)
		}
		// Small numbers look as JavaScript prints them.
		if v > -1e12 && v < 1e12 {
			if want := strconv.FormatFloat(float64(v)/10000, 'f', -1, 64); text != want {
				t.Fatalf("%d became %s, not %s", v, text, want)
			}
		}
	})
}

func FuzzTime(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(1773565200123))
	f.Add(int64(-1))
	st := style{cal: newCalendar(1773565200000)}
	f.Fuzz(func(t *testing.T, ms int64) {
		if ms < -60e12 || ms > 250e12 {
			return // years that do not have four digits
		}
		want := time.UnixMilli(ms).UTC().Format(`"2006-01-02T15:04:05.000Z"`)
		if got := string(st.time(nil, ms)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestCalendar(t *testing.T) {
	c := newCalendar(time.Date(2026, 3, 15, 9, 0, 0, 0, time.UTC).UnixMilli())
	for _, year := range []int{1999, 2024, 2026, 2045, 2060} { // in the table and out of it
		for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == year; at = at.Add(7 * time.Hour) {
			want := time.Date(year, at.Month()+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
			if got := c.border(at.UnixMilli()); got != want {
				t.Fatalf("border after %v is %v", at, time.UnixMilli(got).UTC())
			}
			if c.isFirst(floorDay(at.UnixMilli())) != (at.Day() == 1) {
				t.Fatalf("%v: first of the month is wrong", at)
			}
		}
	}
}

func TestCountFollowsTheTracking(t *testing.T) {
	for _, perDay := range []float64{0.0001, 0.01, 3} {
		o := Options{Transactions: 500, Rates: Rates{NewTransactions: perDay}}
		o.setDefaults()
		l := newLedger(5, &o, o.Orgs[0], newCalendar(o.Now.UnixMilli()))
		for k := range int64(2000) {
			at := l.trackedAt(k, l.hashOf(k))
			if l.count(at) < k+1 || k > 0 && l.count(at-1) > k {
				t.Fatalf("rate %v: transaction %d: %d before, %d then", perDay, k, l.count(at-1), l.count(at))
			}
		}
		if got := l.count(l.origin); got != 500 {
			t.Errorf("%d at the start", got)
		}
	}
}
