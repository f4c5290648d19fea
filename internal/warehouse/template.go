package warehouse

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// named returns a server-side parameter, written {name:Type} in the statement.
func named(name string, value any) any { return clickhouse.Named(name, value) }

// columns reads "name Type, name Type". A type must not have a comma with a space after it.
func columns(list string) []column {
	var cols []column
	for part := range strings.SplitSeq(list, ", ") {
		name, typ, _ := strings.Cut(part, " ")
		cols = append(cols, column{name: name, typ: typ})
	}
	return cols
}

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

// quote writes a SQL string literal.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func joinNames(cols []column) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

func columnDefs(cols []column) []string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = c.name + " " + c.typ
		if c.comment != "" {
			defs[i] += " COMMENT " + quote(c.comment)
		}
	}
	return defs
}

// literals writes strings as a list of SQL literals that is never empty.
func literals(values []string) string {
	var text strings.Builder
	text.WriteString("''")
	for _, v := range values {
		text.WriteString(", " + quote(v))
	}
	return text.String()
}

// numbers returns ids as a list for IN. IN takes no empty list, so for no ids it returns NULL.
func numbers(ids []int64) string {
	if len(ids) == 0 {
		return "NULL"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ", "), "[]")
}

// words writes words of a table as a list of SQL literals. The list is empty if there are no words.
func words[T ~string](list []T) string {
	quoted := make([]string, len(list))
	for i, word := range list {
		quoted[i] = quote(string(word))
	}
	return strings.Join(quoted, ", ")
}

// stringArray writes strings as an array of SQL.
func stringArray(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// column is a column of a table or a view.
type column struct{ name, typ, comment string }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
