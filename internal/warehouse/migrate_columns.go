package warehouse

import (
	"context"
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

const (
	selectColumns = "SELECT table, name, type, if(name = '_hash', comment, '') FROM system.columns WHERE database = {database:String}"
	selectOrders  = "SELECT name, sorting_key, engine, if(engine = 'View', hex(SHA256(create_table_query)), '') FROM system.tables WHERE database = {database:String}"
)

// stored is what the database has: the columns of each table with their types, its order and engine, what it says of
// the content hashes of its rows, and a hash of the definition of each view.
type stored struct {
	columns map[string]map[string]string
	orders  map[string]string
	hashes  map[string]string
	engines map[string]string
	views   map[string]string
}

func (h stored) has(table string) bool { return h.columns[table] != nil }

// stored lists what the database has now.
func (m migrator) stored(ctx context.Context) (stored, error) {
	type row struct{ table, name, typ, hash string }
	have := stored{columns: map[string]map[string]string{}, orders: map[string]string{}, hashes: map[string]string{},
		engines: map[string]string{}, views: map[string]string{}}
	rows, err := m.pool.admin.Query(ctx, selectColumns, named("database", m.pool.database))
	all, err := scanned(rows, err, func(r *row) []any { return []any{&r.table, &r.name, &r.typ, &r.hash} })
	if err != nil {
		return have, fmt.Errorf("reading the columns of the warehouse: %w", err)
	}
	for _, r := range all {
		if have.columns[r.table] == nil {
			have.columns[r.table] = map[string]string{}
		}
		have.columns[r.table][r.name] = r.typ
		if r.name == "_hash" {
			have.hashes[r.table] = r.hash
		}
	}
	rows, err = m.pool.admin.Query(ctx, selectOrders, named("database", m.pool.database))
	all, err = scanned(rows, err, func(r *row) []any { return []any{&r.table, &r.name, &r.typ, &r.hash} })
	if err != nil {
		return have, fmt.Errorf("reading the tables of the warehouse: %w", err)
	}
	for _, r := range all {
		have.orders[r.table], have.engines[r.table], have.views[r.table] = r.name, r.typ, r.hash
	}
	return have, nil
}

// missingColumns returns the statements that add the columns which existing tables of the streams lack. If a change
// could lose data, it returns an error instead.
func missingColumns(d dialect, have map[string]map[string]string) ([]string, error) {
	var statements []string
	for _, s := range catalog.All() {
		for _, t := range tablesOf(s) {
			columns, err := addColumns(t.name, have[t.name], t.want)
			if err != nil {
				return nil, err
			}
			for _, statement := range columns {
				statements = append(statements, t.render(d, statement))
			}
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
		{latestTable(s), storedColumns(s), dialect.lasting},
		{stagingTable(s), stagingColumns(s), dialect.staging},
	}
	if s.History {
		tables = append(tables, wantedTable{versionsTable(s), storedColumns(s), dialect.lasting})
	}
	if s.Child != nil {
		tables = append(tables, wantedTable{childLatest(s), childStoredColumns(s), dialect.lasting},
			wantedTable{childHashes(s), childHashesColumns(s), dialect.lasting})
	}
	return tables
}

// addColumns returns the statements that add to a table the columns which it lacks. The order of columns stays that of
// the catalog, since the parts of one table are attached to another.
func addColumns(table string, have map[string]string, want []column) ([]string, error) {
	if have == nil {
		return nil, nil // the table does not exist yet, and is made with all columns
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
