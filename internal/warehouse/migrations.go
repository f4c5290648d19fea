package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/schema"
)

// numbered returns the files in schema/, as this dialect applies them.
func (m migrator) numbered(d dialect) ([]migration, error) {
	if m.files != nil {
		return migrationsIn(m.files, d)
	}
	return numberedMigrations(d)
}

// numberedMigrations returns the files in schema/, as this dialect applies them.
func numberedMigrations(d dialect) ([]migration, error) { return migrationsIn(schema.Files, d) }

func migrationsIn(files fs.FS, d dialect) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the migrations: %w", err)
	}
	slices.Sort(names)
	var all []migration
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		statements := splitStatements(string(text))
		m := migration{name: name, text: strings.Join(statements, ";\n")}
		for _, statement := range statements {
			m.statements = append(m.statements, d.lasting(statement))
		}
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

// wantedStreams returns the statements for the tables and views that follow from the catalog, as a new database gets
// them, and for the views over them.
func wantedStreams(d dialect) (migration, error) {
	m := migration{version: streamsVersion, name: "streams", statements: wantedTables(d)}
	for _, s := range catalog.All() {
		m.statements = append(m.statements, createViews(d, s)...)
	}
	m.statements = append(m.statements, d.lasting(createStreamCounts()))
	views, err := schema.Views()
	if err != nil {
		return m, err
	}
	for _, text := range views {
		for _, statement := range splitStatements(text) {
			m.statements = append(m.statements, d.lasting(statement))
		}
	}
	return m, nil
}

// wantedTables returns the statements of wantedStreams that make tables. They are the first ones.
func wantedTables(d dialect) (statements []string) {
	for _, s := range catalog.All() {
		statements = append(statements, createTables(d, s)...)
	}
	return statements
}

// createTables returns the statements that make the tables of a stream.
func createTables(d dialect, s *catalog.Stream) []string {
	statements := []string{d.lasting(createLatest(d, s)), createStaging(d, s)}
	if s.History {
		statements = append(statements, d.lasting(createVersions(d, s)))
	}
	for _, t := range derivedTables(s) {
		statements = append(statements, d.lasting(t.create))
	}
	if s.Child != nil {
		statements = append(statements, d.lasting(createChildLatest(s)), d.lasting(createChildHashes(s)))
	}
	return statements
}

// createViews returns the statements that make the views of a stream.
func createViews(d dialect, s *catalog.Stream) []string {
	statements := []string{d.lasting(createView(s))}
	if s.AllView != "" {
		statements = append(statements, d.lasting(createAllView(s)))
	}
	if s.History {
		statements = append(statements, d.lasting(createHistory(s)), d.lasting(createAsOf(s)))
	}
	for _, column := range s.LookedUpBy {
		statements = append(statements, d.lasting(createLookup(s, column)))
	}
	if s.Child != nil {
		statements = append(statements, d.lasting(createChildView(s)))
	}
	return statements
}

// selectApplied asks for what was applied.
const selectApplied = "SELECT version, name, checksum, generation, tables, views FROM schema_migrations_log FINAL"

// streams returns the tables and views that this binary wants, with their generation.
func (m migrator) streams(d dialect) (migration, error) {
	if m.wanted != nil {
		return m.wanted(d)
	}
	streams, err := wantedStreams(d)
	if err != nil {
		return streams, err
	}
	streams.generation, _, err = schema.Generation()
	return streams, err
}

// outranked reports whether the tables and views in the warehouse are those of a binary of this generation or a newer
// one, which this binary does not replace (warehouse-17). It returns ErrSchemaNew if this binary cannot work with them.
func (m migrator) outranked(streams migration, found appliedMigration) (bool, error) {
	if found.sum == "" || found.generation < streams.generation {
		return false, nil
	}
	if found.tables != streams.tables() && found.generation > streams.generation {
		return true, fmt.Errorf("%w (its tables are of generation %d, those of this binary of %d)", ErrSchemaNew,
			found.generation, streams.generation)
	}
	if found.sum != streams.checksum() {
		m.told.Do(func() {
			m.pool.log.Warn("the warehouse has the views of another version of dealhouse: they are kept, because their generation is not lower",
				"generation_of_the_warehouse", found.generation, "generation_of_this_version", streams.generation)
		})
	}
	return true, nil
}

var (
	createsTable = regexp.MustCompile(`^CREATE TABLE\b`)
	tableComment = regexp.MustCompile(`\s*COMMENT '(?:[^'\\]|\\.|'')*'`)
)

// tables returns a checksum of the tables that runs write. Two versions that differ only in views and comments can work
// side by side.
func (m migration) tables() string {
	if m.version != streamsVersion {
		return ""
	}
	var kept []string
	for _, s := range m.statements {
		if createsTable.MatchString(s) {
			kept = append(kept, tableComment.ReplaceAllString(s, ""))
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(kept, ";\n")))
	return hex.EncodeToString(sum[:])
}

// recordOf returns a statement that records the same as record.
func recordOf(applied []migration) string {
	rows := make([]string, len(applied))
	for i, a := range applied {
		rows[i] = fmt.Sprintf("    (%d, %s, %s, %d, %s)", a.version, quote(a.name), quote(a.checksum()), a.generation,
			quote(a.tables()))
	}
	return sql("INSERT INTO schema_migrations_log (version, name, checksum, generation, tables)\nSELECT * FROM VALUES($types,\n$rows)",
		parts{"types": quote("version UInt32, name String, checksum String, generation UInt32, tables String"),
			"rows": strings.Join(rows, ",\n")})
}

// migration is a set of statements that is applied together and recorded once. Each statement can be repeated.
type migration struct {
	version    uint32
	name       string
	generation uint32 // of the streams
	text       string // of a file, as it is on every kind of server
	statements []string
}

func (m migration) checksum() string {
	text := m.text
	if text == "" {
		text = strings.Join(m.statements, ";\n")
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// streamsVersion is the record of the tables that follow from the catalog, and of all views: applied again whenever
// they differ.
const streamsVersion = 0

// plannedMigration is what there is to do, in this order.
type plannedMigration struct {
	files      []migration
	rehashed   []*catalog.Stream
	tables     []string   // tables of the streams, and columns that they lack
	streams    *migration // tables and views; nil: they are as they should be
	statements []string   // all of that, to be shown
}

func (p plannedMigration) empty() bool { return len(p.statements) == 0 }

// records returns the migrations that are recorded when all is done.
func (p plannedMigration) records() []migration {
	if p.streams == nil {
		return p.files
	}
	return append(slices.Clip(p.files), *p.streams)
}

// appliedMigration is the record of a migration.
type appliedMigration struct {
	name, sum  string
	generation uint32 // 0 for files
	tables     string
	views      string // '' in records of SQL that was run by hand
}

var (
	createsObject = regexp.MustCompile(`^CREATE (?:OR REPLACE )?(TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)(?:\s|$)`)
	dropsObject   = regexp.MustCompile(`^DROP (?:TABLE|VIEW) IF EXISTS (\w+)`)
)

// madeBy returns the tables and views that migrations leave behind, and which of them are views.
func madeBy(migrations ...migration) map[string]bool {
	objects := map[string]bool{}
	for _, m := range migrations {
		for _, s := range m.statements {
			if create := createsObject.FindStringSubmatch(s); create != nil {
				objects[create[2]] = create[1] == "VIEW"
			} else if drop := dropsObject.FindStringSubmatch(s); drop != nil {
				delete(objects, drop[1])
			}
		}
	}
	return objects
}
