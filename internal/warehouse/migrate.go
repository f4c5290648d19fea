package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
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
    generation UInt32 COMMENT 'Of the tables of the streams and all views: the higher is the newer; 0 for files',
    tables String COMMENT 'SHA-256 of the definitions of the tables of the streams, without their comments; empty for files',
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
    generation UInt32 COMMENT 'Of the tables of the streams and all views: the higher is the newer; 0 for files',
    applied_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse'
)
AS SELECT version, name, checksum, generation, applied_at FROM schema_migrations_log FINAL
COMMENT 'What has been applied to this database'`

// migrator makes the schema and brings it up to date.
type migrator struct {
	pool   *pool
	told   *sync.Once                       // that the views are those of another version
	wanted func(dialect) (migration, error) // in the place of wantedStreams, in tests of two versions
}

// migration is a set of statements that is applied together and recorded once. Each statement can be repeated.
type migration struct {
	version    uint32
	name       string
	generation uint32 // of the streams
	statements []string
}

func (m migration) checksum() string {
	sum := sha256.Sum256([]byte(strings.Join(m.statements, ";\n")))
	return hex.EncodeToString(sum[:])
}

// streamsVersion is the record of the tables that follow from the catalog, and of all views: applied again whenever
// they differ.
const streamsVersion = 0

// Migrate runs what is pending, in the caller's turn. The database is there.
func (m migrator) Migrate(ctx context.Context) ([]string, error) {
	statements, records, err := m.pending(ctx)
	if err != nil || len(statements) == 0 {
		return nil, err
	}
	for _, statement := range statements[1:] {
		if err := m.pool.exec(ctx, statement); err != nil {
			return nil, fmt.Errorf("migrating: %s...: %w", firstLine(statement), err)
		}
	}
	if err := m.record(ctx, records); err != nil {
		return nil, err
	}
	return statements, nil
}

var migrationColumns = columns("version UInt32, name String, checksum String, generation UInt32, tables String, applied_at DateTime64(3)")

// record remembers what was applied.
func (m migrator) record(ctx context.Context, applied []migration) error {
	_, next, err := m.pool.timeAfter(ctx, newestTime("applied_at"), "schema_migrations_log")
	if err != nil {
		return err
	}
	err = m.pool.insert(ctx, "schema_migrations_log", migrationColumns, func(b driver.Batch) error {
		for _, a := range applied {
			if err := b.Append(a.version, a.name, a.checksum(), a.generation, a.tables(), next); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("recording the migration: %w", err)
	}
	return nil
}

// PlanMigration returns the statements that Migrate would run now, without running any. The last one records the others:
// after somebody has run all of them, nothing is left for Migrate.
func (m migrator) PlanMigration(ctx context.Context) ([]string, error) {
	statements, records, err := m.pending(ctx)
	if err == nil && len(statements) > 0 {
		statements = append(statements, recordOf(records))
	}
	return statements, err
}

// CheckSchema returns ErrSchemaOld or ErrSchemaNew when the warehouse does not fit this binary.
func (m migrator) CheckSchema(ctx context.Context) error {
	statements, _, err := m.pending(ctx)
	if err == nil && len(statements) > 0 {
		return ErrSchemaOld
	}
	return err
}

func (m migrator) createDatabase() string {
	return m.pool.dialect.lasting(sql("CREATE DATABASE IF NOT EXISTS $database", parts{"database": "`" + m.pool.database + "`"}))
}

// pending compares what the warehouse has with what this binary wants.
func (m migrator) pending(ctx context.Context) ([]string, []migration, error) {
	stored, err := m.storedColumnsByTable(ctx)
	if err != nil {
		return nil, nil, err
	}
	applied, err := m.applied(ctx, stored["schema_migrations_log"]["generation"] != "")
	if err != nil {
		return nil, nil, err
	}
	d := m.pool.dialect
	files, err := numberedMigrations(d)
	if err != nil {
		return nil, nil, err
	}
	for version, a := range applied {
		if version > files[len(files)-1].version {
			return nil, nil, fmt.Errorf("%w (it has %s)", ErrSchemaNew, a.name)
		}
	}
	streams, err := m.streams(d)
	if err != nil {
		return nil, nil, err
	}
	outranked, err := m.outranked(streams, applied[streamsVersion])
	if err != nil {
		return nil, nil, err
	}
	additions, err := missingColumns(d, stored)
	if err == nil && len(additions) > 0 && applied[streamsVersion].generation > streams.generation {
		err = fmt.Errorf("%w (it lacks columns that it should have, and the newer one adds them)", ErrSchemaNew)
	}
	if err != nil {
		return nil, nil, err
	}
	statements := []string{m.createDatabase(), d.lasting(createMigrations), d.lasting(addGeneration), d.lasting(createMigrationsView)}
	var records []migration
	for _, f := range files {
		if applied[f.version].sum == "" {
			statements, records = append(statements, f.statements...), append(records, f)
		}
	}
	if len(additions) > 0 || !outranked {
		statements = append(append(statements, streams.statements...), additions...)
		records = append(records, streams)
	}
	if len(records) == 0 {
		return nil, nil, nil
	}
	return statements, records, nil
}

// appliedMigration is what is recorded of a migration.
type appliedMigration struct {
	name, sum  string
	generation uint32 // 0 for files, and where an earlier version recorded it
	tables     string
}

// applied is what was applied, by version.
func (m migrator) applied(ctx context.Context, withGeneration bool) (map[uint32]appliedMigration, error) {
	type row struct {
		version uint32
		appliedMigration
	}
	query := selectAppliedEarlier
	if withGeneration {
		query = selectApplied
	}
	rows, err := m.pool.conn.Query(ctx, query)
	if IsMissing(err) {
		return nil, nil
	}
	all, err := scanned(rows, err, func(r *row) []any { return []any{&r.version, &r.name, &r.sum, &r.generation, &r.tables} })
	if err != nil {
		return nil, fmt.Errorf("reading which migrations were applied: %w", err)
	}
	applied := map[uint32]appliedMigration{}
	for _, r := range all {
		applied[r.version] = r.appliedMigration
	}
	return applied, nil
}

// IsMissing reports an error because a table or database does not exist (yet).
func IsMissing(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 60 || e.Code == 81) // UNKNOWN_TABLE, UNKNOWN_DATABASE
}
