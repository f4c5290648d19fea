package warehouse

import (
	"errors"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// scanned reads all rows of a query into values. err is that of the query; fields says where the columns of a row go.
func scanned[T any](rows driver.Rows, err error, fields func(*T) []any) ([]T, error) {
	var all []T
	err = each(rows, err, fields, func(value T) error {
		all = append(all, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each calls do for each row of a query, as a value, and keeps none of them. The other arguments are those of scanned.
func each[T any](rows driver.Rows, err error, fields func(*T) []any, do func(T) error) error {
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		var value T
		if err = rows.Scan(fields(&value)...); err == nil {
			err = do(value)
		}
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// only is the argument fields of scanned for queries of one column.
func only[T any](value *T) []any { return []any{value} }
