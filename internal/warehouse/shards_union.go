package warehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// The database that is configured has, for each view and each table of the shards, a table over all shards under the
// same name. It also has the views with parameters, made by the same statements. One more view, unionMark, says what
// these were made for: as in warehouse-17, a binary replaces only what an older one has made.

// unionMark is the name of that view.
const unionMark = "over_shards"

// migrateShards changes the schema of the shards, and then the tables over them.
func (w *Warehouse) migrateShards(ctx context.Context) ([]string, error) {
	statements, err := w.shards.all[0].Migrate(ctx)
	if err != nil {
		return statements, err
	}
	if err := w.makeDatabase(ctx); err != nil {
		return statements, mayNot(err)
	}
	union, err := w.pendingUnion(ctx)
	if err != nil {
		return statements, err
	}
	for _, statement := range union {
		if err := w.exec(ctx, statement); err != nil {
			return statements, mayNot(fmt.Errorf("making the tables over all shards: %s...: %w",
				firstLine(statement), err))
		}
	}
	return append(statements, union...), nil
}

// CheckSchema returns ErrSchemaOld or ErrSchemaNew when the warehouse does not fit this binary.
func (w *Warehouse) CheckSchema(ctx context.Context) error {
	statements, err := w.pendingOver(ctx)
	if err == nil && len(statements) > 0 {
		return ErrSchemaOld
	}
	return err
}

// pendingOver returns the statements that make what is over the tables of the warehouse: the tables over several
// shards, and the database of views. If the tables themselves do not fit this binary, it returns an error.
func (w *Warehouse) pendingOver(ctx context.Context) (statements []string, err error) {
	if w.shards == nil {
		err = w.migrator.CheckSchema(ctx)
	} else if err = w.shards.all[0].CheckSchema(ctx); err == nil {
		statements, err = w.pendingUnion(ctx)
	}
	if err != nil {
		return nil, err
	}
	public, err := viewsDatabase{w}.pending(ctx)
	return append(statements, public...), err
}

// PlanMigration returns the statements that Migrate would run now, without running any. With several shards, the
// statements that do not name the cluster are for one server of each shard. The tables over the shards follow from the
// tables of a shard, so they are planned when these exist.
func (w *Warehouse) PlanMigration(ctx context.Context) ([]string, error) {
	tables := w.migrator
	if w.shards != nil {
		tables = w.shards.all[0].migrator
	}
	statements, err := tables.PlanMigration(ctx)
	if err != nil || len(statements) > 0 && w.shards != nil {
		return statements, err
	}
	if w.shards != nil {
		if statements, err = w.pendingUnion(ctx); err != nil {
			return nil, err
		}
	}
	public, err := viewsDatabase{w}.pending(ctx)
	return append(statements, public...), err
}

// pendingUnion returns the statements that make the tables over the shards. There are none if these are up to date.
func (w *Warehouse) pendingUnion(ctx context.Context) ([]string, error) {
	files, generation, err := madeFor(w.dialect)
	if err != nil {
		return nil, err
	}
	mark := createMark(files, generation)
	var fits bool
	err = w.conn.QueryRow(ctx, selectMark, named("files", fmt.Sprint(files)),
		named("generation", fmt.Sprint(generation))).Scan(&fits)
	if err != nil && !IsMissing(err) {
		return nil, err
	}
	names, err := w.names(ctx, shardDatabase(w.database))
	if err != nil {
		return nil, err
	}
	old, err := w.names(ctx, w.database)
	dropped := slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(old, name) })
	if err != nil || fits && !dropped {
		return nil, err
	}
	return w.dialect.union(shardDatabase(w.database), names, old, mark)
}

// names lists the tables and views of a database that are there to be read.
func (w *Warehouse) names(ctx context.Context, database string) ([]string, error) {
	rows, err := w.admin.Query(ctx, selectNames, named("database", database))
	names, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("listing the tables of %s: %w", database, err)
	}
	return names, nil
}

