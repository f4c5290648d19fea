package payouts

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dealhouse/internal/term"
)

// Problem is something in a file or a table that is not understood (nothing of the bank is guessed).
type Problem struct {
	Line   int    // of the file, or number of the row of a table; 0: all of it
	Column string // empty: the whole row
	Text   string // what is wrong, and what to do
}

func (p Problem) String() string {
	text := p.Text
	if p.Column != "" {
		text = p.Column + " " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// ProblemsError says that nothing was imported, and why.
type ProblemsError struct {
	Source   string
	Problems []Problem
}

// shownProblems is how many of them the message has.
const shownProblems = 20

// Error gives one problem a line.
func (e *ProblemsError) Error() string { return strings.Join(e.Lines(), "\n  ") }

// Lines returns the lines of the message: what happened, then one problem each.
func (e *ProblemsError) Lines() []string {
	lines := []string{fmt.Sprintf("%s: nothing was imported. Correct %s, then import it again:",
		e.Source, term.Plural(uint64(len(e.Problems)), "mistake"))}
	for i, p := range e.Problems {
		if i == shownProblems {
			return append(lines, fmt.Sprintf("and %d more", len(e.Problems)-shownProblems))
		}
		lines = append(lines, p.String())
	}
	return lines
}

// maxFile is the largest size of a file in bytes: a million settlements.
const maxFile = 128 << 20

// Rules say whose settlements a file has.
type Rules struct {
	Account string    // of rows that name none; "": such a row is a problem
	Until   time.Time // the last day on which something can have been received
	// Senders has, by account, words by which a bank statement shows its payouts.
	Senders map[string][]string
	// CSV is how the CSV of a bank is read (bankCSV); nil: there is none.
	CSV map[string]string
}

// Reading is what was read of a file or a table.
type Reading struct {
	Rows     []Row
	Left     []Left // entries of a bank statement that are no settlements
	Problems []Problem
}

// ReadFile reads settlements from CSV (RFC 4180 in UTF-8, with a header of Columns), or from the statement of a bank:
// CAMT.052, 053 or 054, or MT940.
func ReadFile(from io.Reader, rules Rules) (Reading, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return Reading{}, fmt.Errorf("reading the file: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // with which Excel begins its UTF-8
	if read := statementReader(formatOf(text)); read != nil && len(text) <= maxFile {
		return rules.take(read(text)), nil
	}
	form := bankCSV(rules.CSV)
	if in, header, skipped := form.open(text); in != nil {
		return rules.take(form.read(in, header, skipped)), nil
	}
	if p := unreadable(text); p != "" {
		return Reading{Problems: []Problem{{Text: p}}}, nil
	}
	rows, problems := readCSV(text, rules.Account, rules.Until)
	return Reading{Rows: rows, Problems: problems}, nil
}

// readCSV reads a text of Columns.
func readCSV(text []byte, account string, until time.Time) (rows []Row, problems []Problem) {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord = -1 // checked here, to name the line
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, []Problem{{Text: "the file is empty: its first line names the columns"}}
	}
	if err != nil {
		return nil, []Problem{malformed(err)}
	}
	if problems = checkHeader(header); len(problems) > 0 {
		return nil, problems
	}
	lines := map[string]int{}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, problems
		}
		if err != nil { // what follows cannot be divided into rows
			return nil, append(problems, malformed(err))
		}
		line, _ := in.FieldPos(0)
		if len(record) != len(header) {
			problems = append(problems, Problem{Line: line,
				Text: fmt.Sprintf("has %s, and the header %d: put text with a comma into quotes",
					term.Plural(uint64(len(record)), "field"), len(header))})
			continue
		}
		r, wrong := parse(line, named(header, record), account, until)
		rows, problems = append(rows, r), append(problems, append(wrong, twice(r, lines)...)...)
	}
}

// ReadTable reads settlements from the values of a table.
func ReadTable(columns []string, records [][]string, rules Rules) (read Reading) {
	if read.Problems = checkHeader(columns); len(read.Problems) > 0 {
		return read
	}
	lines := map[string]int{}
	for i, record := range records {
		r, wrong := parse(i+1, named(columns, record), rules.Account, rules.Until)
		read.Rows, read.Problems = append(read.Rows, r), append(read.Problems, append(wrong, twice(r, lines)...)...)
	}
	return read
}

