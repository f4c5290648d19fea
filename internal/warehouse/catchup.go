package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// stateDerived names the derived tables that have all that is loaded of a stream. The first publication of an account
// sets it. For what was loaded by a version that did not know one of them, CatchUp does.
const stateDerived = "derived"

// inOrder keeps memory from growing with the rows: they are read in the order of their key.
var inOrder = clickhouse.Settings{"optimize_aggregation_in_order": 1, "join_algorithm": "full_sorting_merge"}

// CatchUp fills the derived tables of a stream with what was loaded of an account before there were such tables. It can
// be repeated. Where there is nothing to catch up with, it costs one question for each process.
func (w *Warehouse) CatchUp(ctx context.Context, account string, s *catalog.Stream) error {
	tables, id := derivedTables(s), StreamID{account, s.Name}
	if _, known := w.caughtUp.Load(id); known || len(tables) == 0 {
		return nil
	}
	stored, err := w.state(ctx, account, s.Name, stateDerived)
	if err != nil {
		return err
	}
	full := strings.Fields(stored.value)
	for _, t := range missingFrom(full, tables) {
		if err := w.conn.Exec(w.write(ctx, inOrder), t.fillAll(s), named("account", account)); err != nil {
			return fmt.Errorf("filling %s with what is loaded of account %s: %w", t.table, account, err)
		}
		full = append(full, t.table)
		if err := w.saveStates(ctx, account, s.Name, stateRow{stateDerived, strings.Join(full, " "), 0}); err != nil {
			return err
		}
	}
	w.caughtUp.Store(id, true)
	return nil
}

// missingFrom are the tables that are not among the names.
func missingFrom(names []string, tables []derived) (missing []derived) {
	for _, t := range tables {
		if !slices.Contains(names, t.table) {
			missing = append(missing, t)
		}
	}
	return missing
}
