package payouts

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"golang.org/x/text/encoding/charmap"
)

var (
	mt940Field = regexp.MustCompile(`^:(\d\d[A-Z]?):`)
	// mt940Opening is the opening balance: side, day, currency, amount.
	mt940Opening = regexp.MustCompile(`^[CD]\d{6}([A-Z]{3})`)
	// mt940Line is a payment: day, booking day, side, letter of the currency, amount, kind, reference of the customer.
	mt940Line = regexp.MustCompile(`^(\d{6})(\d{4})?(R?[CD]|E[CD])([A-Z])?([0-9]{1,15},[0-9]{0,4})[A-Z][A-Z0-9]{3}([^\n]*)`)
	// A text has parts, such as ?20, and marks in them.
	mt940Sub  = regexp.MustCompile(`\?\d\d`)
	mt940Mark = regexp.MustCompile(`/(?:ORDP|BENM|REMI|NAME|EREF|CNTP|TRTP|IBAN|BIC|RTRN)/|(?:EREF|KREF|MREF|SVWZ|ABWA)\+`)
)

// readMT940 reads the payments of all statements of an MT940 file. The references in it are often not unique, so it
// has none: an entry is named by what it says.
func readMT940(text []byte) (entries []entry, problems []Problem) {
	if !utf8.Valid(text) {
		text, _ = charmap.Windows1252.NewDecoder().Bytes(text) // takes every byte
	}
	var currency, within, id string
	var last *entry // whose words may follow
	known, skip := map[string]bool{}, false
	for _, f := range mt940Fields(string(text)) {
		switch f.tag {
		case "20":
			last, currency, within, id, skip = nil, "", "", "", false
		case "25":
			within = strings.TrimSpace(f.text)
		case "28", "28C":
			id = within + "\x00" + f.text
		case "60F", "60M":
			m := mt940Opening.FindStringSubmatch(f.text)
			if m == nil {
				problems = append(problems, Problem{Line: f.line, Text: "has no opening balance with its currency: " + quoted(f.text)})
				continue
			}
			currency = m[1]
			skip, known[id+"\x00"+f.text] = known[id+"\x00"+f.text], true // the same statement may be in the file twice
		case "61":
			if last = nil; skip {
				continue
			}
			e, err := mt940Entry(f.text)
			if err != nil || currency == "" {
				problems = append(problems, Problem{Line: f.line, Text: "is not a payment of an MT940 statement: " + quoted(f.text)})
				continue
			}
			e.line, e.currency, e.within = f.line, currency, within
			entries = append(entries, e)
			last = &entries[len(entries)-1]
		case "86":
			if last != nil {
				last.words += " " + mt940Words(f.text)
			}
			last = nil
		}
	}
	return entries, problems
}

// Lines and parts of a text are broken where they are full, in the middle of a word.
const mt940FullLine, mt940FullPart = 65, 27

// mt940Words is the text of field 86 without its marks.
func mt940Words(text string) string {
	var whole strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		whole.WriteString(line)
		if len(line) < mt940FullLine {
			whole.WriteByte(' ')
		}
	}
	var all strings.Builder
	for _, part := range mt940Sub.Split(whole.String(), -1) {
		all.WriteString(part)
		if len(part) != mt940FullPart {
			all.WriteByte(' ')
		}
	}
	return mt940Mark.ReplaceAllString(all.String(), " ")
}

// mt940Part is a field of a statement, with all its lines.
type mt940Part struct {
	line      int
	tag, text string
}

func mt940Fields(text string) (fields []mt940Part) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if at := strings.LastIndex(line, "{4:"); strings.HasPrefix(line, "{") && at >= 0 {
			line = line[at+len("{4:"):]
		}
		m := mt940Field.FindStringSubmatch(line)
		switch {
		case m != nil:
			fields = append(fields, mt940Part{number, m[1], line[len(m[0]):]})
		case strings.HasPrefix(line, "-"), len(fields) == 0:
			fields = append(fields, mt940Part{line: number}) // the end of a statement
		default:
			fields[len(fields)-1].text += "\n" + line
		}
	}
	return fields
}

// mt940Entry reads field 61.
func mt940Entry(text string) (e entry, err error) {
	m := mt940Line.FindStringSubmatch(text)
	if m == nil {
		return e, fmt.Errorf("no payment: %q", text)
	}
	valued, err := time.Parse("060102", m[1])
	if err != nil {
		return e, err
	}
	on := valued
	for i, year := range []int{valued.Year(), valued.Year() - 1, valued.Year() + 1} { // the booking day has none: the nearest
		day, err := time.Parse("20060102", fmt.Sprintf("%04d%s", year, m[2]))
		if err == nil && (i == 0 || day.Sub(valued).Abs() < on.Sub(valued).Abs()) {
			on = day
		}
	}
	amount, err := decimal.NewFromString(strings.TrimSuffix(strings.Replace(m[5], ",", ".", 1), "."))
	if side := m[3]; side == "D" || side == "RC" || side == "ED" {
		amount = amount.Neg()
	}
	_, more, _ := strings.Cut(text, "\n")
	customer, bank, _ := strings.Cut(m[6], "//")
	return entry{on: on.Format(time.DateOnly), booked: m[3] != "EC" && m[3] != "ED", amount: amount,
		words: strings.Join([]string{strings.TrimPrefix(customer, "NONREF"), strings.TrimPrefix(bank, "NONREF"), more}, " ")}, err
}
