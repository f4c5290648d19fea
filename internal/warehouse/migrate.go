package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
	"dealhouse/schema"
)

// ErrSchemaOld says that the warehouse lacks tables, columns or views that this binary needs.
var ErrSchemaOld = errors.New("the schema of the warehouse is older than this binary: run `dealhouse migrate`")

// ErrSchemaNew says that a newer binary has already changed the warehouse.
var ErrSchemaNew = errors.New("the schema of the warehouse is newer than this binary: use the newer dealhouse")

const createMigrations = `CREATE TABLE IF NOT EXISTS schema_migrations_log
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY version
COMMENT 'The storage behind schema_migrations'`

const createMigrationsView = `CREATE OR REPLACE VIEW schema_migrations
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    applied_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse'
)
AS SELECT version, name, checksum, applied_at FROM schema_migrations_log FINAL
COMMENT 'What has been applied to this database'`

// migration is a set of statements that is applied together and recorded once. Each statement can be repeated.
type migration struct {
	version    uint32
	name       string
	statements []string
}

func (m migration) checksum() string {
	sum := sha256.Sum256([]byte(strings.Join(m.statements, ";\n")))
	return hex.EncodeToString(sum[:])
}

// streamsVersion is the record of the tables that follow from the catalog, and of all views: applied again whenever they differ.
const streamsVersion = 0

// Migrate creates or upgrades the schema. It only adds: a column of another type than this binary expects is refused.
// It may run twice, and in two processes at once. It returns the statements that it ran.
func (w *Warehouse) Migrate(ctx context.Context) ([]string, error) {
	statements, records, err := w.pending(ctx)
	if err != nil {
		return nil, err
	}
	if len(statements) == 0 {
		return nil, nil
	}
	if err := w.retry(ctx, w.createDatabase(), func() error { return w.admin.Exec(ctx, w.createDatabase()) }); err != nil {
		return nil, fmt.Errorf("creating the database %s: %w", w.database, err)
	}
	for _, statement := range statements[1:] {
		if err := w.exec(ctx, statement); err != nil {
			return nil, fmt.Errorf("migrating: %s...: %w", firstLine(statement), err)
		}
	}
	_, next, err := w.timeAfter(ctx, newestTime("applied_at"), "schema_migrations_log")
	if err != nil {
		return nil, err
	}
	err = w.insert(ctx, "schema_migrations_log", columns("version UInt32, name String, checksum String, applied_at DateTime64(3)"), func(b driver.Batch) error {
		for _, m := range records {
			if err := b.Append(m.version, m.name, m.checksum(), next); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recording the migration: %w", err)
	}
	return statements, nil
}

// PlanMigration returns the statements that Migrate would run now, without running any.
func (w *Warehouse) PlanMigration(ctx context.Context) ([]string, error) {
	statements, _, err := w.pending(ctx)
	return statements, err
}

// CheckSchema returns ErrSchemaOld or ErrSchemaNew when the warehouse does not fit this binary.
func (w *Warehouse) CheckSchema(ctx context.Context) error {
	statements, _, err := w.pending(ctx)
	if err == nil && len(statements) > 0 {
		return ErrSchemaOld
	}
	return err
}

func (w *Warehouse) createDatabase() string {
	return "CREATE DATABASE IF NOT EXISTS `" + w.database + "`"
}

// pending compares what the warehouse has with what this binary wants.
func (w *Warehouse) pending(ctx context.Context) ([]string, []migration, error) {
	applied, err := w.applied(ctx)
	if err != nil {
		return nil, nil, err
	}
	files, err := numberedMigrations()
	if err != nil {
		return nil, nil, err
	}
	for version, name := range applied.names {
		if version > files[len(files)-1].version {
			return nil, nil, fmt.Errorf("%w (it has %s)", ErrSchemaNew, name)
		}
	}
	columns, err := w.storedColumnsByTable(ctx)
	if err != nil {
		return nil, nil, err
	}
	streams, err := streamMigration(columns)
	if err != nil {
		return nil, nil, err
	}
	statements := []string{w.createDatabase(), createMigrations, createMigrationsView}
	fresh := len(statements)
	var records []migration
	for _, m := range append(files, streams) {
		record := m
		if m.version == streamsVersion {
			if record, err = wantedStreams(); err != nil {
				return nil, nil, err
			}
			if len(m.statements) == 0 && applied.sums[m.version] == record.checksum() {
				continue
			}
			m.statements = append(record.statements, m.statements...)
		} else if applied.sums[m.version] != "" {
			continue
		}
		statements = append(statements, m.statements...)
		records = append(records, record)
	}
	if len(statements) == fresh {
		return nil, nil, nil
	}
	return statements, records, nil
}

type appliedMigrations struct {
	names map[uint32]string
	sums  map[uint32]string
}

func (w *Warehouse) applied(ctx context.Context) (appliedMigrations, error) {
	a := appliedMigrations{names: map[uint32]string{}, sums: map[uint32]string{}}
	rows, err := w.conn.Query(ctx, "SELECT version, name, checksum FROM schema_migrations")
	if IsMissing(err) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("reading which migrations were applied: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var version uint32
		var name, sum string
		if err := rows.Scan(&version, &name, &sum); err != nil {
			return a, fmt.Errorf("reading which migrations were applied: %w", err)
		}
		a.names[version], a.sums[version] = name, sum
	}
	return a, rows.Err()
}

// IsMissing reports an error because a table or database does not exist (yet).
func IsMissing(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 60 || e.Code == 81) // UNKNOWN_TABLE, UNKNOWN_DATABASE
}

func numberedMigrations() ([]migration, error) {
	names, err := fs.Glob(schema.Files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the migrations: %w", err)
	}
	slices.Sort(names)
	var all []migration
	for _, name := range names {
		text, err := fs.ReadFile(schema.Files, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		m := migration{name: name, statements: splitStatements(string(text))}
		if _, err := fmt.Sscanf(name, "%04d_", &m.version); err != nil {
			return nil, fmt.Errorf("migration %s: its name does not begin with a number: %w", name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// splitStatements cuts a file at semicolons that end a line, and drops comment lines.
func splitStatements(text string) []string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			kept = append(kept, line)
		}
	}
	var statements []string
	for _, s := range strings.Split(strings.Join(kept, ""), ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			statements = append(statements, s)
		}
	}
	return statements
}

// wantedStreams are the tables and views that follow from the catalog, as a new database gets them, and the views over
// them.
func wantedStreams() (migration, error) {
	m := migration{version: streamsVersion, name: "streams"}
	for _, s := range catalog.All() {
		m.statements = append(m.statements, createLatest(s), createStaging(s))
		if s.History {
			m.statements = append(m.statements, createVersions(s))
		}
		if s.Child != nil {
			m.statements = append(m.statements, createChildLatest(s), createChildStaging(s))
		}
	}
	for _, s := range catalog.All() {
		m.statements = append(m.statements, createView(s))
		if s.AllView != "" {
			m.statements = append(m.statements, createAllView(s))
		}
		if s.History {
			m.statements = append(m.statements, createHistory(s))
		}
		if s.Child != nil {
			m.statements = append(m.statements, createChildView(s))
		}
	}
	names, err := fs.Glob(schema.Views, "views/*.sql")
	if err != nil {
		return m, fmt.Errorf("listing the views: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := fs.ReadFile(schema.Views, name)
		if err != nil {
			return m, fmt.Errorf("reading the view %s: %w", name, err)
		}
		m.statements = append(m.statements, splitStatements(string(text))...)
	}
	return m, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
