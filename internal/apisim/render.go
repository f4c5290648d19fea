package apisim

import (
	"strconv"
	"unicode/utf8"
)

// style is what Settings say about the bytes of a record.
type style struct {
	cal     *calendar
	times   TimestampStyle
	extra   bool
	compact bool
}

// extraFields ends each generated record if unknown fields are switched on.
const extraFields = `,"schemaRevision":7,"x_labels":["beta","new \"field\""],"x_origin":{"region":"eu-west","weight":0.25}}`

// closeRecord ends a record.
func (st *style) closeRecord(dst []byte) []byte {
	if st.extra {
		return append(dst, extraFields...)
	}
	return append(dst, '}')
}

// offsetMs is the zone of TimeOffset: two hours east.
const offsetMs = 2 * hourMs

const digitPairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839" +
	"404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// time appends a quoted timestamp.
func (st *style) time(dst []byte, ms int64) []byte {
	if st.times == TimeOffset {
		ms += offsetMs
	}
	day := floorDay(ms)
	rest := ms - day*dayMs
	n := len(dst)
	dst = append(dst, `"0000-00-00T00:00:00.000Z"`...)
	b := dst[n : n+26 : n+26]
	if i := day - st.cal.first; i >= 0 && i < int64(len(st.cal.days)) {
		copy(b[1:11], st.cal.days[i].text[:])
	} else {
		d := computeDay(day)
		copy(b[1:11], d.text[:])
	}
	sec, milli := uint32(rest)/1000, uint32(rest)%1000
	h, m, s := sec/3600, sec/60%60, sec%60
	copy(b[12:14], digitPairs[h*2:])
	copy(b[15:17], digitPairs[m*2:])
	copy(b[18:20], digitPairs[s*2:])
	b[21] = byte('0' + milli/100)
	copy(b[22:24], digitPairs[milli%100*2:])
	switch st.times {
	case TimeNoZone:
		if milli == 0 {
			return append(dst[:n+20], '"')
		}
		return append(dst[:n+24], '"')
	case TimeOffset:
		return append(dst[:n+24], `+02:00"`...)
	default:
		return dst
	}
}

// day appends a day of the product history, without quotes.
func (st *style) day(dst []byte, day int64) []byte {
	d := st.cal.day(day)
	if st.compact {
		dst = append(dst, d.text[:4]...)
		dst = append(dst, d.text[5:7]...)
		return append(dst, d.text[8:]...)
	}
	return append(dst, d.text[:]...)
}

// appendAmount appends a number of ten-thousandths as JavaScript prints it: no zeros at the end,
// no point without decimals.
func appendAmount(dst []byte, v int64) []byte {
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	whole, frac := v/10000, uint32(v%10000)
	dst = strconv.AppendInt(dst, whole, 10)
	if frac == 0 {
		return dst
	}
	hi, lo := frac/100, frac%100
	dst = append(dst, '.')
	if lo == 0 {
		if hi%10 == 0 {
			return append(dst, byte('0'+hi/10))
		}
		return append(dst, digitPairs[hi*2], digitPairs[hi*2+1])
	}
	dst = append(dst, digitPairs[hi*2], digitPairs[hi*2+1], digitPairs[lo*2])
	if lo%10 != 0 {
		dst = append(dst, digitPairs[lo*2+1])
	}
	return dst
}

// appendFloat appends a quotient as JavaScript prints a double.
func appendFloat(dst []byte, v float64) []byte {
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// appendText appends a quoted JSON string. ascii escapes everything that is not ASCII, as some serializers do.
func appendText(dst []byte, s string, ascii bool) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\t':
				dst = append(dst, '\\', 't')
			case c == '/' && ascii:
				dst = append(dst, '\\', '/')
			case c < ' ':
				dst = appendEscape(dst, uint64(c))
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case !ascii:
			dst = append(dst, s[i:i+size]...)
		case r >= 0x10000:
			r -= 0x10000
			dst = appendEscape(dst, 0xd800+uint64(r>>10))
			dst = appendEscape(dst, 0xdc00+uint64(r&0x3ff))
		default:
			dst = appendEscape(dst, uint64(r))
		}
		i += size
	}
	return append(dst, '"')
}

func appendEscape(dst []byte, v uint64) []byte {
	n := len(dst)
	dst = append(dst, `\u0000`...)
	putHex(dst[n+2:n+6], v)
	return dst
}
