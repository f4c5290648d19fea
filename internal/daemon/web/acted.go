package web

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Acted is the result of an operator's action.
type Acted struct {
	Action warehouse.Action // as it was recorded; if nothing was done, as it was requested
	Done   bool             // there was something to do
	Text   string           // the result, in a sentence or two
}

// Count returns a number of things, as pages write it.
func Count(n uint64, of string) string { return term.Plural(n, of) }

// Again returns the result of an action that was requested before under the same key. Nothing is done a second time.
func Again(earlier *warehouse.Action) Acted {
	if earlier == nil {
		return Acted{}
	}
	return Acted{Action: *earlier, Done: true, Text: "This request came before, and is not carried out a second time."}
}

// RefusalError says why an action is not carried out. Nothing was changed.
type RefusalError struct {
	Unknown bool // the stream, account or payout does not exist
	Reason  string
}

func (r *RefusalError) Error() string { return r.Reason }

// maxReason is the longest reason that an operator may write, in characters.
const maxReason = 500

// CheckReason returns why a text cannot be the reason of an action, nil if it can. A reason is one line for people.
func CheckReason(text string) error {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("want one line of text")
	case utf8.RuneCountInString(text) > maxReason:
		return fmt.Errorf("want at most %d characters", maxReason)
	}
	return nil
}
