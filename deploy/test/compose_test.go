package test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// loadCompose reads the file as docker compose does, schema included.
func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	file, err := filepath.Abs("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: filepath.Dir(file), ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: types.Mapping{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose(t *testing.T) {
	project := loadCompose(t)
	for name, s := range project.Services {
		if s.Build == nil && (!strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest")) {
			t.Errorf("%s: the image %s is not pinned", name, s.Image)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, p.Published, p.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
					t.Errorf("%s: %s: %v, read-only: %v", name, v.Source, err, v.ReadOnly)
				}
			} else if _, declared := project.Volumes[v.Source]; !declared {
				t.Errorf("%s: the volume %s is not declared", name, v.Source)
			}
		}
		if s.HealthCheck == nil && s.Build == nil {
			t.Errorf("%s has no health check", name)
		}
	}
	for _, name := range []string{"dealhouse", "dealsim"} {
		s := project.Services[name]
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.Build.Target != name {
			t.Errorf("%s: read-only %v, dropped %v, target %s", name, s.ReadOnly, s.CapDrop, s.Build.Target)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
	}
}

// What the services say to each other is understood: the configuration loads with the variables of the service, and
// names hosts, ports, users and keys that the other services have.
func TestComposeFitsTogether(t *testing.T) {
	project := loadCompose(t)
	s := project.Services["dealhouse"]
	var env []string
	for name, value := range s.Environment {
		env = append(env, name+"="+*value)
	}
	files := map[string]string{}
	for _, v := range s.Volumes {
		text, err := os.ReadFile(v.Source)
		if err != nil {
			t.Fatal(err)
		}
		files[v.Target] = string(text)
	}
	cfg := load(t, env, files)
	_, port, _ := strings.Cut(cfg.Daemon.Listen, ":")
	if fmt.Sprint(s.Ports[0].Target) != port {
		t.Errorf("dealhouse listens on %s, and %d is published", port, s.Ports[0].Target)
	}
	keys := *project.Services["dealsim"].Environment["DEALSIM_KEYS"]
	for _, account := range cfg.Accounts {
		u, err := url.Parse(account.BaseURL)
		if err != nil || u.Hostname() != "dealsim" ||
			!strings.Contains(strings.Join(project.Services["dealsim"].Command, " "), "--listen=:"+u.Port()) {
			t.Errorf("%s asks %s, where nobody is", account.Name, account.BaseURL)
		}
		if !strings.Contains(keys, account.Name+"="+account.Key.Reveal()) {
			t.Errorf("the simulator does not know the key of %s", account.Name)
		}
	}
	dsn, err := url.Parse(cfg.Warehouse.DSN.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	clickhouse := project.Services["clickhouse"]
	password, _ := dsn.User.Password()
	if dsn.Hostname() != "clickhouse" || dsn.Port() != "9000" || password != *clickhouse.Environment["WRITER_PASSWORD"] ||
		cfg.Warehouse.Database != *clickhouse.Environment["CLICKHOUSE_DB"] {
		t.Errorf("the warehouse is %s", cfg.Warehouse.RedactedDSN())
	}
	users := read(t, "../compose/clickhouse-users.xml")
	for _, want := range []string{"<" + dsn.User.Username() + ">", `from_env="WRITER_PASSWORD"`,
		`from_env="READER_PASSWORD"`, "<grafana>", "<readonly>1<"} {
		if !strings.Contains(users, want) {
			t.Errorf("the users of ClickHouse lack %s", want)
		}
	}
	if *clickhouse.Environment["READER_PASSWORD"] != *project.Services["grafana"].Environment["READER_PASSWORD"] {
		t.Error("Grafana has another password than ClickHouse expects")
	}
	if scrape := read(t, "../prometheus/prometheus.yml"); !strings.Contains(scrape, "dealhouse:"+port) {
		t.Errorf("Prometheus does not scrape port %s", port)
	}
	sources := read(t, "../grafana/provisioning/datasources/dealhouse.yaml")
	for _, want := range []string{"http://prometheus:9090", "host: clickhouse", "username: grafana",
		"defaultDatabase: " + cfg.Warehouse.Database} {
		if !strings.Contains(sources, want) {
			t.Errorf("the data sources lack %q", want)
		}
	}
	// The tests run on this ClickHouse: so should what is tried out.
	version := read(t, "../../internal/chdb/contract/options.go")
	_, tag, _ := strings.Cut(clickhouse.Image, ":")
	if !strings.Contains(version, `Version = "`+tag+".") {
		t.Errorf("compose has ClickHouse %s, the embedded engine another", tag)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
