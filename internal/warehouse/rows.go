package warehouse

import "github.com/ClickHouse/clickhouse-go/v2/lib/driver"

// scanned reads all rows of a query into values. err is that of the query; fields says where the columns of a row go.
func scanned[T any](rows driver.Rows, err error, fields func(*T) []any) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var value T
		if err := rows.Scan(fields(&value)...); err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, rows.Err()
}

// only is for queries of one column.
func only[T any](value *T) []any { return []any{value} }
