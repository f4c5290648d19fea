package dealapi

import (
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestServerTimeIsNeverLate(t *testing.T) {
	const date = "Tue, 02 Jan 2024 10:00:05 GMT"
	at := time.Date(2024, 1, 2, 10, 0, 5, 0, time.UTC)
	for _, tc := range []struct {
		date    string
		elapsed time.Duration
		want    time.Time
	}{
		{date, 0, at},
		{date, 1500*time.Millisecond + 1, at.Add(-1501 * time.Millisecond)},
		{date, -time.Second, at}, // a clock that was set back
		{"", 0, time.Time{}},
		{"yesterday", 0, time.Time{}},
		{"Tuesday, 02-Jan-24 10:00:05 GMT", 0, at},
		{"Fri, 02 Jan 2099 10:00:05 GMT", 0, time.Date(2099, 1, 2, 10, 0, 5, 0, time.UTC)}, // the server's clock may differ
	} {
		if got := serverTime(tc.date, tc.elapsed); !got.Equal(tc.want) {
			t.Errorf("serverTime(%q, %s) = %s, want %s", tc.date, tc.elapsed, got, tc.want)
		}
	}
}

func TestPageWithoutDate(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Date"] = nil
		text(`{"data":[]}`)(w, req)
	}, nil)
	pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	if err != nil || !pages[0].ServerTime.IsZero() || pages[0].SentAt.IsZero() {
		t.Errorf("%+v %v", pages, err)
	}
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2024, 1, 2, 10, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		value, date string
		want        time.Duration
		ok          bool
	}{
		{"7", "", 7 * time.Second, true},
		{" 7 ", "", 7 * time.Second, true},
		{"1.0", "", time.Second, true},
		{"0.25", "", time.Second, true},
		{"-7", "", 0, false},
		{"+7", "", 0, false},
		{"1.", "", 0, false},
		{".5", "", 0, false},
		{"", "", 0, false},
		{"Tue, 02 Jan 2024 10:00:30 GMT", "", 30 * time.Second, true},
		// Clocks an hour apart: the answer's own Date decides.
		{"Tue, 02 Jan 2024 11:00:30 GMT", "Tue, 02 Jan 2024 11:00:00 GMT", 30 * time.Second, true},
		{"Tue, 02 Jan 2024 09:00:30 GMT", "", 0, true},
		{"99999999999999999999999", "", maxRetryAfterSeconds * time.Second, true},
	} {
		h := http.Header{}
		h.Set("Retry-After", tc.value)
		h.Set("Date", tc.date)
		if got, ok := retryAfter(h, now); got != tc.want || ok != tc.ok {
			t.Errorf("%q: %s %t, want %s %t", tc.value, got, ok, tc.want, tc.ok)
		}
	}
}

// FuzzRetryAfter compares retryAfter with what the two forms say. For anything else, it wants no wait or a bounded one.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "120", "1.5", "-1", "1e9", "99999999999999999999",
		"Tue, 02 Jan 2024 10:00:30 GMT", "Sat, 01 Jan 0000 00:00:00 GMT"} {
		f.Add(seed, "Tue, 02 Jan 2024 10:00:00 GMT")
	}
	now := time.Date(2024, 1, 2, 10, 0, 0, 0, time.UTC)
	seconds := regexp.MustCompile(`^([0-9]+)(\.[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, value, date string) {
		got, ok := retryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, now)
		if got < 0 || !ok && got != 0 {
			t.Errorf("%q, %q: %s %t", value, date, got, ok)
		}
		value = strings.TrimSpace(value)
		at, err := http.ParseTime(value)
		if err == nil {
			from, err := http.ParseTime(date)
			if err != nil {
				from = now
			}
			if want := max(at.Sub(from), 0); !ok || got != want {
				t.Errorf("%q after %q: %s %t, want %s", value, date, got, ok, want)
			}
			return
		}
		digits := seconds.FindStringSubmatch(value)
		if ok != (digits != nil) {
			t.Fatalf("%q: taken %t", value, ok)
		}
		if !ok {
			return
		}
		n, _ := new(big.Int).SetString(digits[1], 10)
		if strings.Trim(digits[2], ".0") != "" {
			n.Add(n, big.NewInt(1))
		}
		if most := big.NewInt(maxRetryAfterSeconds); n.Cmp(most) < 0 && got != time.Duration(n.Int64())*time.Second ||
			n.Cmp(most) >= 0 && got < maxRetryAfterSeconds*time.Second {
			t.Errorf("%q: %s", value, got)
		}
		serverTime(date, got)
	})
}
