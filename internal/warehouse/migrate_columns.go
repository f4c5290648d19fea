package warehouse

import (
	"context"
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

const selectColumns = "SELECT table, name, type FROM system.columns WHERE database = {database:String}"

// storedColumnsByTable lists the columns that the tables of the database have now: of each its type, by name.
func (m migrator) storedColumnsByTable(ctx context.Context) (map[string]map[string]string, error) {
	type row struct{ table, name, typ string }
	rows, err := m.pool.admin.Query(ctx, selectColumns, named("database", m.pool.database))
	all, err := scanned(rows, err, func(r *row) []any { return []any{&r.table, &r.name, &r.typ} })
	if err != nil {
		return nil, fmt.Errorf("reading the columns of the warehouse: %w", err)
	}
	columns := map[string]map[string]string{}
	for _, r := range all {
		if columns[r.table] == nil {
			columns[r.table] = map[string]string{}
		}
		columns[r.table][r.name] = r.typ
	}
	return columns, nil
}

// missingColumns are the statements that add the columns which existing tables of the streams lack. Where it would lose
// data it refuses.
func missingColumns(d dialect, have map[string]map[string]string) ([]string, error) {
	var statements []string
	for _, s := range catalog.All() {
		added := 0
		for _, t := range tablesOf(s) {
			columns, err := addColumns(t.name, have[t.name], t.want)
			if err != nil {
				return nil, err
			}
			for _, statement := range columns {
				statements = append(statements, t.render(d, statement))
			}
			added += len(columns)
		}
		if added > 0 {
			statements = append(statements, d.staging(rehash(s)))
		}
	}
	return statements, nil
}

// wantedTable is a table with the columns that this binary writes and reads.
type wantedTable struct {
	name   string
	want   []column
	render func(dialect, string) string
}

// tablesOf are the tables of a stream.
func tablesOf(s *catalog.Stream) []wantedTable {
	tables := []wantedTable{
		{s.Name + "_latest", storedColumns(s), dialect.lasting},
		{s.Name + "_staging", stagingColumns(s), dialect.staging},
	}
	if s.History {
		tables = append(tables, wantedTable{s.Name + "_versions", storedColumns(s), dialect.lasting})
	}
	if s.Child != nil {
		tables = append(tables, wantedTable{s.Child.Table + "_latest", childStoredColumns(s), dialect.lasting},
			wantedTable{childHashes(s), childHashesColumns(s), dialect.lasting})
	}
	return tables
}

// addColumns brings an existing table up to what is wanted. The order of columns stays that of the catalog, since the
// parts of one table are attached to another.
func addColumns(table string, have map[string]string, want []column) ([]string, error) {
	if have == nil {
		return nil, nil // the table does not exist yet, and is made whole
	}
	var statements []string
	after := ""
	for _, c := range want {
		typ, exists := have[c.name]
		switch {
		case exists && typ != c.typ:
			return nil, fmt.Errorf("column %s.%s is %s in the warehouse, and this version of dealhouse needs %s: "+
				"changing it could lose data, so it is left to you", table, c.name, typ, c.typ)
		case !exists:
			statements = append(statements, sql("ALTER TABLE $table ADD COLUMN IF NOT EXISTS $column AFTER $after",
				parts{"table": table, "column": strings.Join(columnDefs([]column{c}), ""), "after": after}))
		}
		after = c.name
	}
	return statements, nil
}

// rehash redefines what the content hash of staged rows covers.
func rehash(s *catalog.Stream) string {
	return sql("ALTER TABLE ${stream}_staging MODIFY COLUMN _hash FixedString(16) MATERIALIZED sipHash128($columns)",
		parts{"stream": s.Name, "columns": hashedColumns(s)})
}
