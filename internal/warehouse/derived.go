package warehouse

import (
	"maps"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// derived is a table that follows from the rows of a stream: sums of them, or a few of their columns in another order.
//
// A run changes it as it changes the tables of the stream: what changes is computed before anything is attached, from
// what readers see and from the delta of the run, as rows that replace those of the same key. It is attached under the
// same intent, after the stream's own tables (warehouse-1, warehouse-2). So fill must give rows that may be attached
// twice: sums as they are afterwards, not what is to be added.
//
// It is partitioned by account, so that the rows of one account are replaced at once where they are made anew. Its
// columns begin with account; version orders rows, _run_id names a run, and both say nothing else. create names the
// sorting key in a line of its own.
//
// Whoever adds one to a stream that is out there changes the name of its staging table (stagingTable), so that no older
// binary publishes rows that the table lacks.
type derived struct {
	table  string // behind the views; its engine replaces rows
	create string // makes it
	// fill are the statements that fill its delta from that of the stream. They come in the order of derivedTables, so
	// that one may read the delta of a table before it. first says that the account had no row at all.
	fill func(x script, delta string, first bool) []string
	// rebuild are those that fill an empty one from all rows of the account that are stored, or from what was rebuilt of
	// the tables before it.
	rebuild func(x script, into string) []string
	nothing string // the condition on rows that say no more than a missing one; "": there are none
}

// derivedTables are those of a stream, in the order in which they are filled and attached.
func derivedTables(s *catalog.Stream) (tables []derived) {
	if s.OrderedBy != "" {
		tables = append(tables, keysOf(s), liveOf(s))
	}
	if s.TracksDecisions {
		tables = append(tables, decisions())
	}
	if len(s.References()) > 0 {
		tables = append(tables, namedBy(s))
	}
	if s.Sales {
		tables = append(tables, salesTable().derived, saleRetailersTable().derived, payoutTransactionsTable().derived, payoutMovesTable().derived, payoutSumsTable().derived)
	}
	for i, t := range tables {
		tables[i].create = strings.Replace(t.create, "\nORDER BY ", "\nPARTITION BY account\nORDER BY ", 1)
	}
	return tables
}

// derivedDelta is the name of the delta of a derived table.
func (r Run) derivedDelta(table string) string { return table + "_delta_" + r.suffix() }

// derivedSteps make the deltas of the derived tables and fill them.
func (w *Writer) derivedSteps(c Changes) (steps []step) {
	settings := joinSettings(c.Inserted + c.Updated + c.Deleted)
	maps.Copy(settings, deltaSettings)
	if w.Stream.Sales && !c.First {
		steps = append(steps, step{dropDelta(w.script.names["changed"]), nil}, step{w.script.createChanged(), nil}, step{w.script.insertChanged(), settings})
	}
	for _, t := range derivedTables(w.Stream) {
		delta := w.dialect.ofRun(w.derivedDelta(t.table))
		steps = append(steps, step{dropDelta(delta), nil}, step{w.dialect.createDelta(t.table, delta, t.create), nil})
		for _, statement := range t.fill(w.script, delta, c.First) {
			steps = append(steps, step{statement, settings})
		}
	}
	return steps
}

// derivedTargets are the derived tables that the intent names. One that came later than the intent is not among them.
func (p publication) derivedTargets() (targets []target) {
	for _, t := range derivedTables(p.Stream) {
		if slices.Contains(p.intent.Derived, t.table) {
			targets = append(targets, target{t.table, p.dialect.ofRun(p.derivedDelta(t.table)), t.table, sortedBy(t.create)})
		}
	}
	return targets
}

// derivedNames are the tables that follow from a stream.
func derivedNames(s *catalog.Stream) (names []string) {
	for _, t := range derivedTables(s) {
		names = append(names, t.table)
	}
	return names
}
