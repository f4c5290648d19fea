package engine

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/chdb/exception"
)

// The engine formats each piece of a stream as a complete document. So where a format has something before the rows, or
// after them, a stream has to be put together of the rows of its pieces (chdb-4). In other formats, such as Parquet or
// Pretty, that cannot be done: such results are buffered. RawBLOB is buffered too: a piece of empty strings has no
// bytes, and would look like the end of the stream.

// layout says where the rows of a piece are, in one format.
type layout struct {
	// lead returns how many bytes at the beginning depend on time alone, and are left out; nil: none.
	lead func(piece []byte) int
	// head returns how many bytes come before the rows, or -1 if the piece is not as it should be; nil: none.
	head func(piece []byte) int
	// tail returns how many bytes come after the rows, which begin at head, or -1; nil: none.
	tail func(rows []byte) int
	// between stands between the rows of two pieces.
	between string
	// telling says that a complete document also tells what only the end of a query knows, so that a result is only
	// streamed if it is too large to be buffered.
	telling bool
}

// lines is the layout of formats that begin with n lines. In CSV, a line break inside double quotes does not end a
// line.
func lines(n int, csv bool) layout {
	return layout{head: func(piece []byte) int {
		left, quoted := n, false
		for i, c := range piece {
			switch {
			case csv && c == '"':
				quoted = !quoted
			case c == '\n' && !quoted:
				if left--; left == 0 {
					return i + 1
				}
			}
		}
		return len(piece)
	}}
}

// progressLines returns the length of the lines that say how far a slow query is: they may come before the columns.
func progressLines(piece []byte) int {
	at := 0
	for bytes.HasPrefix(piece[at:], []byte(`{"progress":`)) {
		end := bytes.IndexByte(piece[at:], '\n')
		if end < 0 {
			return len(piece)
		}
		at += end + 1
	}
	return at
}

// layouts are the formats that can be streamed, by their names in lower case with "tsv" for "tabseparated".
var layouts = func() map[string]layout {
	all := map[string]layout{
		"rowbinarywithnames":         {head: func(p []byte) int { return binaryNames(p, 1) }},
		"rowbinarywithnamesandtypes": {head: func(p []byte) int { return binaryNames(p, 2) }},
		"odbcdriver2":                {head: odbcHead},
		"arrowstream":                {head: arrowHead, tail: arrowTail},
		"markdown":                   lines(2, false),
		"md":                         lines(2, false),
		"values":                     {between: ","},
	}
	for _, name := range strings.Fields(`native rowbinary null lineasstring tskv msgpack bsoneachrow
 jsoneachrow jsonlines jsonl ndjson jsonstringseachrow jsoncompacteachrow jsoncompactstringseachrow`) {
		all[name] = layout{}
	}
	for _, name := range []string{"tsv", "tsvraw", "raw", "csv", "jsoncompacteachrow", "jsoncompactstringseachrow"} {
		all[name] = layout{}
		all[name+"withnames"] = lines(1, name == "csv")
		all[name+"withnamesandtypes"] = lines(2, name == "csv")
	}
	for _, name := range []string{"jsoneachrow", "jsonstringseachrow", "jsoncompacteachrow", "jsoncompactstringseachrow"} {
		progress := lines(1, false)
		progress.lead = progressLines
		all[name+"withprogress"] = progress
	}
	for _, name := range []string{"json", "jsoncompact", "jsonstrings", "jsoncompactstrings"} {
		all[name] = layout{head: jsonHead, tail: jsonTail, between: ",\n", telling: true}
	}
	return all
}()

// layoutOf returns the layout of a format, or nil if a result in it cannot be streamed.
func layoutOf(format string) *layout {
	if l, ok := layouts[strings.Replace(strings.ToLower(format), "tabseparated", "tsv", 1)]; ok {
		return &l
	}
	return nil
}

// Settings and words that change what a piece looks like.
var (
	otherLayout  = regexp.MustCompile(`(?i)\boutput_format_(json_array_of_rows|binary_encode_types_in_binary_format)\b`)
	moreThanRows = regexp.MustCompile(`(?i)\b(totals|extremes)\b`)
)

// inPieces tells whether the query's result can be put together of its pieces. Totals and extremes come in a piece of
// their own.
func (q *Query) inPieces(l *layout) bool {
	asks := func(names *regexp.Regexp) bool {
		for name, value := range q.Settings {
			if value != "0" && value != "false" && names.MatchString(name) {
				return true
			}
		}
		return names.MatchString(q.SQL)
	}
	return !asks(otherLayout) && (l.head == nil && l.between == "" || !asks(moreThanRows))
}

