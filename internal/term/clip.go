package term

import (
	"fmt"
	"unicode/utf8"
)

// MaxEcho is the largest size, in bytes, of a text that is repeated to people and logs: a statement, a body, a value,
// the message of an error. A longer text is cut, and ends with its length.
const MaxEcho = 4 << 10

// Clip returns a text of up to MaxEcho bytes unchanged, and of a longer one the beginning and its length.
func Clip(text string) string {
	if len(text) <= MaxEcho {
		return text
	}
	end := MaxEcho
	for end > MaxEcho-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", text[:end], len(text))
}
