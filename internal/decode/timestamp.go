package decode

import "time"

// Limits of DateTime64(3) in ClickHouse: years 1900 to 2299. ClickHouse silently changes times
// outside to the nearest limit.
var (
	minTime = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	maxTime = time.Date(2299, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli()
)

const maxDay = 65535 // 2149-06-06, the last day of ClickHouse's Date

// parseTime reads an ISO 8601 timestamp as milliseconds since 1970 in UTC: a date, optionally a time after T or a space
// with any number of fraction digits, optionally a zone. No zone means UTC (decode-7). Fractions below a millisecond
// are cut off towards the past, so that a watermark is never later than the rows.
func parseTime(b []byte) (ms int64, ok bool) {
	days, b, ok := parseDate(b)
	if !ok {
		return 0, false
	}
	ms = days * 86_400_000
	if len(b) == 0 {
		return ms, inRange(ms)
	}
	if b[0] != 'T' && b[0] != 't' && b[0] != ' ' {
		return 0, false
	}
	clock, b, ok := parseClock(b[1:])
	if !ok {
		return 0, false
	}
	offset, ok := parseZone(b)
	ms += clock - offset
	return ms, ok && inRange(ms)
}

func inRange(ms int64) bool { return ms >= minTime && ms <= maxTime }

// parseDay reads a calendar day as YYYY-MM-DD or YYYYMMDD, in days since 1970.
func parseDay(b []byte) (day uint16, ok bool) {
	var compact [10]byte
	if len(b) == 8 {
		b = append(append(append(append(append(compact[:0], b[:4]...), '-'), b[4:6]...), '-'), b[6:]...)
	}
	days, rest, ok := parseDate(b)
	return uint16(days), ok && len(rest) == 0 && days >= 0 && days <= maxDay
}

// parseDate reads YYYY-MM-DD and returns the days since 1970 and what follows.
func parseDate(b []byte) (days int64, rest []byte, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, nil, false
	}
	century, ok1 := twoDigits(b)
	decade, ok2 := twoDigits(b[2:])
	month, ok3 := twoDigits(b[5:])
	day, ok4 := twoDigits(b[8:])
	year := century*100 + decade
	if !ok1 || !ok2 || !ok3 || !ok4 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, nil, false
	}
	return daysSince1970(year, month, day), b[10:], true
}

// parseClock reads hh:mm, hh:mm:ss or hh:mm:ss with a fraction, and returns milliseconds since midnight.
func parseClock(b []byte) (ms int64, rest []byte, ok bool) {
	if len(b) < 5 || b[2] != ':' {
		return 0, nil, false
	}
	hour, ok1 := twoDigits(b)
	minute, ok2 := twoDigits(b[3:])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, nil, false
	}
	ms = (hour*60 + minute) * 60_000
	b = b[5:]
	if len(b) < 3 || b[0] != ':' {
		return ms, b, true
	}
	second, ok := twoDigits(b[1:])
	if !ok || second > 59 {
		return 0, nil, false
	}
	ms += second * 1000
	b = b[3:]
	if len(b) == 0 || b[0] != '.' && b[0] != ',' {
		return ms, b, true
	}
	digits := skipDigits(b[1:])
	for i, unit := 0, int64(100); i < digits && unit > 0; i, unit = i+1, unit/10 {
		ms += int64(b[1+i]-'0') * unit
	}
	return ms, b[1+digits:], digits > 0
}

// parseZone reads Z, nothing, or an offset (+02:00, +0200, +02) and returns it in milliseconds.
func parseZone(b []byte) (ms int64, ok bool) {
	if len(b) == 0 || len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') {
		return 0, true
	}
	if len(b) < 3 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hour, ok1 := twoDigits(b[1:])
	minute, ok2 := int64(0), true
	switch tail := b[3:]; {
	case len(tail) == 0:
	case len(tail) == 3 && tail[0] == ':':
		minute, ok2 = twoDigits(tail[1:])
	case len(tail) == 2:
		minute, ok2 = twoDigits(tail)
	default:
		return 0, false
	}
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	ms = (hour*60 + minute) * 60_000
	if b[0] == '-' {
		ms = -ms
	}
	return ms, true
}

func twoDigits(b []byte) (int64, bool) {
	if len(b) < 2 {
		return 0, false
	}
	tens, ones := b[0]-'0', b[1]-'0'
	return int64(tens)*10 + int64(ones), tens <= 9 && ones <= 9
}

func daysIn(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSince1970 counts the days from 1970-01-01 in the proleptic Gregorian calendar, with years that begin in March so
// that the leap day is the last one.
func daysSince1970(year, month, day int64) int64 {
	if month <= 2 {
		year--
	}
	centuries := year / 100
	return 365*year + year>>2 - centuries + centuries>>2 + beforeMonth[month&15] + day - 719_469
}

// beforeMonth has, for each month from 1, the days since the first of March before it.
var beforeMonth = [16]int64{1: 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275}
