package main

import (
	"context"
	"fmt"

	"dealhouse/internal/warehouse"
)

func rebuild(ctx context.Context, w *warehouse.Warehouse, check bool) {
	f, err := w.Rebuild(ctx, "", check)
	fmt.Println(f, err)
}
