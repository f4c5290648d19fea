package dealapi

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
)

// eachByte writes every byte in the given form.
func eachByte(text, form string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

func utf16Bytes(text string, little bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		high, low := byte(unit>>8), byte(unit)
		if little {
			high, low = low, high
		}
		b.Write([]byte{high, low})
	}
	return b.String()
}

// writings returns the ways in which software writes a text.
func writings() map[string]func(string) string {
	return map[string]func(string) string{
		"as it is":        func(s string) string { return s },
		"upper case":      strings.ToUpper,
		"lower case":      strings.ToLower,
		"HTML":            html.EscapeString,
		"HTML decimal":    func(s string) string { return eachByte(s, "&#%d;") },
		"HTML hex":        func(s string) string { return eachByte(s, "&#x%X;") },
		"percent":         url.QueryEscape,
		"percent, all":    func(s string) string { return eachByte(s, "%%%02x") },
		"JSON":            func(s string) string { return eachByte(s, `\u%04X`) },
		"C":               func(s string) string { return eachByte(s, `\x%02x`) },
		"hex":             func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":             func(s string) string { return eachByte(s, "%02X") },
		"hex dump":        func(s string) string { return eachByte(s, "%02x ") },
		"hex with colons": func(s string) string { return strings.TrimSuffix(eachByte(s, "%02x:"), ":") },
		"hex, C":          func(s string) string { return eachByte(s, "0x%02x, ") },
		"base64":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64url":       func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64 of Basic": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s)) },
		"base64 after 1":  func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("x" + s + "yz")) },
		"base64, Bearer":  func(s string) string { return base64.URLEncoding.EncodeToString([]byte("Bearer " + s)) },
		"spaced":          func(s string) string { return eachByte(s, "%c ") },
		"lines":           func(s string) string { return s[:len(s)/2] + "\r\n\t" + s[len(s)/2:] },
		"UTF-16LE":        func(s string) string { return utf16Bytes(s, true) },
		"UTF-16BE":        func(s string) string { return utf16Bytes(s, false) },
	}
}

// spoiled reports that a combination cannot be undone: base64 whose case was changed cannot be decoded.
func spoiled(inner, outer string) bool {
	return strings.HasSuffix(outer, "case") && strings.HasPrefix(inner, "base64") && inner != "base64"
}

// No spelling of a key is shown, nor one within another, in whatever text it is.
func TestKeyIsFoundInEveryWriting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	all := writings()
	for range 3 {
		var b strings.Builder
		for range 16 + random.IntN(40) {
			if random.IntN(8) == 0 {
				b.WriteByte("-_+/=.~&<"[random.IntN(9)])
			} else {
				b.WriteByte(alphabet[random.IntN(len(alphabet))])
			}
		}
		key := "k" + b.String() + "9"
		s := newScrubber(key)
		for first, inner := range all {
			for second, outer := range all {
				if spoiled(first, second) || strings.HasSuffix(second, "case") && first == "base64" && len(fold(key)) < 24 {
					continue
				}
				written := outer(inner(key))
				for _, around := range []string{"%s", `{"error":"the token %s is not known"}`, "Authorization: Bearer%s\n",
					"x%sx"} {
					if strings.HasPrefix(around, "x") && (strings.HasPrefix(second, "HTML") || strings.Contains(second, "UTF")) {
						continue
					}
					if text := fmt.Sprintf(around, written); s.text(text) == text {
						t.Errorf("%s in %s of %q is shown in %q", first, second, key, text)
					}
					if shown := s.excerpt([]byte(fmt.Sprintf(around, written)), false); len(written) > 8 &&
						strings.Contains(shown, written) {
						t.Errorf("%s in %s of %q is shown: %s", first, second, key, shown)
					}
				}
			}
		}
	}
}

// What is no key stays readable.
func TestOrdinaryTextIsNotTakenForAKey(t *testing.T) {
	t.Parallel()
	s := newScrubber(testKey)
	for _, text := range []string{
		`{"message":"no such key"}`, "sk_live",
		"https://api.example.com/v1/deals/coupons?cursor=6f1c2a9e-1111-4222-8333-000000001000",
		strings.Repeat("c2tfbGl2ZQ==", 20), strings.Repeat("deadbeef", 100), "",
	} {
		if got := s.text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	short := newScrubber("abc")
	if got := short.text("a b c, ABC, 616263"); got != "a b c, ABC, 616263" {
		t.Errorf("a short key is looked for in every writing: %q", got)
	}
}

// However large and strange a body is, its excerpt costs little: only its beginning is looked at, and the memory for
// that is bounded. This test runs alone, because what other tests allocate would count too.
func TestExcerptIsCheap(t *testing.T) {
	const most = 64 << 20
	s := newScrubber(testKey)
	for name, body := range map[string]string{
		"letters": strings.Repeat("A", 64<<20), "spaces": strings.Repeat(" ", 64<<20),
		"percents": strings.Repeat("%25", 1<<20), "backslashes": strings.Repeat(`\u005c`, 1<<20),
		"entities": strings.Repeat("&amp;", 1<<20), "zeros": strings.Repeat("\x00", 1<<20),
		"bytes":      strings.Repeat("\xff", 1<<20),
		"spread out": strings.Join(strings.Split(testKey, ""), strings.Repeat(" ", 1000)),
	} {
		text := []byte(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		shown := s.excerpt(text, false)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s: %d bytes were allocated", name, took)
		}
		if len(text) > excerptWindow && shown != s.excerpt(text[:excerptWindow+1], false) {
			t.Errorf("%s: more was looked at than its beginning: %q", name, shown)
		}
		if len(shown) > excerptBytes || strings.Contains(fold(shown), fold(testKey)) {
			t.Errorf("%s: %q", name, shown)
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("echo "+testKey, []byte("\\u00%41&#x;=="))
	f.Fuzz(func(t *testing.T, key string, body []byte) {
		if validateKey(key) != nil {
			return
		}
		s := newScrubber(key)
		if shown := s.excerpt(append(append([]byte{}, body...), key...), false); len(fold(key)) >= minFolded &&
			strings.Contains(fold(shown), fold(key)) {
			t.Errorf("%q is shown in %q", key, shown)
		}
	})
}
