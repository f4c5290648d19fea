package term

import (
	"strings"
	"unicode"
)

// formula has the characters with which a formula of a spreadsheet begins: as ASCII, in full width, and in the small
// forms that spreadsheets fold into these.
const formula = "=+-@＝＋－＠﹦﹢﹣﹫"

// Cell makes text fit for a field of CSV, which encoding/csv then quotes. Text that begins like a formula gets an
// apostrophe, which makes it text for a spreadsheet. Numbers must not be given to it.
//
// CSV has no escapes, and people look at such files in terminals. So what controls a terminal is made visible as in
// Line, whatever the output is connected to: a pipe and a screen get the same bytes. A line break, which quotes can
// carry, stays, as LF; so does a tab. JSON is the format that keeps every character.
func Cell(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	begins := strings.TrimLeftFunc(text, unicode.IsSpace)
	if strings.IndexAny(begins, formula) == 0 || strings.IndexAny(text, "\t\r\n") == 0 {
		text = "'" + text
	}
	return Text(text)
}
