package config

import (
	"bytes"
	"errors"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// nodeKind is the kind of a value in the document.
type nodeKind int

const (
	aTable nodeKind = iota
	anArray
	aString
	aBool
	anInteger
	aFloat
	aTime      // a date-time with an offset
	aLocalTime // a date, a time, or a date-time without an offset
	fromEnv    // the text of an environment variable, good for any scalar
)

// String completes "not ...".
func (k nodeKind) String() string {
	return [...]string{
		"a table", "an array", "a string", "true or false", "an integer", "a number with a fraction",
		"a date-time", "a date or time without a time zone", "a text",
	}[k]
}

// node is a value of the document, with its place.
type node struct {
	kind   nodeKind
	at     position
	text   string           // a scalar: the decoded string, or the literal
	names  []string         // a table: its keys in the order of the file
	keys   map[string]*node // a table
	keyAt  map[string]position
	items  []*node // an array
	header bool    // an array made by [[...]]
}

func newTable(at position) *node {
	return &node{kind: aTable, at: at, keys: map[string]*node{}, keyAt: map[string]position{}}
}

// set puts a value in a table, and replaces an earlier one.
func (n *node) set(name string, at position, value *node) {
	if _, ok := n.keys[name]; !ok {
		n.names = append(n.names, name)
	}
	n.keys[name], n.keyAt[name] = value, at
}

// table finds a table in a table, and makes it if there is none. It returns nil if something else is there.
func (n *node) table(name string, at position) *node {
	found, ok := n.keys[name]
	switch {
	case !ok:
		found = newTable(at)
		n.set(name, at, found)
	case found.kind == anArray && len(found.items) > 0:
		// [a.b] after [[a]] belongs to the last a.
		found = found.items[len(found.items)-1]
	}
	if found.kind != aTable {
		return nil
	}
	return found
}

// syntaxError is a document that is not TOML.
type syntaxError struct {
	at      position
	message string
}

func (e *syntaxError) Error() string { return e.message }

// parseTree reads a TOML document with the position of everything in it.
func parseTree(file string, data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	// The whole decoder goes first: it knows every rule of TOML, duplicate keys and impossible dates among them, which
	// the bare parser does not check.
	if err := toml.Unmarshal(data, &map[string]any{}); err != nil {
		return nil, newSyntaxError(file, data, err)
	}
	b := &treeBuilder{file: file, data: data, lineStarts: lineStarts(data), root: newTable(position{file: file})}
	b.parser.Reset(data)
	here := b.root
	for b.parser.NextExpression() {
		switch e := b.parser.Expression(); e.Kind {
		case unstable.Table:
			here = b.header(e, false)
		case unstable.ArrayTable:
			here = b.header(e, true)
		case unstable.KeyValue:
			b.keyValue(here, e)
		}
		if here == nil {
			return nil, &syntaxError{position{file: file}, "a key is both a table and a value"}
		}
	}
	if err := b.parser.Error(); err != nil {
		return nil, newSyntaxError(file, data, err)
	}
	return b.root, nil
}

func newSyntaxError(file string, data []byte, err error) *syntaxError {
	at := position{file: file}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		at.line, at.col = decode.Position()
		at.col = characters(data, at.line, at.col)
	}
	message := strings.TrimPrefix(err.Error(), "toml: ")
	switch {
	case strings.HasPrefix(message, "unable to parse float"):
		message = "number out of range" // the decoder would show the value: config-3
	case strings.HasPrefix(message, "unexpected character"), strings.HasPrefix(message, "expected keyword"):
		message = "this is not a TOML value: put text in double quotes"
	}
	return &syntaxError{at, "invalid TOML: " + message}
}

// characters turns a column in bytes into one in characters.
func characters(data []byte, line, col int) int {
	starts := lineStarts(data)
	if line < 1 || line > len(starts) {
		return col
	}
	start := starts[line-1]
	return utf8.RuneCount(data[start:min(start+col-1, len(data))]) + 1
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// treeBuilder makes nodes of the parser's expressions. The document is known to be valid, so what TOML forbids is not
// checked here.
type treeBuilder struct {
	file       string
	data       []byte
	lineStarts []int
	parser     unstable.Parser
	root       *node
}

func (b *treeBuilder) position(n *unstable.Node, otherwise position) position {
	// The parser leaves the range of an array empty.
	if n.Raw.Length == 0 {
		return otherwise
	}
	offset := int(n.Raw.Offset)
	line := sort.SearchInts(b.lineStarts, offset+1)
	start := b.lineStarts[line-1]
	return position{file: b.file, line: line, col: utf8.RuneCount(b.data[start:offset]) + 1}
}

// header opens the table of [a.b] or [[a.b]].
func (b *treeBuilder) header(e *unstable.Node, array bool) *node {
	here := b.root
	for it := e.Key(); it.Next() && here != nil; {
		name, at := string(it.Node().Data), b.position(it.Node(), position{})
		switch {
		case !it.IsLast():
			here = here.table(name, at)
		case array:
			here = appendTable(here, name, at)
		default:
			here = here.table(name, at)
			if here != nil && len(here.names) == 0 {
				here.at = at
			}
		}
	}
	return here
}

func appendTable(parent *node, name string, at position) *node {
	list, ok := parent.keys[name]
	if !ok {
		list = &node{kind: anArray, at: at, header: true}
		parent.set(name, at, list)
	}
	if list.kind != anArray {
		return nil
	}
	item := newTable(at)
	list.items = append(list.items, item)
	return item
}

// keyValue puts `a.b = value` under a table.
func (b *treeBuilder) keyValue(here *node, e *unstable.Node) {
	for it := e.Key(); it.Next() && here != nil; {
		name, at := string(it.Node().Data), b.position(it.Node(), here.at)
		if it.IsLast() {
			here.set(name, at, b.value(e.Value(), at))
			return
		}
		here = here.table(name, at)
	}
}

func (b *treeBuilder) value(v *unstable.Node, keyAt position) *node {
	at := b.position(v, keyAt)
	n := &node{at: at, text: string(v.Data)}
	switch v.Kind {
	case unstable.InlineTable:
		n = newTable(at)
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				b.keyValue(n, it.Node())
			}
		}
	case unstable.Array:
		n.kind = anArray
		for it := v.Children(); it.Next(); {
			n.items = append(n.items, b.value(it.Node(), at))
		}
	case unstable.String:
		n.kind = aString
	case unstable.Bool:
		n.kind = aBool
	case unstable.Integer:
		n.kind = anInteger
	case unstable.Float:
		n.kind = aFloat
	case unstable.DateTime:
		n.kind = aTime
	default:
		n.kind = aLocalTime
	}
	return n
}
