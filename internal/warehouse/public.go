package warehouse

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dealhouse/schema"
)

// A second database may have the views that people query, and nothing else (Options.ViewsDatabase), so that a BI tool
// lists no table. Each of its views reads the view of the same name. It runs with the rights of the user who made it,
// so that a reader needs no rights on the tables. Over several shards it is a table over this view of each shard, as in
// the database that is configured. One more view, publicMark, says what the others were made for: as in warehouse-17, a
// binary replaces only what an older one has made.
//
// Views with parameters have no columns that a tool can list, and no rows that it can ask for without a parameter. So
// they are in one more database (withParameters).

// withParameters returns the name of the database of the views that have parameters.
func withParameters(views string) string { return views + "_with_parameters" }

// publicMark is the name of that view.
const publicMark = "dealhouse_views"

// innerViews are the views that people do not query: other views are made of them, or they show the
// program's own state.
var innerViews = []string{"payout_alterations", "schema_migrations", "service_clock", "sync_state"}

// publicView is a view that people query.
type publicView struct {
	name       string
	columns    string // as they are declared, with their comments
	parameters string // in brackets, each with its value; "": it has none
	comment    string // quoted
}

// viewStatement matches a statement that makes a view: its name, its columns, its query and its comment.
var viewStatement = regexp.MustCompile(`(?s)^CREATE OR REPLACE VIEW (\w+)\n\(\n(.+?)\n\)\nAS (.+)\nCOMMENT ('(?:[^'\\]|\\.|'')*')$`)

// declaredColumn matches the beginning of a line that declares a column of a view.
var declaredColumn = regexp.MustCompile(`(?m)^    (\w+) `)

// publicViews returns the views that people query, as the files and the catalog make them, by name.
func publicViews() ([]publicView, error) {
	made, err := numberedMigrations(dialect{})
	if err != nil {
		return nil, err
	}
	streams, err := wantedStreams(dialect{})
	if err != nil {
		return nil, err
	}
	var views []publicView
	for _, m := range append(made, streams) {
		for _, statement := range m.statements {
			found := viewStatement.FindStringSubmatch(statement)
			if found == nil || slices.Contains(innerViews, found[1]) {
				continue
			}
			// A later file replaces it.
			views = slices.DeleteFunc(views, func(v publicView) bool { return v.name == found[1] })
			views = append(views, publicView{found[1], found[2], passedOn(found[3]), found[4]})
		}
	}
	slices.SortFunc(views, func(a, b publicView) int { return strings.Compare(a.name, b.name) })
	return views, nil
}