// union returns the statements that make the tables over the shards, the mark last.
func (d dialect) union(shard string, names, old []string, mark string) (statements []string, err error) {
	for _, name := range old {
		if !slices.Contains(names, name) && name != unionMark {
			statements = append(statements, d.everywhere("DROP TABLE IF EXISTS "+name))
		}
	}
	parameterised, err := parameterisedViews()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if parameterised[name] == "" {
			statements = append(statements, d.everywhere(createUnion(d.cluster, shard, name, name)))
		}
	}
	for _, name := range names { // they read what is made above
		if text := parameterised[name]; text != "" {
			statements = append(statements, d.everywhere(text))
		}
	}
	return append(statements, d.everywhere(mark)), nil
}

// parameterisedViews returns the statements of the views that take parameters, by name: there can be no
// table over them.
func parameterisedViews() (map[string]string, error) {
	streams, err := wantedStreams(dialect{})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, statement := range streams.statements {
		if made := viewStatement.FindStringSubmatch(statement); made != nil && definedParameter.MatchString(made[3]) {
			found[made[1]] = statement
		}
	}
	return found, nil
}

// createUnion makes the table over a table or view of all shards, with the same columns, under a name of its own.
func createUnion(cluster, shard, union, name string) string {
	return sql("CREATE OR REPLACE TABLE $union AS `$shard`.$name\nENGINE = Distributed($cluster, $database, $table)",
		parts{"union": union, "name": name, "shard": shard, "cluster": quote(cluster), "database": quote(shard),
			"table": quote(name)})
}

// createMark makes the view that says what the tables over all shards were made for.
func createMark(files, generation uint32) string {
	return sql("CREATE OR REPLACE VIEW $mark (files UInt32, generation UInt32)\nAS SELECT toUInt32($files) AS files, toUInt32($generation) AS generation\n"+
		"COMMENT 'What the tables over all shards were made for: the last file in schema/, and the generation of the views'",
		parts{"mark": unionMark, "files": fmt.Sprint(files), "generation": fmt.Sprint(generation)})
}

// selectMark asks whether the tables over the shards were made for this state of the schema, or for a newer one.
const selectMark = "SELECT (files, generation) >= ({files:UInt32}, {generation:UInt32}) FROM " + unionMark

// selectNames leaves out what only runs and migrations use.
const selectNames = `SELECT name FROM system.tables WHERE database = {database:String} AND NOT match(name, '_staging$|_ordered$|_[0-9a-f]{32}$|^schema_turns_log$')
ORDER BY name`

// What is written about an account is written where it lives.

// SaveRun writes the run's row; a later write replaces an earlier one.
func (w *Warehouse) SaveRun(ctx context.Context, r RunRecord) error {
	return w.At(r.Account).saveRun(ctx, r)
}

// BeginRun writes the row of a run that has none yet.
func (w *Warehouse) BeginRun(ctx context.Context, r RunRecord) error {
	return w.At(r.Account).beginRun(ctx, r)
}

// RecordAction adds an action, with the time of the warehouse, and returns it as it is stored.
func (w *Warehouse) RecordAction(ctx context.Context, a Action) (Action, error) {
	return w.At(a.Account).recordAction(ctx, a)
}

// Consent returns the consent of an operator to what a run of a stream is about to delete, or nil if there is none:
// see consent.
func (w *Warehouse) Consent(ctx context.Context, id StreamID, run uuid.UUID, deletes uint64,
	only bool) (*Action, error) {
	return w.At(id.Account).consent(ctx, id, run, deletes, only)
}

// UnknownReferences returns keys that rows of an account name, and of which nothing is known: see unknownReferences.
func (w *Warehouse) UnknownReferences(ctx context.Context, account string, from *catalog.Stream, to []*catalog.Stream,
	retry time.Duration, limit int) ([]Reference, error) {
	return w.At(account).unknownReferences(ctx, account, from, to, retry, limit)
}

// Dictionary describes every view and its columns.
func (w *Warehouse) Dictionary(ctx context.Context) ([]View, error) {
	return w.common().dictionary(ctx)
}
