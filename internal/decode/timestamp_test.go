package decode

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	for in, want := range map[string]string{
		"2023-10-01T12:00:00.000Z":          "2023-10-01T12:00:00Z",
		"2024-01-01T00:00:00":               "2024-01-01T00:00:00Z", // no zone means UTC
		"2024-01-01 00:00:00":               "2024-01-01T00:00:00Z",
		"2024-02-29":                        "2024-02-29T00:00:00Z",
		"2024-01-01T02:00:00+02:00":         "2024-01-01T00:00:00Z",
		"2023-12-31T18:30:00-0530":          "2024-01-01T00:00:00Z",
		"2024-01-01T02:00+02":               "2024-01-01T00:00:00Z",
		"2024-01-01t00:00:00z":              "2024-01-01T00:00:00Z",
		"2024-01-01T00:00:00.1Z":            "2024-01-01T00:00:00.1Z",
		"2024-01-01T00:00:00.123456789123Z": "2024-01-01T00:00:00.123Z",
		"2024-01-01T00:00:00,5Z":            "2024-01-01T00:00:00.5Z",
		"1969-12-31T23:59:59.9999Z":         "1969-12-31T23:59:59.999Z",
		"1900-01-01":                        "1900-01-01T00:00:00Z",
		"2299-12-31T23:59:59.999Z":          "2299-12-31T23:59:59.999Z",
		"1899-12-31":                        "", "2300-01-01": "", "2023-02-29": "", "2023-13-01": "", "2023-00-01": "",
		"2023-01-00":           "",
		"2023-01-01T24:00:00Z": "", "2023-01-01T23:60:00Z": "", "2023-01-01T23:59:60Z": "", "2023-01-01T": "",
		"2023-01-01T10": "", "2023-01-01T10:00:00.Z": "", "2023-01-01T10:00:00+": "", "2023-01-01T10:00:00+1": "",
		"2023-01-01T10:00:00+02:0": "", "2023-01-01T10:00:00+02:000": "", "2023-01-01T10:00:00Zjunk": "", "": "",
		"tomorrow": "", "1700000000": "",
		"20240101": "", "2023-1-1": "", "0000-00-00": "",
	} {
		ms, ok := parseTime([]byte(in))
		got := ""
		if ok {
			got = time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("parseTime(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseDay(t *testing.T) {
	for in, want := range map[string]string{
		"2026-01-31": "2026-01-31", "20260131": "2026-01-31", "1970-01-01": "1970-01-01", "2149-06-06": "2149-06-06",
		"2149-06-07": "", "1969-12-31": "", "2026-01-32": "", "2026-01": "", "2026-01-31T00:00:00Z": "", "": "",
		"xxxxxxxx": "",
	} {
		day, ok := parseDay([]byte(in))
		got := ""
		if ok {
			got = time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("parseDay(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzTime compares parseTime with the standard library: both accept the same texts as
// timestamps, and read the same time.
func FuzzTime(f *testing.F) {
	f.Add("2023-10-01T12:00:00.000Z")
	f.Add("1969-12-31T23:59:59.9999-11:30")
	f.Add("2024-02-29 00:00")
	f.Fuzz(func(t *testing.T, s string) {
		ms, ok := parseTime([]byte(s))
		want, isTime := referenceTime(s)
		inRange := isTime && want >= minTime && want <= maxTime
		if ok != inRange {
			t.Fatalf("%q: taken %t, the standard library says %t", s, ok, inRange)
		}
		if ok && ms != want {
			t.Fatalf("%q = %d, want %d", s, ms, want)
		}
	})
}

// referenceTime reads the forms of parseTime with the standard library alone.
func referenceTime(s string) (ms int64, ok bool) {
	upper := strings.ToUpper(s)
	if at, err := time.Parse(time.DateOnly, s); err == nil {
		return at.UnixMilli(), true
	}
	for _, separator := range []string{"T", " "} {
		for _, clock := range []string{"15:04", "15:04:05"} {
			for _, zone := range []string{"", "Z", "-07:00", "-0700", "-07"} {
				// Go accepts a fraction after the seconds without a layout for it. The pattern refuses what Go accepts
				// beyond ISO 8601: offsets of 24 hours or 60 minutes, and hours of one digit.
				at, err := time.Parse(time.DateOnly+separator+clock+zone, upper)
				if err == nil && isoTime.MatchString(upper) {
					return at.UnixMilli(), true
				}
			}
		}
	}
	return 0, false
}

var isoTime = regexp.MustCompile(`^.{11}\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[-+]([01]\d|2[0-3])(:?[0-5]\d)?)?$`)

// FuzzDay compares parseDay with the standard library.
func FuzzDay(f *testing.F) {
	for _, s := range []string{"2026-01-31", "20260131", "2149-06-06", "2149-06-07", "1969-12-31", "2100-02-29",
		"-0010101"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		day, ok := parseDay([]byte(s))
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			at, err = time.Parse("20060102", s)
		}
		want := at.Unix() / 86400
		if fits := err == nil && at.Unix() >= 0 && want <= maxDay; fits != ok || ok && int64(day) != want {
			t.Fatalf("%q = %d, %t, want %d, %t", s, day, ok, want, fits)
		}
	})
}
