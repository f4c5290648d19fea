package decode

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// These functions read forms of dates, numbers and booleans that the interface does not name but that have one meaning
// only. They run where the usual form did not fit. What could mean two things (05.01.2026, 1,234) is not read.

var (
	spelledDate = regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:$|[T ].*)`)
	denseTime   = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})(?:[Tt ]?(\d{2})(\d{2})(\d{2}(?:[.,]\d+)?)?(.*))?$`)
	weekDate    = regexp.MustCompile(`^(\d{4})-?W(\d{2})-?([1-7])$`)
	dotNetDate  = regexp.MustCompile(`^\\?/Date\((\d+)\)\\?/$`)
	utcZone     = regexp.MustCompile(`\s*(?:UTC|GMT)$|\s+[Zz]$`)
	spacedZone  = regexp.MustCompile(`\s+([-+]\d{2}:?\d{2})$`)
	namedZone   = regexp.MustCompile(`\s*(?:\[[A-Za-z0-9_+/-]+\]|\([A-Za-z0-9 _+/-]+\))$`)
	endOfDay    = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}[Tt ])24(:00(?::00(?:[.,]0+)?)?)([Zz]?|[-+].*)$`)
)

// layouts are forms with the name of a month, an hour with AM or PM, or the number of a day in its year.
var layouts = []string{
	"2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "2-Jan-2006", "2006-Jan-02",
	"2006-002", "2006002", "2006-01-02 3:04 PM", "2006-01-02 3:04:05 PM",
	"Mon Jan _2 15:04:05 2006", "Mon Jan _2 15:04:05 UTC 2006", "Mon Jan _2 15:04:05 GMT 2006",
	"Mon Jan 02 2006 15:04:05 GMT-0700", "Mon Jan 02 2006",
	"Mon, 02 Jan 2006 15:04:05 GMT", "Mon, 02 Jan 2006 15:04:05 UTC", "Mon, 02 Jan 2006 15:04:05 Z",
	"Mon, 02 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006", "2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006 15:04:05 -0700",
	"Jan 2, 2006 15:04:05", "Jan 2, 2006 15:04", "Jan 2, 2006 3:04:05 PM", "Jan 2, 2006, 3:04:05 PM",
}

// anyTime reads a timestamp in any form, in milliseconds since 1970.
func anyTime(b []byte) (ms int64, ok bool) {
	if ms, ok = parseTime(b); ok {
		return ms, true
	}
	return parseTime(isoForm(b))
}

// anyDay reads a calendar day in any form, in days since 1970. If a time of day stands beside it, it must be midnight:
// any other may be midnight in another zone, and then the day is another one too.
func anyDay(b []byte) (day uint16, ok bool) {
	if day, ok = parseDay(b); ok {
		return day, true
	}
	for _, form := range [][]byte{b, isoForm(b)} {
		days, rest, ok := parseDate(form)
		if ok && len(rest) > 0 {
			clock, zone, isClock := parseClock(rest[1:])
			_, isZone := parseZone(zone)
			ok = strings.ContainsRune("Tt ", rune(rest[0])) && isClock && isZone && clock == 0
		}
		if ok && days >= 0 && days <= maxDay {
			return uint16(days), true
		}
	}
	return 0, false
}

// isoForm rewrites a date in the form that parseTime reads. What it does not know it returns as it is.
func isoForm(b []byte) []byte {
	t := string(bytes.TrimSpace(b))
	if m := dotNetDate.FindStringSubmatch(t); m != nil {
		t = m[1]
	}
	if _, ok := splitNumber([]byte(t)); ok {
		if at, ok := epoch([]byte(t)); ok {
			return []byte(at.Format("2006-01-02T15:04:05.000Z"))
		}
		if len(t) != len("20060102") && len(t) != len("20060102150405") && len(t) != len("2006002") {
			return nil
		}
	}
	t = namedZone.ReplaceAllString(t, "")
	for _, layout := range layouts {
		if at, err := time.Parse(layout, t); err == nil {
			return []byte(at.Format("2006-01-02T15:04:05.000Z07:00"))
		}
	}
	if m := weekDate.FindStringSubmatch(t); m != nil {
		return dayOfWeek(m[1], m[2], m[3])
	}
	t = spacedZone.ReplaceAllString(utcZone.ReplaceAllString(t, ""), "$1") // no zone is UTC too (decode-7)
	if m := spelledDate.FindStringSubmatch(t); m != nil {
		rest := t[len(m[1])+len(m[2])+len(m[3])+2:]
		t = m[1] + "-" + twoWide(m[2]) + "-" + twoWide(m[3]) + rest
	} else if m := denseTime.FindStringSubmatch(t); m != nil {
		t = m[1] + "-" + m[2] + "-" + m[3]
		if m[4] != "" {
			t += "T" + m[4] + ":" + m[5]
			if m[6] != "" {
				t += ":" + m[6]
			}
			t += m[7]
		}
	}
	if m := endOfDay.FindStringSubmatch(t); m != nil {
		if at, err := time.Parse(time.DateOnly, m[1][:10]); err == nil {
			t = at.AddDate(0, 0, 1).Format(time.DateOnly) + m[1][10:] + "00" + m[2] + m[3]
		}
	}
	return []byte(t)
}

func twoWide(digits string) string {
	if len(digits) == 1 {
		return "0" + digits
	}
	return digits
}

// dayOfWeek returns the day of an ISO week.
func dayOfWeek(year, week, day string) []byte {
	y, _ := strconv.Atoi(year) // all are digits
	w, _ := strconv.Atoi(week)
	d, _ := strconv.Atoi(day)
	first := time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC) // always in the first week
	at := first.AddDate(0, 0, 7*(w-1)+d-1-(int(first.Weekday())+6)%7)
	if gotYear, gotWeek := at.ISOWeek(); gotYear != y || gotWeek != w {
		return nil
	}
	return []byte(at.Format(time.DateOnly))
}

// epoch reads a number as seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their range: all
// are from 1973 on, so that no number fits two of them. Eight digits are a day, and fourteen a day with a time.
func epoch(b []byte) (at time.Time, ok bool) {
	v, whole := parseInt(b)
	if !whole {
		if micros, _, ok := parseDecimal(b, 6); ok && micros >= 1e14 && micros < 1e16 { // seconds with a fraction
			return time.UnixMicro(micros).UTC(), true
		}
		return time.Time{}, false
	}
	if digits := strconv.FormatInt(v, 10); v >= 1e11 && v < 1e12 {
		if _, err := time.Parse("200601021504", digits); err == nil {
			return time.Time{}, false // milliseconds of 1976, or a day with hour and minute
		}
	}
	switch {
	case v >= 1e8 && v < 1e10:
		return time.Unix(v, 0).UTC(), true
	case v >= 1e11 && v < 1e13:
		return time.UnixMilli(v).UTC(), true
	case v >= 1e14 && v < 1e16:
		return time.UnixMicro(v).UTC(), true
	case v >= 1e17:
		return time.Unix(0, v).UTC(), true
	}
	return time.Time{}, false
}

// numberForms are ways to write a number in a string that have one meaning, with the characters to remove and the
// decimal mark.
var numberForms = []struct {
	form            *regexp.Regexp
	remove, decimal string
}{
	{regexp.MustCompile(`^-?(\d+\.|\.\d+)$`), "", "."},
	{regexp.MustCompile(`^-?[1-9]\d{0,2}(,\d{3})+\.\d+$`), ",", "."},
	{regexp.MustCompile(`^-?[1-9]\d{0,2}(\.\d{3})+,\d+$`), ".", ","},
	{regexp.MustCompile(`^-?[1-9]\d{0,2}(,\d{3}){2,}$`), ",", "."},
	{regexp.MustCompile(`^-?[1-9]\d{0,2}(\.\d{3}){2,}$`), ".", ","},
	{regexp.MustCompile(`^-?(\d+,(\d{1,2}|\d{4,})|0,\d+)$`), "", ","},
	{regexp.MustCompile(`^-?[1-9]\d{0,2}([ '\x{a0}\x{202f}\x{2019}]\d{3})+(\.\d+)?$`), " '\u00a0\u202f\u2019", "."},
	{regexp.MustCompile(`^-?[1-9]\d{0,2}([ '\x{a0}\x{202f}\x{2019}]\d{3})+,\d+$`), " '\u00a0\u202f\u2019", ","},
}

// anyNumber rewrites a number in a string as JSON writes it. What it does not know it returns as it is.
func anyNumber(b []byte) []byte {
	if _, ok := splitNumber(b); ok {
		return b
	}
	t := strings.TrimPrefix(string(bytes.TrimSpace(b)), "+")
	t = strings.Replace(t, "\u2212", "-", 1) // the sign of a minus
	for _, f := range numberForms {
		if !f.form.MatchString(t) {
			continue
		}
		t = strings.Map(func(r rune) rune {
			if strings.ContainsRune(f.remove, r) {
				return -1
			}
			return r
		}, t)
		sign := strings.HasPrefix(t, "-")
		whole, fraction, _ := strings.Cut(strings.TrimPrefix(t, "-"), f.decimal)
		if t = "0" + whole + "." + fraction + "0"; sign {
			t = "-" + t
		}
		break
	}
	return []byte(t)
}

// booleans are the ways to write a boolean as a string or a number.
var booleans = map[string]uint8{
	"true": 1, "1": 1, "yes": 1, "y": 1, "on": 1, "t": 1,
	"false": 0, "0": 0, "no": 0, "n": 0, "off": 0, "f": 0,
}
