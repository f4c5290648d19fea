package warehouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// storedColumnsByTable lists the columns that the tables of the database have now.
func (w *Warehouse) storedColumnsByTable(ctx context.Context) (map[string]map[string]string, error) {
	rows, err := w.admin.Query(ctx, "SELECT table, name, type FROM system.columns WHERE database = {database:String}", clickhouse.Named("database", w.database))
	if err != nil {
		return nil, fmt.Errorf("reading the columns of the warehouse: %w", err)
	}
	defer rows.Close()
	columns := map[string]map[string]string{}
	for rows.Next() {
		var table, name, typ string
		if err := rows.Scan(&table, &name, &typ); err != nil {
			return nil, fmt.Errorf("reading the columns of the warehouse: %w", err)
		}
		if columns[table] == nil {
			columns[table] = map[string]string{}
		}
		columns[table][name] = typ
	}
	return columns, rows.Err()
}

// wantedTable is a table with the columns that this binary writes and reads.
type wantedTable struct {
	name string
	want []column
}

// streamMigration adds the columns that existing tables of the streams lack. It refuses what would lose data.
func streamMigration(have map[string]map[string]string) (migration, error) {
	m := migration{version: streamsVersion, name: "streams"}
	for _, s := range catalog.All() {
		tables := []wantedTable{
			{s.Name + "_latest", storedColumns(s)},
			{s.Name + "_staging", stagingColumns(s)},
		}
		if s.History {
			tables = append(tables, wantedTable{s.Name + "_versions", storedColumns(s)})
		}
		if s.Child != nil {
			tables = append(tables, wantedTable{s.Child.Table + "_latest", childStoredColumns(s)}, wantedTable{s.Child.Table + "_staging", childStagingColumns(s)})
		}
		var added []string
		for _, t := range tables {
			statements, err := addColumns(t.name, have[t.name], t.want)
			if err != nil {
				return m, err
			}
			added = append(added, statements...)
		}
		if len(added) > 0 {
			added = append(added, rehash(s))
		}
		m.statements = append(m.statements, added...)
	}
	return m, nil
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
			return nil, fmt.Errorf("column %s.%s is %s in the warehouse, and this version of dealhouse needs %s: changing it could lose data, so it is left to you", table, c.name, typ, c.typ)
		case !exists:
			statements = append(statements, "ALTER TABLE "+table+" ADD COLUMN IF NOT EXISTS "+strings.Join(columnDefs([]column{c}), "")+" AFTER "+after)
		}
		after = c.name
	}
	return statements, nil
}

// rehash redefines what the content hash of staged rows covers.
func rehash(s *catalog.Stream) string {
	return "ALTER TABLE " + s.Name + "_staging MODIFY COLUMN _hash FixedString(16) MATERIALIZED sipHash128(" + hashedColumns(s) + ")"
}
