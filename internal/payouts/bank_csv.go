package payouts

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/encoding/htmlindex"

	"dealhouse/internal/finance"
)

// bankCSV says how the CSV of a bank is read, as [finance] bank_csv has it: the names of the columns, and the form. The
// configuration has checked it.
type bankCSV map[string]string

// columns are those that a file must have.
func (f bankCSV) columns() (all []string) {
	for _, part := range []string{"received_on", "amount", "credit", "debit", "currency", "text", "reference", "side"} {
		name := f[part]
		switch {
		case name == "", part == "currency" && finance.IsCurrency(name):
		case part == "text":
			for name := range strings.SplitSeq(name, "+") {
				all = append(all, strings.TrimSpace(name))
			}
		case part == "side":
			column, _, _ := strings.Cut(name, "=")
			all = append(all, strings.TrimSpace(column))
		default:
			all = append(all, name)
		}
	}
	return all
}

// open returns what reads the lines of a file after its header, the header, and how many lines are skipped before that;
// nil if the file does not have the columns.
func (f bankCSV) open(file []byte) (in *csv.Reader, header []string, skipped int) {
	if len(f) == 0 || len(file) > maxFile {
		return nil, nil, 0
	}
	if encoding, err := htmlindex.Get(cmp.Or(f["encoding"], "utf-8")); err == nil {
		if decoded, err := encoding.NewDecoder().Bytes(file); err == nil {
			file = bytes.TrimPrefix(decoded, []byte("\ufeff"))
		}
	}
	skipped, _ = strconv.Atoi(f["skip"]) // "" is 0
	for range skipped {
		_, file, _ = bytes.Cut(file, []byte("\n"))
	}
	in = csv.NewReader(bytes.NewReader(file))
	in.FieldsPerRecord, in.LazyQuotes = -1, true // banks end their files with sums and notes
	if d := strings.ReplaceAll(f["delimiter"], `\t`, "\t"); d != "" {
		in.Comma = []rune(d)[0]
	}
	header, err := in.Read()
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	if err != nil || slices.ContainsFunc(f.columns(), func(c string) bool { return !slices.Contains(header, c) }) {
		return nil, nil, 0
	}
	return in, header, skipped
}

// read reads the entries of a file that was opened.
func (f bankCSV) read(in *csv.Reader, header []string, skipped int) (entries []entry, problems []Problem) {
	for {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return entries, []Problem{malformed(err)}
		}
		line, _ := in.FieldPos(0)
		fields := map[string]string{}
		for i, name := range header[:min(len(header), len(record))] {
			fields[name] = strings.TrimSpace(record[i])
		}
		entries = append(entries, f.entry(line+skipped, fields))
	}
}

// entry reads one line.
func (f bankCSV) entry(line int, fields map[string]string) entry {
	e := entry{line: line, booked: true, reference: fields[f["reference"]], currency: f["currency"]}
	if !finance.IsCurrency(e.currency) {
		e.currency = fields[e.currency]
	}
	for name := range strings.SplitSeq(f["text"], "+") {
		e.words += " " + fields[strings.TrimSpace(name)]
	}
	layout := strings.NewReplacer("YYYY", "2006", "YY", "06", "MM", "01", "DD", "02").Replace(cmp.Or(f["date"], "YYYY-MM-DD"))
	day, err := time.Parse(layout, fields[f["received_on"]])
	if err != nil {
		e.wrong = fmt.Sprintf("%s is %s, and bank_csv says that days are as %s", f["received_on"], quoted(fields[f["received_on"]]), cmp.Or(f["date"], "YYYY-MM-DD"))
	}
	e.on = day.Format(time.DateOnly)
	amount, wrong := f.amount(fields, "amount")
	credit, wrongCredit := f.amount(fields, "credit")
	debit, wrongDebit := f.amount(fields, "debit")
	e.wrong = cmp.Or(e.wrong, wrong, wrongCredit, wrongDebit)
	if column, word, ok := strings.Cut(f["side"], "="); ok && strings.EqualFold(fields[strings.TrimSpace(column)], strings.TrimSpace(word)) {
		amount = amount.Abs().Neg()
	}
	e.amount = amount.Add(credit.Abs()).Sub(debit.Abs())
	return e
}

// numberPattern is a number with groups of three digits or without, and perhaps with a sign in front or behind.
var numberPattern = map[string]*regexp.Regexp{
	".": regexp.MustCompile(`^([-+]?)(\d{1,3}(?:[, '\x{a0}\x{202f}’]\d{3})*|\d{1,18})(?:\.(\d{1,4}))?([-+]?)$`),
	",": regexp.MustCompile(`^([-+]?)(\d{1,3}(?:[. '\x{a0}\x{202f}’]\d{3})*|\d{1,18})(?:,(\d{1,4}))?([-+]?)$`),
}

var notDigits = regexp.MustCompile(`\D`)

// amount reads the amount in the column of a part. A column that is not there, or empty, has none.
func (f bankCSV) amount(fields map[string]string, part string) (decimal.Decimal, string) {
	mark, text := cmp.Or(f["decimal"], "."), fields[f[part]]
	if f[part] == "" || text == "" {
		return decimal.Zero, ""
	}
	m := numberPattern[mark].FindStringSubmatch(strings.ReplaceAll(text, "\u2212", "-"))
	if m == nil || m[1] != "" && m[4] != "" {
		return decimal.Zero, fmt.Sprintf("%s is %s, and bank_csv says that amounts are as 1234%s50", f[part], quoted(text), mark)
	}
	digits := notDigits.ReplaceAllString(m[2], "")
	d, err := decimal.NewFromString(digits + "." + cmp.Or(m[3], "0"))
	if err != nil {
		return decimal.Zero, err.Error()
	}
	if m[1]+m[4] == "-" {
		d = d.Neg()
	}
	return d, ""
}