// assembly puts a document together of its pieces.
type assembly struct {
	layout
	begun bool
	rows  bool   // some have been passed on
	first []byte // the head of the first piece
	tail  []byte // of the last piece
	count uint64 // of rows, if the tail says it
}

// add returns what to pass on of a piece. It may be a part of the piece itself.
func (a *assembly) add(piece []byte) ([]byte, error) {
	if a.lead != nil {
		if piece = piece[a.lead(piece):]; len(piece) == 0 {
			return nil, nil
		}
	}
	begin, end := 0, len(piece)
	if a.head != nil {
		begin = a.head(piece)
	}
	if a.layout.tail != nil && begin >= 0 {
		if n := a.layout.tail(piece[begin:]); n >= 0 {
			end -= n
		} else {
			begin = -1
		}
	}
	if begin < 0 || a.begun && !bytes.Equal(piece[:begin], a.first) {
		return nil, exception.New(exception.NotImplemented, "NOT_IMPLEMENTED",
			"this result cannot be sent in pieces in this format: use another one, or select fewer rows")
	}
	rows := piece[begin:end]
	if a.layout.tail != nil {
		a.tail = append(a.tail[:0], piece[end:]...)
		a.count += countOf(a.tail)
	}
	switch {
	case !a.begun:
		a.begun, a.rows = true, len(rows) > 0
		a.first = bytes.Clone(piece[:begin])
		return piece[:end], nil
	case a.rows && len(rows) > 0 && a.between != "":
		return append([]byte(a.between), rows...), nil
	}
	a.rows = a.rows || len(rows) > 0
	return rows, nil
}

// rest returns what comes after the last row.
func (a *assembly) rest() []byte {
	if m := rowCount.FindSubmatchIndex(a.tail); m != nil {
		return slices.Concat(a.tail[:m[2]], strconv.AppendUint(nil, a.count, 10), a.tail[m[3]:])
	}
	return a.tail
}

// rowCount matches the number of rows in the tail of a piece of JSON.
var rowCount = regexp.MustCompile(`^\n\t\],\n\n\t"rows": (\d+)`)

func countOf(tail []byte) uint64 {
	m := rowCount.FindSubmatch(tail)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseUint(string(m[1]), 10, 64)
	return n
}

// jsonHead finds the rows of a document of JSON. No value and no name has a line break in it: they are escaped.
func jsonHead(piece []byte) int {
	const begin = "\n\t\"data\":\n\t[\n"
	if i := bytes.Index(piece, []byte(begin)); i >= 0 {
		return i + len(begin)
	}
	return -1
}

func jsonTail(rows []byte) int {
	i := bytes.LastIndex(rows, []byte("\n\t],\n\n\t\"rows\": "))
	if i < 0 {
		return -1
	}
	return len(rows) - i
}

// binaryNames returns the length of the names of columns, and of as many lists of the same length after it.
func binaryNames(piece []byte, lists int) int {
	n, at := binary.Uvarint(piece)
	if at <= 0 || n > uint64(len(piece)) {
		return -1
	}
	for range int(n) * lists {
		length, k := binary.Uvarint(piece[at:])
		if k <= 0 || length > uint64(len(piece)-at-k) {
			return -1
		}
		at += k + int(length)
	}
	return at
}

// odbcHead returns the length of two lists, of names and of types, with a number in front of each list and each text.
func odbcHead(piece []byte) int {
	at := 0
	next := func() (n int) {
		if n = -1; at+4 <= len(piece) {
			n = int(int32(binary.LittleEndian.Uint32(piece[at:])))
			at += 4
		}
		return n
	}
	for range next() {
		for range next() {
			length := next()
			if length < 0 || length > len(piece)-at {
				return -1
			}
			at += length
		}
	}
	return at
}

// The messages of Arrow's stream format begin with a mark and a length. The first is the schema, and the last is empty.
const arrowMark, arrowEnd = "\xff\xff\xff\xff", "\xff\xff\xff\xff\x00\x00\x00\x00"

func arrowHead(piece []byte) int {
	if len(piece) < len(arrowEnd) || !bytes.HasPrefix(piece, []byte(arrowMark)) {
		return -1
	}
	if n := uint64(len(arrowEnd)) + uint64(binary.LittleEndian.Uint32(piece[len(arrowMark):])); n <= uint64(len(piece)) {
		return int(n)
	}
	return -1
}

func arrowTail(rows []byte) int {
	if !bytes.HasSuffix(rows, []byte(arrowEnd)) {
		return -1
	}
	return len(arrowEnd)
}
