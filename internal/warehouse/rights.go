package warehouse

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// Role is who uses a warehouse, and for what.
type Role string

// The roles, each with the rights of its own work.
const (
	Loader   Role = "loader"   // runs streams
	Migrator Role = "migrator" // makes the schema and brings it up to date
	Visitor  Role = "reader"   // asks the views
)

// grants are rights on something. on returns what that is, with the name of the database.
type grants struct {
	on     func(p *pool) string
	rights []string
}

func onDatabase(p *pool) string { return "`" + p.database + "`.*" }

func onShard(p *pool) string { return "`" + shardDatabase(p.database) + "`.*" }

func onViews(p *pool) string { return "`" + p.given.ViewsDatabase + "`.*" }

func onParameters(p *pool) string { return "`" + withParameters(p.given.ViewsDatabase) + "`.*" }

func onServer(*pool) string { return "*.*" }

func onLocal(p *pool) string { return "`" + p.dialect.local() + "`.*" }

// grantsOf returns the rights that a role needs.
func (p *pool) grantsOf(role Role) []grants {
	if p.given.ViewsDatabase == "" {
		return p.grantsOnTables(role)
	}
	switch {
	case role == Migrator:
		rights := []string{"SELECT", "CREATE", "DROP"}
		return append(p.grantsOnTables(role), grants{onViews, rights}, grants{onParameters, rights})
	case role == Visitor && !p.dialect.divided:
		return []grants{{onViews, []string{"SELECT"}}, {onParameters, []string{"SELECT"}}}
	}
	return append(p.grantsOnTables(role), grants{onViews, []string{"SELECT"}}, grants{onParameters, []string{"SELECT"}})
}

// grantsOnTables returns the rights that a role needs if the warehouse has no database of views.
func (p *pool) grantsOnTables(role Role) []grants {
	if p.dialect.divided {
		return overShards(role)
	}
	switch role {
	case Visitor:
		return []grants{{onDatabase, []string{"SELECT"}}}
	case Migrator:
		all := []grants{{onDatabase, []string{"SELECT", "INSERT", "CREATE", "DROP", "ALTER", "TRUNCATE", "OPTIMIZE"}}}
		if p.dialect.cluster != "" {
			all = append(all, grants{onLocal, []string{"CREATE"}}, grants{onServer, []string{"CLUSTER"}})
		}
		return all
	}
	// Attaching a part to a table needs the right to delete from it.
	all := []grants{{onDatabase, []string{"SELECT", "INSERT", "ALTER DELETE"}}}
	ofRuns := grants{onDatabase, []string{"CREATE TABLE", "DROP TABLE", "OPTIMIZE"}}
	if p.dialect.cluster != "" {
		ofRuns = grants{onLocal, append([]string{"SELECT", "INSERT"}, ofRuns.rights...)}
	}
	all = append(all, ofRuns)
	if p.dialect.syncs() {
		all = append(all, grants{onDatabase, []string{"SYSTEM SYNC REPLICA"}})
	}
	return all
}

// overShards returns the rights on the tables over all shards. These query the tables of each shard as the same user.
func overShards(role Role) []grants {
	switch role {
	case Visitor:
		return []grants{{onDatabase, []string{"SELECT"}}, {onShard, []string{"SELECT"}}}
	case Migrator:
		return []grants{{onDatabase, []string{"SELECT", "CREATE", "DROP"}}, {onServer, []string{"CLUSTER"}},
			{onServer, []string{"REMOTE"}}}
	}
	return []grants{{onDatabase, []string{"SELECT"}}}
}

// MissingGrants tries each right that a role needs, and returns the statements that give the missing ones to the user.
func (w *Warehouse) MissingGrants(ctx context.Context, role Role) (statements []string, err error) {
	if w.server.door {
		return nil, nil // it has no grants
	}
	if w.shards != nil && role != Visitor {
		for _, s := range w.shards.all {
			more, err := s.MissingGrants(ctx, role)
			if err != nil {
				return nil, err
			}
			statements = append(statements, more...)
		}
	}
	for _, g := range w.grantsOf(role) {
		var missing []string
		for _, right := range g.rights {
			var has uint8
			if err := w.admin.QueryRow(ctx, checkGrant(right, g.on(w.pool))).Scan(&has); err != nil {
				return nil, fmt.Errorf("asking for the right to %s: %w", right, err)
			}
			if has == 0 {
				missing = append(missing, right)
			}
		}
		if len(missing) > 0 {
			statements = append(statements, giveRights(missing, g.on(w.pool)))
		}
	}
	return statements, nil
}

// TrySettings sends a statement that does nothing, with the settings of the statements that write. So a user who may
// not change one of these settings learns it before a run depends on it: IsSettingRefused is true of the error.
func (w *Warehouse) TrySettings(ctx context.Context) error {
	settings := clickhouse.Settings{"insert_deduplication_token": "", "optimize_on_insert": 0,
		"optimize_throw_if_noop": 1,
		"receive_timeout":        int(lagTurn.Seconds())}
	for _, more := range []clickhouse.Settings{w.dialect.insertSettings(), w.dialect.mergeSettings(), deltaSettings,
		joinSettings(0), nullsEqual} {
		maps.Copy(settings, more)
	}
	var one uint8
	return w.admin.QueryRow(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), trySettings).Scan(&one)
}

// checkGrant asks whether the user has a right.
func checkGrant(right, on string) string {
	return sql("CHECK GRANT $right ON $on", parts{"right": right, "on": on})
}

// giveRights gives rights to the user who asks.
func giveRights(rights []string, on string) string {
	return sql("GRANT $rights ON $on TO CURRENT_USER", parts{"rights": joinedRights(rights), "on": on})
}

// trySettings is a statement that does nothing, to be sent with the settings of those that write.
const trySettings = "SELECT 1"

// joinedRights are rights as a GRANT lists them.
func joinedRights(rights []string) string { return strings.Join(rights, ", ") }

// published returns the tables of a stream that a run is compared with.
func published(s *catalog.Stream) []string {
	tables := []string{latestTable(s)}
	if s.History {
		tables = append(tables, versionsTable(s))
	}
	if s.Child != nil {
		tables = append(tables, childLatest(s), childHashes(s))
	}
	return append(tables, derivedNames(s)...)
}
