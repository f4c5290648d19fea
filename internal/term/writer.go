package term

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Writer passes on what is written, and makes visible what must not reach a terminal. It is the last check:
// a mistake before it cannot let a control character out. A byte order mark at the very beginning stays, since
// spreadsheets need it. A character may be divided between two writes. A Writer is not safe for concurrent use.
type Writer struct {
	out   io.Writer
	begun bool
	prev  rune   // the last character
	rest  []byte // the beginning of a character whose end is not there yet
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out, prev: none} }

const byteOrderMark = "\ufeff"

// Write reports that all of p was written, or returns the error of the writer behind.
func (w *Writer) Write(p []byte) (int, error) {
	f := form{breaks: true, invalid: `\x%02x`}
	if len(w.rest) == 0 && len(p) > 0 && f.clean(p) {
		w.begun, w.prev = true, rune(p[len(p)-1])
		return w.out.Write(p)
	}
	text := slices.Concat(w.rest, p)
	whole := wholeCharacters(text)
	shown, mark := string(text[:whole]), ""
	if after, ok := strings.CutPrefix(shown, byteOrderMark); ok && !w.begun {
		shown, mark = after, byteOrderMark
	}
	w.begun = w.begun || whole > 0
	w.rest = append([]byte(nil), text[whole:]...)
	shown, w.prev = f.string(shown, w.prev)
	if _, err := io.WriteString(w.out, mark+shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is left of a character that was never completed.
func (w *Writer) Flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	rest := Text(string(w.rest))
	w.rest = nil
	_, err := io.WriteString(w.out, rest)
	return err
}

// wholeCharacters returns the length of text without an incomplete character at its end.
func wholeCharacters(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}
