package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dealhouse/internal/catalog"
)

// ErrSchemaOld says that the warehouse lacks tables, columns or views that this binary needs.
var ErrSchemaOld = errors.New("the schema of the warehouse is older than this binary: run `dealhouse migrate`")

// ErrSchemaNew says that a newer binary has already changed the warehouse.
var ErrSchemaNew = errors.New("the schema of the warehouse is newer than this binary: use the newer dealhouse")

var createMigrations = sqlFile("create_migrations", nil)

var createMigrationsView = sqlFile("create_migrations_view", nil)

// ErrSchemaEarlier says that the warehouse is one of before the first release, whose tables this binary does not know.
var ErrSchemaEarlier = errors.New("the warehouse was made by a version of dealhouse from before its first release: give warehouse.database another name, and load everything again")

// run applies migrations, and records them.
func (m migrator) run(ctx context.Context, migrations ...migration) error {
	if err := m.apply(ctx, m.bookkeeping()); err != nil {
		return err
	}
	for _, a := range migrations {
		if err := m.apply(ctx, a.statements); err != nil {
			return err
		}
	}
	if len(migrations) == 0 {
		return nil
	}
	return m.record(ctx, migrations)
}

// apply runs statements. One that does not reach all servers of the cluster is run on a server of each shard. All
// shards run it before the next statement, so no shard is ahead of another by more than one.
func (m migrator) apply(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		for _, p := range m.pools(statement) {
			if err := p.exec(ctx, statement); err != nil {
				return fmt.Errorf("migrating: %s...: %w", firstLine(statement), err)
			}
		}
	}
	return nil
}

// pools returns the pools that a statement is sent to.
func (m migrator) pools(statement string) []*pool {
	all := []*pool{m.pool}
	if m.pool.dialect.reachesAll(statement) {
		return all
	}
	for _, o := range m.others {
		all = append(all, o.pool)
	}
	return all
}

var migrationColumns = columns("version UInt32, name String, checksum String, generation UInt32, tables String, views String, applied_at DateTime64(3)")

