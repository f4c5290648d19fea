package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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

// DroppedError says that somebody has dropped tables of the warehouse. They are not made again by themselves: the state
// of their streams says that their rows are loaded, so no run would load these again.
type DroppedError struct{ Tables []string }

func (e *DroppedError) Error() string {
	return fmt.Sprintf("the warehouse has lost what it had in %s, which somebody has dropped: restore a backup, "+
		"or give warehouse.database another name and load everything again", strings.Join(e.Tables, ", "))
}

// damaged reports whether somebody has dropped or changed what the record says is there. Nothing is compared with a
// warehouse of another generation: its views are those of another version.
func (m migrator) damaged(have stored, applied map[uint32]appliedMigration, files []migration, streams migration) (bool, error) {
	found := applied[streamsVersion]
	if found.sum == "" || found.generation != streams.generation {
		return false, nil
	}
	made := slices.DeleteFunc(slices.Clone(files), func(f migration) bool { return applied[f.version].sum == "" })
	return have.damaged(madeBy(append(made, streams)...), found)
}

// viewsNow returns a checksum of the views that this binary has made, as the warehouse has them.
func (m migrator) viewsNow(ctx context.Context) (string, error) {
	files, err := m.numbered(m.pool.dialect)
	if err != nil {
		return "", err
	}
	streams, err := m.streams(m.pool.dialect)
	if err != nil {
		return "", err
	}
	have, err := m.stored(ctx)
	if err != nil {
		return "", err
	}
	return have.viewsSum(madeBy(append(files, streams)...)), nil
}

// damaged compares the tables and views that were made with those that are there. It reports whether views, or tables
// that keep nothing, have to be made again, because somebody has dropped or changed them. applied is the record of all
// that is wanted. The error is a *DroppedError.
func (h stored) damaged(wanted map[string]bool, applied appliedMigration) (bool, error) {
	again := applied.views != "" && applied.views != h.viewsSum(wanted)
	var dropped []string
	for name, isView := range wanted {
		engine, exists := h.engines[name]
		switch {
		case exists && (engine == "View") == isView:
		case isView && exists:
			return false, fmt.Errorf("%s is a table of somebody else, and the warehouse has a view of that name: rename the table", name)
		case isView, strings.HasSuffix(name, "_staging"):
			again = true
		default:
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		return false, &DroppedError{dropped}
	}
	return again, nil
}

// viewsSum returns a checksum of the definitions that the wanted views have now.
func (h stored) viewsSum(wanted map[string]bool) string {
	var all []string
	for name, isView := range wanted {
		if isView {
			all = append(all, name+" "+h.views[name])
		}
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:])
}

// When a stream gets another content hash, because it gets a column or the hash is made in another way, the hashes of
// its stored rows are computed again (warehouse-21). Otherwise every row would look changed once, and get a version
// without any change.
//
// Nobody may publish meanwhile, so the leases of all accounts are taken first. Each table says in the comment of its
// column _hash which hash it has. So the work may be killed at any statement and done again.

// ended makes a statement that writes rows again wait until they are written, also when a person runs it.
const ended = " SETTINGS mutations_sync = 1"

// hashStatements returns the statements that give the rows of a stream the hash of this binary. Staged rows come first:
// from then on no run compares rows with those of another hash. A derived table with hashes is marked as out of date,
// so that it is made again before the next run.
func (h stored) hashStatements(d dialect, s *catalog.Stream) (statements []string) {
	comment := func(table string) string {
		return sql("ALTER TABLE $table COMMENT COLUMN _hash $comment",
			parts{"table": table, "comment": quote(hashComment(s))})
	}
	old := func(table string) bool { return h.has(table) && h.hashes[table] != hashComment(s) }
	staging := stagingTable(s)
	if old(staging) {
		statements = append(statements, d.staging(rehash(s)),
			d.staging(sql("ALTER TABLE $staging MATERIALIZE COLUMN _hash"+ended, parts{"staging": staging})),
			d.staging(comment(staging)))
	}
	for _, table := range []string{versionsTable(s), latestTable(s)} {
		if old(table) {
			if keysTable(s) != "" {
				statements = append(statements, forgetDerived(s))
			}
			statements = append(statements, updateHashes(table, s), d.lasting(comment(table)))
		}
	}
	return statements
}

// rehash defines the content hash of staged rows.
func rehash(s *catalog.Stream) string {
	return sql("ALTER TABLE $staging MODIFY COLUMN _hash FixedString(16) DEFAULT $hash",
		parts{"staging": stagingTable(s), "hash": stagedHash(s)})
}

// updateHashes computes the hashes of a table again. Rows that already have the right hash are left alone, so that it
// costs little to repeat the statement after a lost connection.
func updateHashes(table string, s *catalog.Stream) string {
	return sql("ALTER TABLE $table UPDATE _hash = $hash WHERE _hash != $hash"+ended,
		parts{"table": table, "hash": storedHash(s)})
}

// forgetDerived notes that the derived tables of a stream are out of date.
func forgetDerived(s *catalog.Stream) string {
	return sql(`INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT account, stream, $derived, '', max(version) + 1 FROM sync_state_log
WHERE stream = $stream GROUP BY account, stream HAVING countIf(name = $derived) > 0`,
		parts{"derived": quote(stateDerived), "stream": quote(s.Name)})
}
