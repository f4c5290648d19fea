package config

import (
	"fmt"
	"slices"
	"strings"
)

// scope is one table after its keys were read. A repeated table has one for each of its items.
type scope struct {
	section section
	at      position
	values  *values
	inner   []*scope
}

// find returns the scopes of the tables of that name directly inside.
func (s *scope) find(name string) []*scope {
	var found []*scope
	for _, inner := range s.inner {
		if inner.section.name == name {
			found = append(found, inner)
		}
	}
	return found
}

// walker reads the tree by the schema. It continues after a problem, so that all are found at once (config-2).
type walker struct{ *findings }

// walk reads one table. above is the set of tables that v has values from.
func (w walker) walk(path []string, n *node, s section, above where, v *values) *scope {
	if s.own {
		v = v.inherit()
	}
	if s.fresh {
		v = newValues()
	}
	for _, k := range keysIn(s) {
		// Values of the tables above are inherited.
		if k.in&above == 0 && k.standard != "" {
			if err := k.value.set(v, k.plainDefault()); err != nil {
				panic(fmt.Sprintf("config: the default of %s: %s", k.name, err)) // a test loads all defaults
			}
		}
	}
	w.readKeys(path, n, s, v)
	for _, k := range keysIn(s) {
		if k.required && k.in&above == 0 && !v.has(k.name) {
			w.missing(n, s, v, k)
		}
	}
	here := &scope{section: s, at: n.at, values: v}
	if s.name != "" {
		path = append(slices.Clone(path), s.name)
	}
	for _, child := range s.children {
		for _, table := range w.tables(path, n, child) {
			here.inner = append(here.inner, w.walk(path, table, child, above|s.in, v))
		}
		// A table whose values are not a copy of its own, such as [defaults], passes them on to the tables that follow.
		if !child.own {
			above |= child.in
		}
	}
	return here
}

// readKeys reads the keys of one table; the tables in it are for the caller.
func (w walker) readKeys(path []string, n *node, s section, v *values) {
	known := keysIn(s)
	for _, name := range n.names {
		if slices.ContainsFunc(s.children, func(c section) bool { return c.name == name }) {
			continue
		}
		i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if i < 0 {
			w.unknown(path, n, s, name)
			continue
		}
		value := n.keys[name]
		v.at[name] = value.at
		if !known[i].value.takes(value.kind) {
			w.problem(value.at, "%s must be %s, not %s", name, known[i].value.want, value.kind)
			continue
		}
		text := value.text
		if value.kind == anArray {
			var plain bool
			if text, plain = arrayText(value); !plain {
				w.problem(value.at, "%s must be %s", name, known[i].value.want)
				continue
			}
		}
		if err := known[i].value.set(v, text); err != nil {
			w.problem(value.at, "%s: %s", name, err)
		}
	}
}

// tables returns the nodes of a table inside another. If it is absent and not needed, that is an empty one.
func (w walker) tables(path []string, n *node, s section) []*node {
	found, ok := n.keys[s.name]
	if !ok {
		if s.repeated {
			return nil
		}
		return []*node{newTable(n.at)}
	}
	want := title(path, s)
	switch {
	case s.repeated && found.kind == aTable:
		w.problem(found.at, "%q may stand several times: write %s, with two brackets", s.name, want)
		return []*node{found}
	case s.repeated && found.kind == anArray:
		items := slices.Clone(found.items)
		return slices.DeleteFunc(items, func(item *node) bool {
			if item.kind != aTable {
				w.problem(item.at, "%q must hold tables only, not %s: write %s", s.name, item.kind, want)
			}
			return item.kind != aTable
		})
	case !s.repeated && found.kind == anArray && found.header:
		w.problem(found.at, "%q stands once only: write %s, with one bracket", s.name, want)
	case found.kind == aTable:
		return []*node{found}
	default:
		w.problem(found.at, "%q must be a table, not %s: write %s", s.name, found.kind, want)
	}
	if s.repeated {
		return nil
	}
	return []*node{newTable(n.at)}
}

// unknown reports a key or table that the schema does not have there.
func (w walker) unknown(path []string, n *node, s section, name string) {
	at, value := n.keyAt[name], n.keys[name]
	place := "at the top level"
	if s.name != "" {
		place = "in " + title(path, s)
	}
	var inside []string
	for _, child := range s.children {
		inside = append(inside, child.name)
	}
	what := "key"
	if value.kind == aTable || value.header {
		what = "table"
	}
	if elsewhere := titles(name); len(elsewhere) > 0 && what == "key" {
		w.problem(at, "%q has no meaning %s; it belongs in %s", name, place, either(elsewhere))
		return
	}
	hint := didYouMean(name, append(inside, names(keysIn(s))...))
	if hint == "" && what == "key" {
		hint = inAnotherTable(name)
	}
	w.problem(at, "unknown %s %s %s%s", what, quote(name), place, hint)
}

// inAnotherTable does the same as didYouMean, with the keys of all tables.
func inAnotherTable(name string) string {
	near, ok := nearest(name, names(vocabulary), len(name)/3)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %q in %s?", near, either(titles(near)))
}

// missing reports a required key that is absent, at the head of its table.
func (w walker) missing(n *node, s section, v *values, k key) {
	who := s.name
	if name := v.ownName(); name != "" {
		who = fmt.Sprintf("%s %q", s.name, name)
	}
	hint := ""
	if k.example != "" {
		hint = fmt.Sprintf(", such as %s = %s", k.name, k.example)
	}
	if n.at.env != "" {
		hint = ": set " + singleVariable(k.name)
	}
	w.problem(n.at, "%s lacks %s%s", who, k.name, hint)
}

// either is "a", "a or b", "a, b or c".
func either(list []string) string { return joined(list, "or") }

// joined is "a", "a and b", "a, b and c", with that word before the last.
func joined(list []string, word string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}
