package warehouse

import (
	"fmt"
	"strings"
)

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
