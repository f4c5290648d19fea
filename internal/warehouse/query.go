package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// TextTable is a table or a view of the user's own, with its values as text.
type TextTable struct {
	Columns []string
	Rows    [][]string // NULL is empty
}

// ErrTextTable says that a table of the user's own cannot be read as it is.
var ErrTextTable = errors.New("the table cannot be read")

// maxTextRows is how many rows of a table of the user's own are read at most.
const maxTextRows = 1_000_000

// ReadTextTable reads a table or a view of the user's own, "table" or "database.table". Amounts have to be decimals,
// integers or text there: a float is refused with ErrTextTable, because it may differ from the amount that it shows.
func (r Reader) ReadTextTable(ctx context.Context, name string) (TextTable, error) {
	var t TextTable
	database, table, has := strings.Cut(name, ".")
	if !has {
		database, table = "", name
	}
	rows, err := r.retrying.Query(ctx, selectColumnsOf, named("database", database), named("table", table))
	cols, err := scanned(rows, err, func(c *column) []any { return []any{&c.name, &c.typ} })
	switch {
	case err != nil:
		return t, fmt.Errorf("reading which columns %s has: %w", name, err)
	case len(cols) == 0:
		return t, fmt.Errorf("%w: there is no table or view %s, or the user of the warehouse may not read it",
			ErrTextTable, name)
	}
	for _, c := range cols {
		if strings.Contains(c.typ, "Float") {
			return t, fmt.Errorf("%w: column %s of %s is a %s, which is not exact: make it a Decimal or text",
				ErrTextTable, c.name, name, c.typ)
		}
		t.Columns = append(t.Columns, c.name)
	}
	from := identifier(table)
	if has {
		from = identifier(database) + "." + from
	}
	rows, err = r.retrying.Query(ctx, selectAsText(from, cols))
	if t.Rows, err = scanned(rows, err, only[[]string]); err != nil {
		return t, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(t.Rows) > maxTextRows {
		return t, fmt.Errorf("%w: %s has more than %d rows: make a view of those that are new", ErrTextTable, name,
			maxTextRows)
	}
	return t, nil
}

// selectColumnsOf selects the columns of a table and their types, in their order. Parameters: database, which is empty
// for that of the warehouse, and table.
const selectColumnsOf = `SELECT name, type FROM system.columns
WHERE database = if({database:String} = '', currentDatabase(), {database:String}) AND table = {table:String} ORDER BY position`

// selectAsText selects the rows of a table, each as an array of the texts of its values. It selects one row more than
// may be read.
func selectAsText(from string, cols []column) string {
	values := make([]string, len(cols))
	for i, c := range cols {
		value := identifier(c.name)
		if strings.HasPrefix(c.typ, "Array") {
			value = "arrayStringConcat(arrayMap(x -> toString(x), " + value + "), ' ')"
		}
		values[i] = "ifNull(toString(" + value + "), '')"
	}
	return sql("SELECT [$values] FROM $from LIMIT $limit",
		parts{"values": strings.Join(values, ", "), "from": from, "limit": fmt.Sprint(maxTextRows + 1)})
}

// identifier quotes a name.
func identifier(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}