// twice says that a reference is there twice.
func twice(r Row, lines map[string]int) []Problem {
	key := r.Account + "\x00" + referenceKey(r.Reference)
	if first, is := lines[key]; is {
		return []Problem{{r.Line, columnReference,
			fmt.Sprintf("is %s, as on line %d: each settlement has one of its own", quoted(r.Reference), first)}}
	}
	lines[key] = r.Line
	return nil
}

// unreadable says why a file is not what it should be as a whole.
func unreadable(text []byte) string {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	format := formatOf(text)
	switch {
	case len(text) > maxFile:
		return fmt.Sprintf("the file has more than %d MiB: split it into several", maxFile>>20)
	case format != "":
		return "the file is " + format + ", which cannot be imported: export or convert it to CSV with the columns of " +
			"`dealhouse settlements import --help`"
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return "the file is UTF-16: save it as UTF-8"
	case bytes.IndexByte(text, 0) >= 0:
		return "the file has zero bytes, so it is not text"
	case !utf8.Valid(text):
		return fmt.Sprintf("line %d is not UTF-8: save the file as UTF-8", 1+bytes.Count(text[:invalid(text)], []byte("\n")))
	case bytes.Contains(text, []byte("\r")) && !bytes.Contains(text, []byte("\n")):
		return "the lines of the file end with CR alone: save it with LF or CRLF"
	case !bytes.Contains(first, []byte(",")) && bytes.ContainsAny(first, ";\t"):
		return "line 1: the columns are not separated by commas: save the file with commas between them"
	}
	return ""
}

// formatOf names the format of a file that is certainly no CSV.
func formatOf(text []byte) string {
	// UTF-16 is read as if it had no zero bytes.
	start := bytes.TrimLeft(bytes.ReplaceAll(text[:min(len(text), 8192)], []byte{0}, nil), "\xff\xfe\xef\xbb\xbf \t\r\n")
	for _, f := range []struct{ name, pattern string }{
		{formatCAMT, `^<(?s:.*)\bcamt\.0\d\d|^<(?s:.*)<(\w+:)?(BkToCstmr\w+)\b`},
		{formatMT940, `^(\{1:|:20:)(?s:.*):(25|28C?|60[FM]|61):|^(\{1:[^{}]*\}(\{[23]:[^{}]*\})*\{4:)`},
		{"OFX", `^(OFXHEADER|<\?OFX|<OFX>)|^<\?xml(?s:.*)<OFX>`}, {"QIF", `^!(Type|Account|Option):`},
		{"XML", `^<\?xml|^<[A-Za-z]`}, {"JSON", `^[{\[]\s*["{\[\]}]`}, {"a PDF", `^%PDF-`},
		{"a spreadsheet of Excel or another packed file", `^PK(\x03\x04|\x05\x06)`},
		{"a spreadsheet of an old Excel", `^\x{d0}\x{cf}\x11`},
	} {
		if regexp.MustCompile(f.pattern).Match(start) {
			return f.name
		}
	}
	return ""
}

// invalid returns the position of the first byte that is not UTF-8.
func invalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

func malformed(err error) Problem {
	if e, is := errors.AsType[*csv.ParseError](err); is {
		return Problem{Line: e.StartLine, Text: "is not CSV: " + e.Err.Error() +
			"; put text with quotes into quotes, and double them"}
	}
	return Problem{Text: err.Error()}
}

// checkHeader says what is wrong with the names of the columns.
func checkHeader(header []string) (problems []Problem) {
	var known, required []string
	for _, c := range Columns() {
		known = append(known, c.Name)
		if c.Required {
			required = append(required, c.Name)
		}
	}
	for i, name := range header {
		switch {
		case slices.Index(header, name) < i:
			problems = append(problems, Problem{1, "", fmt.Sprintf("has the column %s twice", quoted(name))})
		case !slices.Contains(known, name):
			problems = append(problems, Problem{1, "",
				fmt.Sprintf("has the column %s, which is not known: the columns are %s", quoted(name), strings.Join(known, ", "))})
		}
	}
	for _, name := range required {
		if !slices.Contains(header, name) {
			problems = append(problems, Problem{1, "", "lacks the column " + name})
		}
	}
	return problems
}

func named(header, record []string) map[string]string {
	fields := map[string]string{}
	for i, name := range header {
		fields[name] = record[i]
	}
	return fields
}