// passedOn returns the parameters that the query of a view names, in the form in which another view passes
// them on to it.
func passedOn(query string) string {
	var all []string
	for _, m := range definedParameter.FindAllStringSubmatch(query, -1) {
		if p := m[1] + " = {" + m[1] + ":" + m[2] + "}"; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// createPublic makes a view in the database of views. Over shards it runs with the rights of the user who queries it:
// these are the rights that its tables pass on.
func createPublic(database, views string, v publicView, divided bool) string {
	rights := "\nDEFINER = CURRENT_USER SQL SECURITY DEFINER"
	if divided {
		rights = ""
	}
	var names []string
	for _, c := range declaredColumn.FindAllStringSubmatch(v.columns, -1) {
		names = append(names, c[1])
	}
	return sql("CREATE OR REPLACE VIEW $views.$name\n(\n$columns\n)$rights\nAS SELECT $names\nFROM $database.$name$parameters\nCOMMENT $comment", parts{
		"views": views, "name": v.name, "columns": v.columns, "rights": rights, "names": strings.Join(names, ", "),
		"database":   database,
		"parameters": v.parameters, "comment": v.comment,
	})
}

// createPublicMark makes the view that says what the views of its database were made for.
func createPublicMark(database, views string, files, generation uint32) string {
	return sql("CREATE OR REPLACE VIEW $views.$mark (database String, files UInt32, generation UInt32)\n"+
		"AS SELECT $database AS database, toUInt32($files) AS files, toUInt32($generation) AS generation\n"+
		"COMMENT 'What the views of this database were made for: the database that they read, the last file in schema/, and the generation of its views'",
		parts{"views": views, "mark": publicMark, "database": quote(database), "files": fmt.Sprint(files),
			"generation": fmt.Sprint(generation)})
}

// selectPublicMark asks whether the views were made for this state of the schema, and whether for a newer one.
func selectPublicMark(views string) string {
	return sql("SELECT database = {database:String} AND (files, generation) = ({files:UInt32}, {generation:UInt32}), database = {database:String} AND (files, generation) > ({files:UInt32}, {generation:UInt32}) FROM $views.$mark", parts{"views": views, "mark": publicMark})
}

// selectPublic lists what the database of views contains, and what of that reads the view of the same name in
// the database.
const selectPublic = `SELECT name, engine = 'View' AND (name = {mark:String} OR position(replaceAll(as_select, '` +
	"`" + `', ''), concat(' FROM ', {database:String}, '.', name)) > 0)
        OR engine = 'Distributed' AND position(engine_full, concat('\'', {shard:String}, '\', \'', name, '\'')) > 0 AS made
FROM system.tables
WHERE database = {views:String}
ORDER BY name`

// madeFor returns the last file in schema/ and the generation of the views: the state for which this
// binary makes views.
func madeFor(d dialect) (files, generation uint32, err error) {
	all, err := numberedMigrations(d)
	if err != nil {
		return 0, 0, err
	}
	generation, _, err = schema.Generation()
	return all[len(all)-1].version, generation, err
}

// viewsDatabase is the database that has the views for people, and nothing else.
type viewsDatabase struct{ w *Warehouse }

// pending returns the statements that make the database of views. There are none if it is up to date, or is not wanted.
func (d viewsDatabase) pending(ctx context.Context) ([]string, error) {
	views := d.w.given.ViewsDatabase
	if views == "" {
		return nil, nil
	}
	files, generation, err := madeFor(d.w.dialect)
	if err != nil {
		return nil, err
	}
	var fits, newer bool
	err = d.w.admin.QueryRow(ctx, selectPublicMark(views), named("database", d.w.database),
		named("files", fmt.Sprint(files)), named("generation", fmt.Sprint(generation))).Scan(&fits, &newer)
	if err != nil && !IsMissing(err) {
		return nil, fmt.Errorf("asking what the views of database %s were made for: %w", views, err)
	}
	if newer { // its views are its own business
		return nil, nil
	}
	wanted, err := publicViews()
	if err != nil {
		return nil, err
	}
	if fits {
		if there, err := d.complete(ctx, wanted); there || err != nil {
			return nil, err
		}
	}
	var drops []string
	for _, database := range []string{views, withParameters(views)} {
		elsewhere := func(v publicView) bool { return d.of(v) != database }
		more, err := d.unwanted(ctx, database, slices.DeleteFunc(slices.Clone(wanted), elsewhere))
		if err != nil {
			return nil, err
		}
		drops = append(drops, more...)
	}
	return slices.Concat(d.create(), drops, d.createViews(wanted),
		d.everywhere(createPublicMark(d.w.database, views, files, generation))), nil
}

// complete tells whether every view is there: somebody may have dropped one.
func (d viewsDatabase) complete(ctx context.Context, wanted []publicView) (bool, error) {
	there := map[string][]string{}
	for _, database := range []string{d.w.given.ViewsDatabase, withParameters(d.w.given.ViewsDatabase)} {
		names, err := d.w.names(ctx, database)
		if err != nil {
			return false, err
		}
		there[database] = names
	}
	return !slices.ContainsFunc(wanted, func(v publicView) bool { return !slices.Contains(there[d.of(v)], v.name) }), nil
}

// everywhere renders statements for all servers.
func (d viewsDatabase) everywhere(statements ...string) []string {
	for i, statement := range statements {
		statements[i] = d.w.dialect.everywhere(statement)
	}
	return statements
}

func (d viewsDatabase) create() []string {
	views := d.w.given.ViewsDatabase
	return d.everywhere("CREATE DATABASE IF NOT EXISTS "+views, "CREATE DATABASE IF NOT EXISTS "+withParameters(views))
}

// of returns the database that a view is in.
func (d viewsDatabase) of(v publicView) string {
	if v.parameters != "" {
		return withParameters(d.w.given.ViewsDatabase)
	}
	return d.w.given.ViewsDatabase
}

func (d viewsDatabase) createViews(wanted []publicView) []string {
	var statements []string
	for _, v := range wanted {
		statement := createPublic(d.w.database, d.of(v), v, d.w.shards != nil)
		if d.w.shards != nil && v.parameters == "" {
			statement = createUnion(d.w.dialect.cluster, shardDatabase(d.w.database),
				d.w.given.ViewsDatabase+"."+v.name, v.name)
		}
		statements = append(statements, statement)
	}
	return d.everywhere(statements...)
}

// unwanted returns the statements that drop views of a database which were made earlier and are no longer wanted. What
// somebody else has made there stays. If that has the name of a wanted view, it returns a *ServerError.
func (d viewsDatabase) unwanted(ctx context.Context, views string, wanted []publicView) (statements []string, err error) {
	type table struct {
		name string
		made bool
	}
	rows, err := d.w.admin.Query(ctx, selectPublic, named("views", views), named("mark", publicMark),
		named("database", d.w.database), named("shard", shardDatabase(d.w.database)))
	tables, err := scanned(rows, err, func(t *table) []any { return []any{&t.name, &t.made} })
	if err != nil {
		return nil, fmt.Errorf("listing the views of database %s: %w", views, err)
	}
	for _, t := range tables {
		known := t.name == publicMark ||
			slices.ContainsFunc(wanted, func(v publicView) bool { return v.name == t.name })
		switch {
		case known && !t.made:
			return nil, &ServerError{Problem: fmt.Sprintf("%s.%s is not a view of the warehouse %s", views,
				t.name, d.w.database),
				Advice: "give warehouse.views_database the name of a database that nothing else uses"}
		case !known && t.made:
			statements = append(statements, sql("DROP TABLE IF EXISTS $views.$name",
				parts{"views": views, "name": t.name}))
		}
	}
	return d.everywhere(statements...), nil
}

// migrate makes the database of views, or brings it up to date. It returns the statements that it ran.
func (d viewsDatabase) migrate(ctx context.Context) (statements []string, err error) {
	if pending, err := d.pending(ctx); err != nil || len(pending) == 0 {
		return nil, err
	}
	leader := d.w
	if d.w.shards != nil {
		leader = d.w.shards.all[0]
	}
	err = leader.inTurn(ctx, func(ctx context.Context) (err error) {
		statements, err = d.pending(ctx) // another process may have done it meanwhile
		for _, statement := range statements {
			if err == nil {
				err = d.w.exec(ctx, statement)
			}
		}
		if err != nil {
			return fmt.Errorf("making the views of database %s: %w", d.w.given.ViewsDatabase, err)
		}
		return nil
	})
	return statements, mayNot(err)
}
