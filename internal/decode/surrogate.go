package decode

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// isText reports whether the bytes of a string that the cursor has read are text: UTF-8, without half of a surrogate
// pair. Other bytes could be stored, but not shown: each reader would interpret them differently. If the whole page is
// UTF-8, no string has to be checked by itself. Checking the page takes a sixth of the time of checking each string.
func (d *Decoder) isText(c *cursor, b []byte) bool { return d.utf8 && !c.halves || utf8.Valid(b) }

// withHalves replaces each escape of a surrogate without its other half by the three bytes of its number. raw is a JSON
// string, quotes included; without such an escape, it is returned unchanged.
func withHalves(raw []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(raw); {
		next := bytes.IndexByte(raw[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		first := surrogate(raw[i:])
		switch {
		case first == 0:
			i += 2 // the escaped character does not begin another escape
			continue
		case utf16.DecodeRune(first, surrogate(raw[i+escapeLength:])) != utf8.RuneError:
			i += 2 * escapeLength
			continue
		}
		out = append(out, raw[done:i]...)
		out = append(out, byte(0xe0|first>>12), byte(0x80|first>>6&0x3f), byte(0x80|first&0x3f))
		i += escapeLength
		done = i
	}
	if out == nil {
		return raw
	}
	return append(out, raw[done:]...)
}

const escapeLength = len(`\ud800`)

// surrogate returns the surrogate whose escape b begins with, 0 if it begins with anything else.
func surrogate(b []byte) rune {
	if len(b) < escapeLength || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:escapeLength]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(n)) {
		return 0
	}
	return rune(n)
}
