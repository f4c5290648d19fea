package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"golang.org/x/sync/errgroup"

	"dealhouse/internal/catalog"
	"dealhouse/internal/panics"
)

// derivedTables returns those of a stream, in the order in which they are filled and attached.
func derivedTables(s *catalog.Stream) (tables []derived) {
	if s.OrderedBy != "" {
		tables = append(tables, keysOf(s))
	}
	if s.NamesPayouts() {
		tables = append(tables, decisions())
	}
	if len(s.References()) > 0 {
		tables = append(tables, namedBy(s))
	}
	if s.NamesPayouts() {
		tables = append(tables, payoutTransactionsTable().derived, payoutMovesTable().derived, payoutSumsTable().derived)
	}
	if s.Child != nil {
		tables = append(tables, priceChangesTable(s).derived)
	}
	for i, t := range tables {
		tables[i].create = strings.Replace(t.create, "\nORDER BY ", "\nPARTITION BY account\nORDER BY ", 1)
	}
	return tables
}

// prepareDerived makes the deltas of the derived tables that the run changes, and fills them.
func (w *Writer) prepareDerived(ctx context.Context, c Changes, args []any) error {
	settings := joinSettings(c.Inserted + c.Updated + c.Deleted)
	maps.Copy(settings, deltaSettings)
	once := settings
	if c.allNew() {
		once = maps.Clone(settings)
		maps.Copy(once, uniqueKeySettings(c))
	}
	if changed := w.script.names["changed"]; w.Stream.NamesPayouts() && c.Any() && !c.First {
		steps := []step{{statement: w.script.createChanged()},
			{statement: w.script.insertChanged(), settings: settings}}
		if err := w.pool.fillNew(ctx, []string{changed}, steps, args...); err != nil {
			return err
		}
	}
	var err error
	if w.filled, err = w.touched(ctx, c, args); err != nil {
		return err
	}
	fill := func(ctx context.Context, t derived) error {
		delta := w.pool.dialect.ofRun(w.derivedDelta(t.table))
		own := settings
		if t.once {
			own = once
		}
		return w.pool.fillNew(ctx, []string{delta}, w.derivedSteps(t, delta, c.First, own), args...)
	}
	if c.allNew() {
		return sideBySide(ctx, w.filled, fill)
	}
	for _, t := range w.filled {
		if err := fill(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// sideBySide fills tables two at a time, each after the one that it reads. The first error stops the others, and is
// returned when they have ended. With many rows, each table takes a second of one processor. With few rows there is
// nothing to gain.
func sideBySide(ctx context.Context, tables []derived, fill func(context.Context, derived) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i, t := range tables {
		if t.after != "" {
			continue
		}
		group.Go(func() error {
			return panics.Catch(func() error {
				if err := fill(ctx, t); err != nil {
					return err
				}
				for _, next := range tables[i+1:] {
					if next.after != t.table {
						continue
					}
					if err := fill(ctx, next); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	err := group.Wait()
	panics.Raise(err)
	return err
}

// touched returns the derived tables that the run changes. It asks about all of them in one query.
func (w *Writer) touched(ctx context.Context, c Changes, args []any) (tables []derived, err error) {
	tables = slices.DeleteFunc(derivedTables(w.Stream), func(t derived) bool { return !t.ofChild && !c.Any() })
	if c.First {
		return tables, nil
	}
	counts := map[string]*uint64{}
	var each []string // several tables may have the same count
	var into []any
	for _, t := range tables {
		for _, count := range t.counts(w.script, c) {
			if counts[count] == nil {
				counts[count] = new(uint64)
				each, into = append(each, count), append(into, counts[count])
			}
		}
	}
	if len(each) > 0 {
		if err := w.pool.conn.QueryRow(ctx, w.script.countTouched(each), args...).Scan(into...); err != nil {
			return nil, fmt.Errorf("looking what the run concerns: %w", err)
		}
	}
	return slices.DeleteFunc(tables, func(t derived) bool {
		concerns := func(count string) bool { return *counts[count] > 0 }
		return t.touched != nil && !slices.ContainsFunc(t.counts(w.script, c), concerns)
	}), nil
}

// counts returns the counts of touched, if it is set.
func (t derived) counts(x script, c Changes) []string {
	if t.touched == nil {
		return nil
	}
	return t.touched(x, c)
}

// countTouched asks for all counts of derived.touched at once.
func (x script) countTouched(counts []string) string {
	from := ""
	if x.Stream.NamesPayouts() {
		from = "\nFROM " + x.names["changed"]
	}
	return "SELECT " + strings.Join(counts, ",\n    ") + from
}

// derivedSteps returns the steps that make the delta of a derived table and fill it.
func (w *Writer) derivedSteps(t derived, delta string, first bool, settings clickhouse.Settings) []step {
	steps := []step{{statement: w.pool.dialect.createDelta(t.table, delta, t.create)}}
	for _, statement := range t.fill(w.script, delta, first) {
		steps = append(steps, step{statement: statement, settings: settings})
	}
	return steps
}

// derivedNames returns the names of the tables that follow from a stream.
func derivedNames(s *catalog.Stream) (names []string) {
	for _, t := range derivedTables(s) {
		names = append(names, t.table)
	}
	return names
}

// A stream that is ordered by a time has a table of its keys, with what a comparison needs of each row, so that the
// cost of a run depends on what it changes.

// keysOf returns the table of the keys of a stream. Its granules are small, since a run looks up single
// keys all over it.
func keysOf(s *catalog.Stream) derived {
	insert := func(into, from string) []string { return []string{insertKeys(s, into, "_hash", from)} }
	return derived{
		table: keysTable(s), once: true,
		create: createTable(keysTable(s), columnsOfKeys(s), "ReplacingMergeTree(_version)",
			"(account, "+keyNames(s)+")\nSETTINGS index_granularity = 512",
			"Storage beside "+latestTable(s)+": what a run compares its rows with"),
		fill: func(x script, delta string, _ bool) []string { return insert(delta, x.names["delta"]) },
		rebuild: func(x script, into string) []string {
			return insert(into, x.render("$latest FINAL\nWHERE account = {account:String} AND _deleted != $moved",
				parts{"moved": markedMoved}))
		},
	}
}

func columnsOfKeys(s *catalog.Stream) []column {
	f := s.Fields[s.OrderField()]
	return append(append([]column{accountColumn}, keyColumns(s)...),
		column{f.Column, f.ColumnType(), "Where the row is in " + latestTable(s)},
		column{"_hash", "FixedString(16)", "As in " + latestTable(s)},
		column{"_version", "UInt128", "As in " + latestTable(s)},
		column{"_deleted", "UInt8", "As in " + latestTable(s) + "; 0 or 1"},
		column{"_ahead", "Int64", "updatedAt less the time in the version, in milliseconds; nearly always 0, also when there is no updatedAt"})
}

// insertKeys fills the table of keys, with an expression for the hash, from a table of rows and its conditions.
func insertKeys(s *catalog.Stream, into, hash, from string) string {
	return sql(`INSERT INTO $into ($columns)
SELECT account, $key, $ordered_by, $hash, _version, _deleted, $ahead
FROM $from`, parts{"into": into, "columns": joinNames(columnsOfKeys(s)), "key": keyNames(s), "ordered_by": s.OrderedBy, "hash": hash,
		"ahead": updatedAhead(s), "from": from})
}

func updatedAhead(s *catalog.Stream) string {
	i := s.VersionField()
	if i < 0 {
		return "0"
	}
	return sql("ifNull(greatest(toUnixTimestamp64Milli($updated), 0) - $time, 0)",
		parts{"updated": s.Fields[i].Column, "time": upstreamTime})
}
