package visible

import (
	"strings"
	"unicode"
)

// formula begins what a spreadsheet takes for a formula: as ASCII, in full width, and in the small forms that it folds
// into these.
const formula = "=+-@＝＋－＠﹦﹢﹣﹫"

// Cell makes text fit for a field of CSV, which encoding/csv then quotes. Text that begins like a formula gets an
// apostrophe, which makes it text to a spreadsheet; numbers are not to be given to it. CSV has no escapes, and a file
// of it is looked at in a terminal before long: what steers is made visible as in Line, whatever the output is
// connected to, so that a pipe and a screen get the same bytes. A line break, which quotes can carry, stays, as LF; a
// tab does too. JSON is the format that keeps every character.
func Cell(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	begins := strings.TrimLeftFunc(text, unicode.IsSpace)
	if strings.IndexAny(begins, formula) == 0 || strings.IndexAny(text, "\t\r\n") == 0 {
		text = "'" + text
	}
	return Text(text)
}
