package dealapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerptBytes bounds what an error quotes of a body.
const excerptBytes = 200

// excerptWindow is how much of a body is looked at for its excerpt.
const excerptWindow = 32 << 10

// blank is white space and other bytes that show nothing.
var blank = regexp.MustCompile(`[\s\x00]{2,}`)

// shownURLBytes bounds a URL in an error; a nextPage may be of any length.
const shownURLBytes = 2 << 10

const redacted = "[key]"

// maxText bounds a text that is shown, in bytes. A key must fit into it in every spelling.
const maxText = 32 << 10

// escapeDepth is how many levels of escapes are undone to find a key, as in a URL in JSON in JSON.
const escapeDepth = 3

// scrubber removes keys, in every spelling in which they may be echoed, from texts that the service has influenced
// (dealapi-2). It holds them inside functions, where %+v does not show them.
type scrubber struct {
	replace func(string) string
	hidden  func(string) bool // finds the key in spellings that cannot be replaced
	longest int               // bytes of the longest spelling
}

func newScrubber(keys ...string) scrubber {
	var s scrubber
	var all, pairs []string
	var hidden []func(string) bool
	for _, key := range keys {
		s.longest = max(s.longest, escapedLen(key))
		for _, v := range spellingsOf(key) {
			if v != "" {
				all = append(all, v)
				s.longest = max(s.longest, len(v))
			}
		}
		hidden = append(hidden, newSpellings(key).within)
	}
	// The longest first: if one key begins with another one, its rest must not stay.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, v := range all {
		pairs = append(pairs, v, redacted)
	}
	s.replace = strings.NewReplacer(pairs...).Replace
	s.hidden = func(text string) bool {
		return slices.ContainsFunc(hidden, func(within func(string) bool) bool { return within(text) })
	}
	return s
}

// spellingsOf returns the spellings of a key that is a whole value.
func spellingsOf(key string) []string {
	escaped, err := json.Marshal(key)
	if err != nil {
		escaped = nil
	}
	return []string{
		key,
		strings.Trim(string(escaped), `"`),
		url.QueryEscape(key),
		url.PathEscape(key),
		base64.StdEncoding.EncodeToString([]byte(key)),
		base64.URLEncoding.EncodeToString([]byte(key)),
		strings.ReplaceAll(key, "/", `\/`),
	}
}

// quoted matches what Go's packages quote of a text from outside.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// text scrubs a whole text, and cuts off what nobody would read. If the key shows only after the text's escapes are
// undone (programs escape different characters, and in upper or lower case), what is quoted in it is replaced, or else
// the whole text.
func (s scrubber) text(t string) string {
	if s.replace == nil {
		return t
	}
	if len(t) > maxText {
		t = t[:maxText-s.longest] + "..." // half a key is not shown
	}
	t = s.replace(t)
	if !s.shows(t) {
		return t
	}
	if own := quoted.ReplaceAllString(t, redacted); own != t && !s.shows(own) {
		return own
	}
	return redacted
}

// shows reports whether the key is in a text in a spelling that cannot be replaced.
func (s scrubber) shows(t string) bool {
	plain := t
	for range escapeDepth {
		if plain = unescape(plain); s.replace(plain) != plain {
			return true
		}
	}
	return s.hidden(t)
}

// escape matches one character as URLs and JSON write it.
var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}|\\[uU]\{?[0-9A-Fa-f]{4}\}?|\\[xX][0-9A-Fa-f]{2}|\\[^uUxX]`)

// unescape undoes one level of escapes.
func unescape(t string) string {
	if !strings.ContainsAny(t, `%\`) {
		return t
	}
	return escape.ReplaceAllStringFunc(t, func(e string) string {
		code, err := strconv.ParseUint(strings.Trim(e, `%\uUxX{}`), 16, 16)
		switch {
		case e[0] == '\\' && !strings.ContainsRune("uUxX", rune(e[1])) || err != nil:
			return e[1:]
		case e[0] == '%':
			return string([]byte{byte(code)})
		}
		return string(rune(code))
	})
}

// escapedLen returns the length of a key of which each byte is written like \u002B.
func escapedLen(key string) int { return len(key) * len(`\u002B`) }

// err returns an error unchanged unless its text shows the key. Then it returns a new error with the scrubbed text.
func (s scrubber) err(err error) error {
	if err == nil {
		return nil
	}
	if raw := err.Error(); s.text(raw) != raw {
		return errors.New(s.text(raw))
	}
	return err
}

// excerpt returns the beginning of a body, in one line of printable characters, at most excerptBytes long. cut says
// that the body breaks off.
func (s scrubber) excerpt(body []byte, cut bool) string {
	window := string(body[:min(len(body), excerptWindow)])
	cut = cut || len(window) < len(body)
	// Long runs of white space inside a key must not make the excerpt end within it.
	if window = blank.ReplaceAllString(window, " "); len(window) > excerptBytes+s.longest+4<<10 {
		window, cut = window[:excerptBytes+s.longest+4<<10], true
	}
	text := s.text(window)
	if cut {
		// The end may have cut a key in two: half a key is not shown.
		text = text[:max(0, len(text)-s.longest)]
	}
	return oneLine(text)
}

func oneLine(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			r = '.'
		}
		if b.Len()+utf8.RuneLen(r)+1 > excerptBytes-len("...") {
			b.WriteString("...")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// url returns a URL as text, without user name, and without the values of parameters whose names suggest a secret (a
// nextPage URL may have any parameters).
func (s scrubber) url(u *url.URL) string {
	shown := *u
	shown.User = nil
	shown.Fragment = ""
	if u.RawQuery != "" {
		values := u.Query()
		for name := range values {
			if smellsSecret(name) {
				values[name] = []string{"..."}
			}
		}
		shown.RawQuery = values.Encode()
	}
	text := s.text(shown.String())
	if len(text) > shownURLBytes {
		text = text[:shownURLBytes] + "..."
	}
	return text
}

func smellsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"key", "token", "secret", "sign", "auth", "passw", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
