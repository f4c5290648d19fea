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

// text is the file in UTF-8, from the line with the header on, and how many lines are before that.
func (f bankCSV) text(file []byte) ([]byte, int) {
	if encoding, err := htmlindex.Get(cmp.Or(f["encoding"], "utf-8")); err == nil {
		if decoded, err := encoding.NewDecoder().Bytes(file); err == nil {
			file = bytes.TrimPrefix(decoded, []byte("\ufeff"))
		}
	}
	skip, _ := strconv.Atoi(f["skip"])
	for range skip {
		_, file, _ = bytes.Cut(file, []byte("\n"))
	}
	return file, skip
}

func (f bankCSV) reader(text []byte) *csv.Reader {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord, in.LazyQuotes = -1, true // banks end their files with sums and notes
	if d := strings.ReplaceAll(f["delimiter"], `\t`, "\t"); d != "" {
		in.Comma = []rune(d)[0]
	}
	return in
}

// is reports whether a file has the columns.
func (f bankCSV) is(file []byte) bool {
	if len(f) == 0 || len(file) > maxFile {
		return false
	}
	text, _ := f.text(file)
	header, err := f.reader(text).Read()
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	return err == nil && !slices.ContainsFunc(f.columns(), func(c string) bool { return !slices.Contains(header, c) })
}

// read reads the entries of a file that has the columns.
func (f bankCSV) read(file []byte) (entries []entry, problems []Problem) {
	text, skipped := f.text(file)
	in := f.reader(text)
	header, err := in.Read()
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	for err == nil {
		var record []string
		if record, err = in.Read(); err != nil {
			break
		}
		line, _ := in.FieldPos(0)
		fields := map[string]string{}
		for i, name := range header[:min(len(header), len(record))] {
			fields[name] = strings.TrimSpace(record[i])
		}
		entries = append(entries, f.entry(line+skipped, fields))
	}
	if !errors.Is(err, io.EOF) {
		problems = append(problems, malformed(err))
	}
	return entries, problems
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
	digits := regexp.MustCompile(`\D`).ReplaceAllString(m[2], "")
	d, err := decimal.NewFromString(digits + "." + cmp.Or(m[3], "0"))
	if err != nil {
		return decimal.Zero, err.Error()
	}
	if m[1]+m[4] == "-" {
		d = d.Neg()
	}
	return d, ""
}
