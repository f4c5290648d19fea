package warehouse

import (
	"embed"
	"maps"
	"os"
	"regexp"
	"strings"
)

// files are the long statements. Each is valid SQL as it stands, for a stream that serves as an example: a comment
// says which part takes the place of what comes after it, /*$name*/word or /*$name{*/several words/*}*/.
//
//go:embed sql
var files embed.FS

var placeholder = regexp.MustCompile(`/\*\$(\w+)(?:\{\*/(?s:.*?)/\*\}\*/|\*/(?:'[^']*'|[\w.]+)?)`)

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
	return os.Expand(text, p.named)
}

// sqlFile renders a statement of a file of sql/ in the same way.
func sqlFile(name string, p parts) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic("warehouse: " + err.Error())
	}
	return placeholder.ReplaceAllStringFunc(strings.TrimSuffix(string(text), "\n"), func(found string) string {
		return p.named(placeholder.FindStringSubmatch(found)[1])
	})
}

// named returns one part. A statement that names another is a fault of this package.
func (p parts) named(name string) string {
	part, known := p[name]
	if !known {
		panic("warehouse: the statement has no part $" + name)
	}
	return part
}
