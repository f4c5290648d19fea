package warehouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// queryer is the part of a connection that asks and changes nothing.
type queryer interface {
	Query(ctx context.Context, query string, args ...any) (driver.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) driver.Row
}

// Reader reads what is in the warehouse and has no way to change it.
type Reader struct {
	retrying queryer // asks again when the warehouse cannot answer for the moment
	once     queryer // asks once, for a person who waits
}
