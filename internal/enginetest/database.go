package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
)

// dataSource is set by Main, before the first test.
var dataSource string

// DSN returns the warehouse of this process: embedded, in a folder of its own.
func DSN() string { return dataSource }

// Folder returns the folder in which the engine of this process has its data.
func Folder() string { return dataSource[len(catalog.EmbeddedScheme):] }

// Store is what Open needs of a warehouse. The tests of package warehouse use Open too, so this
// package cannot import it.
type Store interface {
	Migrate(ctx context.Context) ([]string, error)
	Close() error
}

// Open gives the test a migrated, empty database of its own (enginetest-1). It returns what open makes of a DSN and
// the name of the database.
func Open[S Store](t testing.TB, open func(ctx context.Context, dsn, database string) (S, error)) S {
	t.Helper()
	d := shared.borrow()
	store, err := open(t.Context(), dataSource, d.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), shared.giveBack(context.Background(), d, t.Failed())); err != nil {
			t.Error(err)
		}
	})
	if d.tables == nil {
		if _, err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := shared.learn(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// database is a database of tests. tables and rows are what it has after its migration, when it is empty.
type database struct {
	name   string
	tables map[string]string // how each is defined, without its id; nil before it is migrated
	rows   map[string]uint64 // contents of the tables that have any
}

// pool has the databases that no test uses.
type pool struct {
	admin driver.Conn

	mu   sync.Mutex
	made int
	free []*database
}

var shared pool

func (p *pool) borrow() *database {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		d := p.free[last]
		p.free = p.free[:last]
		return d
	}
	p.made++
	return &database{name: fmt.Sprintf("test_%s%d", ofThisProcess(), p.made)}
}

// learn notes the tables and rows of a database that was just migrated, and keeps a copy of the rows.
func (p *pool) learn(ctx context.Context, d *database) (err error) {
	if d.tables, d.rows, err = p.readTables(ctx, d.name); err != nil || Cluster() != "" {
		return err
	}
	for name := range d.rows {
		if err := p.admin.Exec(ctx, "CREATE TABLE "+d.copyOf(name)+" CLONE AS "+d.table(name)); err != nil {
			return fmt.Errorf("copying the rows of an empty database: %w", err)
		}
	}
	return nil
}

func (d *database) table(name string) string { return d.name + ".`" + name + "`" }

// copyOf returns the name of the table that keeps the rows which a table has when the database is empty.
func (d *database) copyOf(name string) string { return "default.`" + d.name + "_" + name + "`" }

// giveBack empties a database for the next test, or drops it (enginetest-2).
func (p *pool) giveBack(ctx context.Context, d *database, failed bool) error {
	reusable := false
	var err error
	if !failed && d.tables != nil {
		reusable, err = p.empty(ctx, d)
	}
	if err != nil || !reusable {
		for name := range d.rows {
			err = errors.Join(err, p.admin.Exec(ctx, "DROP TABLE IF EXISTS "+d.copyOf(name)+" SYNC"))
		}
		return errors.Join(err, p.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+d.name+" SYNC"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, d)
	return nil
}

// empty makes a database what it was after its migration. It returns false if that is impossible
// because the schema has changed.
func (p *pool) empty(ctx context.Context, d *database) (bool, error) {
	tables, rows, err := p.readTables(ctx, d.name)
	if err != nil {
		return false, err
	}
	if err := p.dropUnknown(ctx, d, tables, rows); err != nil {
		return false, err
	}
	if !maps.Equal(tables, d.tables) {
		if Cluster() != "" {
			return false, nil
		}
		if err := p.mend(ctx, d, tables); err != nil {
			return false, err
		}
		if tables, rows, err = p.readTables(ctx, d.name); err != nil || !maps.Equal(tables, d.tables) {
			return false, err
		}
	}
	if err := p.restore(ctx, d, rows); err != nil {
		return false, err
	}
	if err := p.truncate(ctx, d, rows); err != nil {
		return false, err
	}
	return maps.Equal(rows, d.rows), nil
}

// dropUnknown drops the tables that the migration did not make, and removes them from tables and rows.
func (p *pool) dropUnknown(ctx context.Context, d *database, tables map[string]string, rows map[string]uint64) error {
	for name := range tables {
		if _, known := d.tables[name]; known {
			continue
		}
		if err := p.admin.Exec(ctx, "DROP TABLE "+d.table(name)+" SYNC"); err != nil {
			return fmt.Errorf("dropping what a test left: %w", err)
		}
		delete(tables, name)
		delete(rows, name)
	}
	return nil
}

// restore brings back the rows that the migration has written, if they have changed. It changes rows
// accordingly. On a cluster it does nothing, because there is no copy of them.
func (p *pool) restore(ctx context.Context, d *database, rows map[string]uint64) error {
	for name, n := range d.rows {
		if rows[name] == n || Cluster() != "" {
			continue
		}
		for _, statement := range []string{"TRUNCATE TABLE " + d.table(name) + " SYNC",
			"ALTER TABLE " + d.table(name) + " ATTACH PARTITION ALL FROM " + d.copyOf(name)} {
			if err := p.admin.Exec(ctx, statement); err != nil {
				return fmt.Errorf("bringing back what the migration has written: %w", err)
			}
		}
		rows[name] = n
	}
	return nil
}

// truncate empties the tables that had no rows after the migration, and removes them from rows.
func (p *pool) truncate(ctx context.Context, d *database, rows map[string]uint64) error {
	for name := range rows {
		if d.rows[name] > 0 {
			continue
		}
		if err := p.admin.Exec(ctx, "TRUNCATE TABLE "+d.table(name)+" SYNC"); err != nil {
			return fmt.Errorf("emptying a table of a test: %w", err)
		}
		delete(rows, name)
	}
	return nil
}

// mend makes the tables and views again that a test has changed or dropped. This takes a few statements; a migration
// takes hundreds.
func (p *pool) mend(ctx context.Context, d *database, tables map[string]string) error {
	for name, definition := range d.tables {
		if tables[name] == definition {
			continue
		}
		kind, rest, _ := strings.Cut(definition, " ")
		for _, statement := range []string{"DROP TABLE IF EXISTS " + d.table(name) + " SYNC",
			"CREATE " + kind + " " + d.table(name) + " " + rest} {
			if err := p.admin.Exec(ctx, statement); err != nil {
				return fmt.Errorf("making anew what a test has changed: %w", err)
			}
		}
	}
	return nil
}

// readTables reads how the tables of a database are defined, and what they contain.
func (p *pool) readTables(ctx context.Context, name string) (tables map[string]string, rows map[string]uint64,
	err error) {
	if tables, err = definitions(filepath.Join(Folder(), "metadata", name)); err != nil {
		return nil, nil, fmt.Errorf("looking at the database of a test: %w", err)
	}
	rows = map[string]uint64{}
	var table string
	var n uint64
	err = p.each(ctx, func() { rows[table] = n },
		"SELECT table, "+contents()+" FROM system.parts WHERE database = {name:String} AND active GROUP BY table", name,
		&table, &n)
	return tables, rows, err
}

// contents is a number that changes with the rows of a table. A number of rows would not: a migration may replace its
// own record, and a merge then leaves as many rows as before. On a cluster only the number tells whether a database can
// be used again, because each merge changes the files.
func contents() string {
	if Cluster() != "" {
		return "sum(rows)"
	}
	return "sum(if(rows = 0, 0, sipHash64(hash_of_all_files)))"
}

// withoutID matches what comes before the definition, to keep only the kind. The id is dropped, because a table that is
// made again in the same way has another id.
var withoutID = regexp.MustCompile(`^ATTACH (\w+) _ UUID '[0-9a-f-]+'\s*`)

// definitions reads the folder in which the engine has a file for each table and view of a database. The file has the
// statement that made it, with its id. definitions returns the kind and the text after the id. The engine itself would
// need as long as a test to show them all. A database that was dropped has none.
func definitions(folder string) (map[string]string, error) {
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	tables := map[string]string{}
	for _, f := range files {
		escaped, isTable := strings.CutSuffix(f.Name(), ".sql")
		if !isTable {
			continue // one that is being written
		}
		name, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		tables[name] = withoutID.ReplaceAllString(string(text), "$1 ")
	}
	return tables, nil
}

// each calls found for each row of a query about a database, after the row is read into cells.
func (p *pool) each(ctx context.Context, found func(), query, name string, cells ...any) error {
	rows, err := p.admin.Query(ctx, query, clickhouse.Named("name", name))
	if err != nil {
		return fmt.Errorf("looking at the database of a test: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return fmt.Errorf("looking at the database of a test: %w", err)
		}
		found()
	}
	return rows.Err()
}
