package warehouse

import (
	"fmt"
	"io/fs"
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
	statements := []string{d.lasting(createLatest(s)), createStaging(d, s)}
	if s.History {
		statements = append(statements, d.lasting(createVersions(s)))
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
