package warehouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// dialects are those of servers that have replicas or shards.
var dialects = map[string]dialect{"replicated": replicatedDialect("main", "dealhouse"),
	"cloud": cloudDialect(dialect{})}

// TestDialectStatements compares what is sent to other kinds of servers with the golden files, and makes the engine
// parse it. What is the same for a single server is left out, and of views only the first line is compared.
func TestDialectStatements(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	single := map[string]bool{}
	for _, s := range allOf(t, dialect{}) {
		single[s.text] = true
	}
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := allOf(t, d)
			all = slices.DeleteFunc(all, func(s statement) bool { return single[s.text] }) // which the other tests run
			parse(t, all)
			for i, s := range all {
				if strings.HasPrefix(s.text, "CREATE OR REPLACE VIEW") {
					all[i].text = firstLine(s.text)
				}
			}
			golden(t, name, "What is sent in the dialect "+name+
				" where a single server is sent something else, of the migrations, of products and of transactions.", all)
		})
	}
}

// allOf returns all statements of a dialect: those of the schema and of runs.
func allOf(t *testing.T, d dialect) (all []statement) {
	t.Helper()
	m := migrator{pool: &pool{database: "dealhouse", dialect: d}}
	all = append(all, statement{"createDatabase", m.createDatabase()},
		statement{"createMigrations", d.lasting(createMigrations)}, statement{"createTurns", d.lasting(createTurns)},
		statement{"selectStagedRuns", selectStagedRuns(d)})
	for i, s := range d.createLocal() {
		all = append(all, statement{fmt.Sprintf("createLocal %d", i), s})
	}
	if d.cluster != "" {
		all = append(all, unionStatements(t, d)...)
	}
	all = append(all, publicStatements(t, d)...)
	files, err := numberedMigrations(d)
	must(t, err)
	streams, err := wantedStreams(d)
	must(t, err)
	for _, f := range append(files, streams) {
		for i, s := range f.statements {
			all = append(all, statement{fmt.Sprintf("%s %d", f.name, i+1), s})
		}
	}
	for _, name := range []string{"products",
		"transactions"} { // one has a child, one an order and derived tables; the others are written alike
		s, err := catalog.Find(name)
		must(t, err)
		all = append(all, ofStream(d, s)...)
	}
	return all
}

// publicStatements returns those that make the database of views: a view without parameters, one with a parameter,
// and the mark.
func publicStatements(t *testing.T, d dialect) (all []statement) {
	t.Helper()
	w := &Warehouse{pool: &pool{database: "dealhouse", dialect: d, given: Options{ViewsDatabase: "dealhouse_views"}}}
	public, err := publicViews()
	must(t, err)
	shown := slices.DeleteFunc(public, func(v publicView) bool { return !strings.HasPrefix(v.name, "deals_active") })
	for i, s := range append(viewsDatabase{w}.create(), viewsDatabase{w}.createViews(shown)...) {
		all = append(all, statement{fmt.Sprintf("views %d", i+1), s})
	}
	return append(all, statement{"createPublicMark",
		viewsDatabase{w}.everywhere(createPublicMark("dealhouse", "dealhouse_views", 19, 12))[0]})
}

// unionStatements returns those that make what reads all shards: a table, a view with a parameter, and the mark.
func unionStatements(t *testing.T, d dialect) (all []statement) {
	t.Helper()
	statements, err := d.union(shardDatabase("dealhouse"), []string{"deals_active", "transactions", "sync_runs_log"},
		[]string{"gone", unionMark}, createMark(19, 12))
	must(t, err)
	for i, s := range statements {
		all = append(all, statement{fmt.Sprintf("over several shards %d", i+1), s})
	}
	w := &Warehouse{pool: &pool{database: "dealhouse", dialect: d, given: Options{ViewsDatabase: "dealhouse_views"}},
		shards: &shards{}}
	public, err := publicViews()
	must(t, err)
	for i, s := range append(viewsDatabase{w}.create(),
		viewsDatabase{w}.createViews(slices.DeleteFunc(public,
			func(v publicView) bool { return !strings.HasPrefix(v.name, "deals_active") }))...) {
		all = append(all, statement{fmt.Sprintf("views over several shards %d", i+1), s})
	}
	return append(all, statement{"selectMark", selectMark}, statement{"selectShard", selectShard},
		statement{"selectAccounts", selectAccounts}, statement{"selectNames", selectNames})
}

// TestEveryTableIsReplicated checks that each permanent table has a path of its own in Keeper and keeps every insert,
// and that no table of a run has one.
func TestEveryTableIsReplicated(t *testing.T) {
	t.Parallel()
	places := map[string]string{}
	for _, s := range allOf(t, dialects["replicated"]) {
		made := madeOrChanged.FindStringSubmatch(s.text)
		if made == nil && !strings.HasPrefix(s.text, "CREATE ") {
			continue
		}
		passing := strings.Contains(firstLine(s.text), "_staging") || strings.Contains(firstLine(s.text), "_runs`.")
		switch {
		case !strings.HasPrefix(s.text, "CREATE TABLE"):
		case passing:
			if strings.Contains(s.text, "Replicated") || !strings.Contains(s.text, "ENGINE = ") {
				t.Errorf("%s is not on one server alone: %s", s.name, s.text)
			}
		default:
			_, place, _ := strings.Cut(s.text, "MergeTree('")
			place, _, _ = strings.Cut(place, "'")
			if other, taken := places[place]; taken && other != made[2] ||
				place != "/clickhouse/tables/{shard}/dealhouse/"+made[2] {
				t.Errorf("%s has the place %s, and so has %q", made[2], place, other)
			}
			places[place] = made[2]
			if strings.Count(s.text, "replicated_deduplication_window = 0") != 1 {
				t.Errorf("%s may drop an insert: %s", s.name, s.text)
			}
		}
	}
	if len(places) < 20 {
		t.Errorf("%d tables: too few", len(places))
	}
}
