package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// form says what stays besides ordinary text, and how bytes that are not text are written.
type form struct {
	breaks  bool // line breaks and tabs stay
	invalid string
}

// Line makes text fit for a place in a line, such as a cell of a table or a value in a message.
func Line(text string) string {
	shown, _ := form{invalid: `\x%02x`}.string(text, none)
	return shown
}

// Text makes text of several lines fit to be shown: its line breaks and tabs stay, so they must be the caller's own.
func Text(text string) string {
	shown, _ := form{breaks: true, invalid: `\x%02x`}.string(text, none)
	return shown
}

// JSON makes a document as encoding/json writes it fit to be shown, with equal value.
func JSON(document []byte) []byte {
	f := form{breaks: true, invalid: `\ufffd`}
	if f.clean(document) {
		return document
	}
	shown, _ := f.string(string(document), none)
	return []byte(shown)
}

// none stands for the character before the first one, and for one that was escaped.
const none rune = -1

// string writes text in the form. prev is the character before it, last that at its end.
func (f form) string(text string, prev rune) (shown string, last rune) {
	var b strings.Builder
	done := 0 // what is before is in b
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || !f.keeps(r, prev) {
			b.WriteString(text[done:i])
			f.escape(&b, r, text[i:i+size])
			done = i + size
			r = none
		}
		prev = r
		i += size
	}
	if done == 0 {
		return text, prev
	}
	b.WriteString(text[done:])
	return b.String(), prev
}

// clean reports that there is nothing to do, which is nearly always so. It looks at each byte.
func (f form) clean(text []byte) bool {
	for _, c := range text {
		if c >= 0x7f || c < ' ' && (!f.breaks || c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

func (f form) keeps(r, prev rune) bool {
	if r < 0x7f {
		return r >= ' ' || f.breaks && (r == '\n' || r == '\t')
	}
	return shows(r, prev)
}

// escape writes a character as JSON does.
func (f form) escape(b *strings.Builder, r rune, text string) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == utf8.RuneError && strings.Contains(f.invalid, "%"):
		fmt.Fprintf(b, f.invalid, text[0])
	case r == utf8.RuneError:
		b.WriteString(f.invalid)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}

// Invisible characters that some scripts need.
const (
	zeroWidthSpace          = '\u200b'
	zeroWidthNonJoiner      = '\u200c'
	zeroWidthJoiner         = '\u200d'
	mongolianVowelSeparator = '\u180e'
)

// shows reports whether a character from U+007F on shows as itself when it follows prev, which may be none. An
// invisible character is kept only where a script needs it: once, and after a character of a script without capitals or
// after a symbol. There it cannot make two names look alike that readers of Latin, Greek and Cyrillic compare.
func shows(r, prev rune) bool {
	switch {
	case r > 0xad && r < 0x34f, r > 0x3164 && r < 0xfe00: // most letters, without a look at any table
		return true
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner, r == mongolianVowelSeparator:
		return unicode.In(prev, unicode.Lo, unicode.M, unicode.So, unicode.Sk)
	case r == zeroWidthSpace: // these scripts put no spaces between words
		return unicode.In(prev, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	case unicode.Is(unicode.Variation_Selector, r):
		return unicode.In(prev, unicode.Lo, unicode.N, unicode.S, unicode.P)
	case unicode.In(r, unicode.Prepended_Concatenation_Mark, unicode.Egyptian_Hieroglyphs):
		return true
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}
