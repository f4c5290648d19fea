package warehouse

import (
	"os"
	"strings"
	"testing"
)

// TestGrantsAreDocumented checks that deploy/SERVERS.md lists each right that check asks for.
func TestGrantsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/SERVERS.md")
	must(t, err)
	users := map[Role]string{Loader: "loader", Migrator: "migrator", Visitor: "reader"}
	for _, d := range []dialect{{}, replicatedDialect("main", "dealhouse"), cloudDialect(dialect{}),
		{cluster: "main", divided: true}} {
		p := &pool{database: "dealhouse", dialect: d, given: Options{ViewsDatabase: "dealhouse_views"}}
		for role, user := range users {
			for _, g := range append(p.grantsOf(role), p.grantsOnTables(role)...) {
				on := strings.ReplaceAll(g.on(p), "`", "")
				granted := func(line string) bool {
					rights, to, _ := strings.Cut(strings.TrimSuffix(line, ";"), " ON "+on+" TO ")
					return rights == "GRANT "+joinedRights(g.rights) && strings.Contains(", "+to+",", ", "+user+",")
				}
				found := false
				for line := range strings.Lines(string(text)) {
					found = found || granted(strings.TrimSpace(line))
				}
				if !found {
					t.Errorf("GRANT %s ON %s TO %s is not there", joinedRights(g.rights), on, user)
				}
			}
		}
	}
}
