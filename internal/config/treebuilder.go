package config

import (
	"sort"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

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
