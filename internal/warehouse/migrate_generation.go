package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"dealhouse/schema"
)

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
