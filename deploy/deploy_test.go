// Package deploy_test holds the deployment files against the program that they deploy. What needs the types of
// Kubernetes, compose and Docker is in the module deploy/test, so that ours does not need them.
package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what the tests read of a Grafana dashboard.
type dashboard struct {
	UID        string
	Title      string
	Templating struct {
		List []struct {
			Name, Type, Label string
			Query             json.RawMessage
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ Type string }
	Targets                  []struct{ RefID, Expr, RawSQL, QueryType string }
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readDashboard(t testing.TB, name string) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join("grafana", "dashboards", name))), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Panels say what they show, lie within the grid, and on no other panel.
func TestDashboards(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"operations.json", "business.json"} {
		d := readDashboard(t, name)
		if d.UID == "" || seen[d.UID] || d.Title == "" {
			t.Errorf("%s: uid %q, title %q", name, d.UID, d.Title)
		}
		seen[d.UID] = true
		taken := map[[2]int]string{}
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: %s: id %d is there twice", name, p.Title, p.ID)
			}
			ids[p.ID] = true
			if p.Type != "row" && (p.Description == "" || p.Datasource.Type == "" || len(p.Targets) == 0) {
				t.Errorf("%s: %s has no description, data source or query", name, p.Title)
			}
			if p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: %s is wider than the grid", name, p.Title)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %s lies on %s", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
		// The home of the data sources is provisioned under the names that the dashboards ask for.
		sources := readFile(t, "grafana/provisioning/datasources/dealhouse.yaml")
		for _, v := range d.Templating.List {
			var uid string
			if v.Type == "datasource" {
				if err := json.Unmarshal(v.Query, &uid); err != nil || !strings.Contains(sources, "type: "+uid+"\n") ||
					!strings.Contains(sources, "uid: "+v.Name+"\n") {
					t.Errorf("%s: the data source %s (%s) is not provisioned", name, v.Name, uid)
				}
			}
		}
	}
}

// The files that the documents and the comments of the deployment files name are there.
func TestNamedFiles(t *testing.T) {
	files := []string{"../README.md", "README.md", "RUNBOOK.md", "compose.yaml", "Dockerfile",
		"prometheus/rules/recording.yml"}
	overlays, err := filepath.Glob("kubernetes/overlays/*/*.yaml")
	if err != nil || len(overlays) == 0 {
		t.Fatal(err)
	}
	named := 0
	for _, file := range append(files, overlays...) {
		for _, path := range regexp.MustCompile(`\bdeploy/[a-zA-Z0-9_./-]*[a-zA-Z0-9]`).FindAllString(readFile(t, file), -1) {
			named++
			if _, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s names %s: %v", file, path, err)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d files are named", named)
	}
}
