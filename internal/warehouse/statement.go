package warehouse

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// write returns the context of a statement that writes.
func (p *pool) write(ctx context.Context, more ...clickhouse.Settings) context.Context {
	settings := p.dialect.insertSettings()
	for _, s := range append([]clickhouse.Settings{p.dialect.mergeSettings()}, more...) {
		maps.Copy(settings, s)
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// named returns a server-side parameter, written {name:Type} in the statement.
func named(name string, value any) any { return clickhouse.Named(name, value) }

// columns reads "name Type, name Type". A type must not have a comma with a space after it.
func columns(list string) []column {
	var cols []column
	for part := range strings.SplitSeq(list, ", ") {
		name, typ, _ := strings.Cut(part, " ")
		cols = append(cols, column{name: name, typ: typ})
	}
	return cols
}

// knownColumns tells the client the types of an insert, so that it does not ask the server for them.
func knownColumns(cols []column) clickhouse.QueryOption {
	known := make([]clickhouse.ColumnNameAndType, len(cols))
	for i, c := range cols {
		known[i] = clickhouse.ColumnNameAndType{Name: c.name, Type: c.typ}
	}
	return clickhouse.WithColumnNamesAndTypes(known)
}

// insert sends one block of rows: all of them are kept, or none. It is for the tables of the bookkeeping, where the
// same rows may be written twice, since one of them replaces the other: fill must give the same rows each time.
func (p *pool) insert(ctx context.Context, table string, cols []column, fill func(driver.Batch) error) error {
	return p.send(ctx, table, cols, p.dialect.insertSettings(), fill)
}

// insertEach does the same as insert, with a row for each value.
func insertEach[T any](ctx context.Context, p *pool, table string, cols []column, values []T, row func(T) []any) error {
	return p.insert(ctx, table, cols, func(b driver.Batch) error {
		for _, v := range values {
			if err := b.Append(row(v)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// send sends one block of rows, and sends it again if the warehouse could not take it for the moment. The rows are the
// same each time, to the byte (warehouse-7).
func (p *pool) send(ctx context.Context, table string, cols []column, settings clickhouse.Settings,
	fill func(driver.Batch) error) error {
	statement := insertInto(table, cols)
	return p.retry(ctx, statement, func() error {
		batch, err := p.conn.PrepareBatch(clickhouse.Context(ctx, clickhouse.WithSettings(settings),
			knownColumns(cols)), statement)
		if err != nil {
			return err
		}
		defer batch.Close() //nolint:errcheck // after Send it does nothing; before it, the error that counts is returned
		if err := fill(batch); err != nil {
			return err
		}
		return batch.Send()
	})
}

// exec runs a statement that writes and that may be done twice: DDL with IF (NOT) EXISTS, dropping a partition, or one
// that finds nothing left to do the second time.
func (p *pool) exec(ctx context.Context, statement string, args ...any) error {
	return p.retry(ctx, statement, func() error { return p.conn.Exec(p.write(ctx), statement, args...) })
}

// step is a statement with settings of its own.
type step struct {
	statement string
	settings  clickhouse.Settings
	when      string // a query that counts; if the count is 0, the statement is left out
	ran       *bool  // becomes true if the statement is run
}

// execAll runs statements that can only be repeated together (warehouse-7): those that make a table again and fill
// it with INSERT ... SELECT. If the connection of an attempt was lost and it still writes, it writes to the table
// that was dropped.
func (p *pool) execAll(ctx context.Context, steps []step, args ...any) error {
	return p.fillNew(ctx, nil, steps, args...)
}

// fillNew does the same as execAll, for statements that make new tables. Before they are tried again, the
// tables are dropped.
func (p *pool) fillNew(ctx context.Context, tables []string, steps []step, args ...any) error {
	if len(steps) == 0 {
		return nil
	}
	tried := false
	return p.retry(ctx, steps[len(steps)-1].statement, func() error {
		if tried && len(tables) > 0 {
			if err := p.conn.Exec(p.write(ctx), dropDelta(tables...)); err != nil {
				return err
			}
		}
		tried = true
		for _, s := range steps {
			if err := p.runStep(ctx, s, args); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *pool) runStep(ctx context.Context, s step, args []any) error {
	if s.when != "" {
		var n uint64
		if err := p.conn.QueryRow(ctx, s.when, args...).Scan(&n); err != nil || n == 0 {
			return err
		}
		*s.ran = true
	}
	return p.conn.Exec(p.write(ctx, s.settings), s.statement, args...)
}

// script renders the statements of one run. Its methods are pure functions.
// testdata shows what each statement looks like for a stream.
//
// Their parameters: account, run, started (when the run began, in microseconds since 1970), latest (the latest time of
// reading that a stored row can have, in microseconds), cap (the service's time, in milliseconds: no row changed later)
// and merged_at (in milliseconds).
type script struct {
	Run
	dialect dialect
	names   parts
}

func (d dialect) script(r Run) script {
	s := r.Stream
	names := parts{
		"stream": s.Name, "latest": latestTable(s), "versions": versionsTable(s), "staging": stagingTable(s),
		"changes": d.ofRun(r.changes()), "delta": d.ofRun(r.delta()), "moves": d.ofRun(r.moves()),
		"changed": d.ofRun(r.changed()), "current": cmp.Or(keysTable(s), latestTable(s)),
		"key": keyNames(s), "written": isWritten, "gone": isGone, "read_part": readPart, "merged_at": mergedAt,
	}
	if s.Child != nil {
		names["child_latest"], names["child_hashes"] = childLatest(s), childHashes(s)
		names["child_hashes_delta"] = d.ofRun(r.derivedDelta(childHashes(s)))
		names["child_delta"], names["child_key"] = d.ofRun(r.childDelta()), childKeyNames(s)
	}
	return script{r, d, names}
}

// render fills in the names of the run's tables, and more.
func (x script) render(text string, more parts) string { return sql(text, x.names.with(more)) }

// sqlFile does the same for a statement of a file.
func (x script) sqlFile(name string, more parts) string {
	return sqlFile(name, x.names.with(more))
}

// Values of the column change of a table of changes.
const (
	changeInsert = 1
	changeUpdate = 2
	changeDelete = 3
	changeOlder  = 4 // nothing is written: what was read has other content, but is dated before what is stored
)

// Conditions on that column: the rows that get the staged content, and those that keep their last one.
var (
	isWritten = fmt.Sprintf("change IN (%d, %d)", changeInsert, changeUpdate)
	isGone    = fmt.Sprintf("change = %d", changeDelete)
	isChanged = fmt.Sprintf("change != %d", changeOlder)
	isMoved   = isWritten + " AND moved"
)

// isLive is the condition on that column for the rows that readers see before the run.
var isLive = fmt.Sprintf("change IN (%d, %d)", changeUpdate, changeDelete)

// readPart masks the time of reading in a version.
const readPart = "toUInt128(18446744073709551615)"

const mergedAt = "fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC')"

func upstreamPart(version string) string {
	return "bitShiftLeft(bitShiftRight(" + version + ", 64), 64)"
}

// cappedVersion returns the version of a staged row, with its updatedAt limited to the service's own time.
func cappedVersion(version string) string {
	return sql("least($v, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd($v, $read_part)))",
		parts{"v": version, "read_part": readPart})
}

// datedAhead returns the condition that an upstream time, in milliseconds, is so much later than the one it is compared
// with that slightly different clocks do not explain it. Such a time is wrong, and does not say when the row changed.
func datedAhead(upstream, of string) string {
	return fmt.Sprintf("%s > %s + %d", upstream, of, clockTolerance.Milliseconds())
}

// stagedAhead is that condition for staged rows.
var stagedAhead = datedAhead("bitShiftRight(_version, 64)", "{cap:UInt64}")

// joined writes the lines of a part below each other.
func joined(lines []string) string { return strings.Join(lines, ",\n    ") }

// files are the long statements. Each is valid SQL as it stands, for a stream that serves as an example: a comment
// says which part takes the place of what comes after it, /*$name*/word or /*$name{*/several words/*}*/.
//
//go:embed sql
var files embed.FS

var placeholder = regexp.MustCompile(`/\*\$(\w+)(?:\{\*/(?s:.*?)/\*\}\*/|\*/(?:'[^']*'|[\w.]+)?)`)

// parts are the named pieces that a statement is made of: names of tables and columns, and conditions on them.
type parts map[string]string

// with returns these parts and more.
func (p parts) with(more parts) parts {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

// sql renders a statement: each $name in the text becomes the part of that name. Values are not given in this way: they
// are parameters, {name:Type} in the text, which the server fills in.
func sql(text string, p parts) string {
	return os.Expand(text, p.named)
}

// sqlFile renders a statement of a file of sql/ in the same way.
func sqlFile(name string, p parts) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic("warehouse: " + err.Error())
	}
	return placeholder.ReplaceAllStringFunc(strings.TrimSuffix(string(text), "\n"), func(found string) string {
		return p.named(placeholder.FindStringSubmatch(found)[1])
	})
}

// named returns one part. A statement that names another is a fault of this package.
func (p parts) named(name string) string {
	part, known := p[name]
	if !known {
		panic("warehouse: the statement has no part $" + name)
	}
	return part
}
