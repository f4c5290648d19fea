package dealapi

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// minFolded is the least number of letters and digits that a key must have to be looked for: fewer
	// would be found in any text.
	minFolded = 8
	// maxUnfolded bounds the text in which a key is looked for, and the sum of what is decoded of it. An excerpt is far
	// smaller; a larger text is not shown at all.
	maxUnfolded = 64 << 10
	maxDecoded  = 1 << 20
)

// spellings finds a key in the ways in which software may write it: in another case; split by white space, line ends or
// zero bytes (as in UTF-16); escaped for HTML, URLs, JSON or C; in hex; in base64 of either alphabet, wherever in the
// encoded text it begins; and in these nested up to escapeDepth levels. A service that wants to show the key to a
// person who reads the log can always find another way: it has the key.
type spellings []string

func newSpellings(key string) spellings {
	folded := fold(key)
	if len(folded) < minFolded {
		return nil
	}
	all := spellings{folded}
	// Base64 that was put in lower case cannot be decoded any more. What comes before the key shifts it by up to two
	// bytes, and the first and last characters of its base64 depend on its neighbours.
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), key...))
		inner := strings.TrimRight(encoded, "=")
		inner = inner[(shift*8+5)/6:]
		inner = inner[:max(0, len(inner)-1)]
		if f := fold(inner); len(f) >= minFolded {
			all = append(all, f)
		}
	}
	return all
}

// within reports whether the key is in a text.
func (s spellings) within(text string) bool {
	if len(s) == 0 {
		return false
	}
	if len(text) > maxUnfolded {
		return true // a text this long is never shown; showing nothing is better than showing a key
	}
	budget := maxDecoded
	layer := []string{text}
	for depth := 0; ; depth++ {
		var next []string
		for _, t := range layer {
			folded := fold(t)
			if slices.ContainsFunc(s, func(spelling string) bool { return strings.Contains(folded, spelling) }) {
				return true
			}
			if depth < escapeDepth {
				next = append(next, decodings(t)...)
			}
		}
		layer = layer[:0]
		for _, t := range next {
			if budget -= len(t); budget >= 0 {
				layer = append(layer, t)
			}
		}
		if len(layer) == 0 {
			return false
		}
	}
}

// fold returns the ASCII letters and digits of a text, in lower case.
func fold(text string) string {
	folded := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		default:
			continue
		}
		folded = append(folded, c)
	}
	return string(folded)
}

var (
	hexRun    = regexp.MustCompile(`(?i)[0-9a-f]{16,}`)
	base64Run = regexp.MustCompile(`[0-9A-Za-z+/_-]{12,}`)
	// betweenHex is what hex dumps put between bytes.
	betweenHex = strings.NewReplacer("0x", "", "0X", "", ":", "", "-", "", ",", "", ".", "", ";", "", `\x`, "", `\X`, "",
		"%", "", "+", "")
	urlAlphabet = strings.NewReplacer("-", "+", "_", "/")
)

// decodings returns what a text becomes when one level of encoding is undone, in each of the ways that change it.
func decodings(text string) (all []string) {
	add := func(decoded string) {
		if decoded != "" && decoded != text && !slices.Contains(all, decoded) {
			all = append(all, decoded)
		}
	}
	dense := strings.Map(func(r rune) rune {
		if r <= ' ' || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
	for _, t := range []string{text, dense} {
		add(unescape(t))
		add(html.UnescapeString(t))
	}
	for shift := range 2 {
		add(join(hexRun.FindAllString(betweenHex.Replace(dense), -1), func(run string) []byte {
			run = run[shift:]
			decoded, err := hex.DecodeString(run[:len(run)/2*2])
			if err != nil {
				return nil
			}
			return decoded
		}))
	}
	for shift := range 4 {
		add(join(base64Run.FindAllString(dense, -1), func(run string) []byte {
			run = urlAlphabet.Replace(run[shift:])
			if len(run)%4 == 1 {
				run = run[:len(run)-1]
			}
			decoded, err := base64.RawStdEncoding.DecodeString(run)
			if err != nil {
				return nil
			}
			return decoded
		}))
	}
	return all
}

// join decodes runs and joins them with a character that no key has.
func join(runs []string, decode func(string) []byte) string {
	var b strings.Builder
	for _, run := range runs {
		b.Write(decode(run))
		b.WriteByte('\n')
	}
	return b.String()
}