// record remembers what was applied.
func (m migrator) record(ctx context.Context, applied []migration) error {
	all := []migrator{m}
	for _, o := range m.others {
		all = append(all, o.migrator)
	}
	for _, on := range all {
		sum, err := on.viewsNow(ctx)
		if err == nil {
			err = on.pool.record(ctx, applied, sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// record remembers what was applied, and what the views are since then.
func (p *pool) record(ctx context.Context, applied []migration, views string) error {
	_, next, err := p.timeAfter(ctx, newestTime("applied_at"), "schema_migrations_log")
	if err != nil {
		return err
	}
	err = insertEach(ctx, p, "schema_migrations_log", migrationColumns, applied, func(a migration) []any {
		return []any{a.version, a.name, a.checksum(), a.generation, a.tables(), views, next}
	})
	if err != nil {
		return fmt.Errorf("recording the migration: %w", err)
	}
	return nil
}

// PlanMigration returns the statements that Migrate would run now, without running any. The last one records the
// others: after somebody has run all of them, nothing is left for Migrate.
func (m migrator) PlanMigration(ctx context.Context) ([]string, error) {
	plan, err := m.pending(ctx)
	if err != nil || plan.empty() {
		return nil, err
	}
	return append(plan.statements, recordOf(plan.records())), nil
}

// CheckSchema returns ErrSchemaOld or ErrSchemaNew when the warehouse does not fit this binary.
func (m migrator) CheckSchema(ctx context.Context) error {
	plan, err := m.pending(ctx)
	if err == nil && !plan.empty() {
		return ErrSchemaOld
	}
	return err
}

func (m migrator) createDatabase() string {
	return m.pool.dialect.lasting(sql("CREATE DATABASE IF NOT EXISTS $database",
		parts{"database": "`" + m.pool.database + "`"}))
}

// bookkeeping returns the statements that make the record of what was applied.
func (m migrator) bookkeeping() []string {
	d := m.pool.dialect
	return append(d.createLocal(), d.lasting(createMigrations), d.lasting(createMigrationsView))
}

// pending compares what the warehouse has with what this binary wants. Of several shards, it returns the plan of the
// one that needs most: every step can be repeated on the others.
func (m migrator) pending(ctx context.Context) (p plannedMigration, err error) {
	p, err = m.pendingHere(ctx)
	for _, o := range m.others {
		if err != nil {
			return p, err
		}
		var there plannedMigration
		if there, err = o.migrator.pendingHere(ctx); len(there.statements) > len(p.statements) {
			p = there
		}
	}
	return p, err
}

func (m migrator) pendingHere(ctx context.Context) (p plannedMigration, err error) {
	have, err := m.stored(ctx)
	if err != nil {
		return p, err
	}
	if recorded := have.columns["schema_migrations_log"]; recorded != nil && recorded["views"] == "" {
		return p, ErrSchemaEarlier
	}
	applied, err := m.applied(ctx)
	if err != nil {
		return p, err
	}
	d := m.pool.dialect
	files, err := m.numbered(d)
	if err != nil {
		return p, err
	}
	if err := have.earlier(applied, files); err != nil {
		return p, err
	}
	for version, a := range applied {
		if version > files[len(files)-1].version {
			return p, fmt.Errorf("%w (it has %s)", ErrSchemaNew, a.name)
		}
	}
	streams, err := m.streams(d)
	if err != nil {
		return p, err
	}
	outranked, err := m.outranked(streams, applied[streamsVersion])
	if err != nil {
		return p, err
	}
	additions, err := missingColumns(d, have.columns)
	if err == nil && len(additions) > 0 && applied[streamsVersion].generation > streams.generation {
		err = fmt.Errorf("%w (it lacks columns that it should have, and the newer one adds them)", ErrSchemaNew)
	}
	if err != nil {
		return p, err
	}
	again, err := m.damaged(have, applied, files, streams)
	if err != nil {
		return p, err
	}
	for _, f := range files {
		if applied[f.version].sum == "" || again { // a later file may change what an earlier one makes
			p.files = append(p.files, f)
			p.statements = append(p.statements, f.statements...)
		}
	}
	var hashes []string
	for _, s := range catalog.All() {
		if statements := have.hashStatements(d, s); len(statements) > 0 {
			p.rehashed, hashes = append(p.rehashed, s), append(hashes, statements...)
		}
	}
	if len(additions)+len(hashes) > 0 || !outranked || again {
		p.tables = slices.Concat(wantedTables(d), additions)
		p.streams = &streams
		p.statements = slices.Concat(p.statements, streams.statements, additions, hashes)
	}
	if !p.empty() {
		p.statements = slices.Concat([]string{m.createDatabase()}, m.bookkeeping(), p.statements)
	}
	return p, nil
}

// earlier returns ErrSchemaEarlier if a file that was applied is not the one that this binary has under its number, or
// a stream is stored in another order. Files are never edited after a release.
func (h stored) earlier(applied map[uint32]appliedMigration, files []migration) error {
	for _, f := range files {
		if a := applied[f.version]; a.sum != "" && a.sum != f.checksum() {
			return ErrSchemaEarlier
		}
	}
	for _, s := range catalog.All() {
		for _, table := range []string{latestTable(s), versionsTable(s)} {
			if h.has(table) && h.orders[table] != sortingColumns(s) {
				return ErrSchemaEarlier
			}
		}
	}
	return nil
}

// applied returns what was applied, by version.
func (m migrator) applied(ctx context.Context) (map[uint32]appliedMigration, error) {
	type row struct {
		version uint32
		appliedMigration
	}
	rows, err := m.pool.conn.Query(ctx, selectApplied)
	if IsMissing(err) {
		return nil, nil
	}
	all, err := scanned(rows, err, func(r *row) []any {
		return []any{&r.version, &r.name, &r.sum, &r.generation,
			&r.tables, &r.views}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which migrations were applied: %w", err)
	}
	applied := map[uint32]appliedMigration{}
	for _, r := range all {
		applied[r.version] = r.appliedMigration
	}
	return applied, nil
}
