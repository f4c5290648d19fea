package warehouse

import (
	"maps"
	"os"
)

// parts are the named pieces that a statement is made of: names of tables and columns, and conditions on them.
type parts map[string]string

// with returns these parts and more.
func (p parts) with(more parts) parts {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

// sql renders a statement: each $name in the text becomes the part of that name. Values are not given in this way: they
// are parameters, {name:Type} in the text, which the server fills in.
func sql(text string, p parts) string {
	return os.Expand(text, func(name string) string {
		part, known := p[name]
		if !known {
			panic("warehouse: the statement has no part $" + name)
		}
		return part
	})
}
