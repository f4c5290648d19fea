package service

import (
	"bytes"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/config"
)

// accounts is a configuration of two accounts.
const accounts = `
[defaults]
requests_per_second = 1000
max_retry_elapsed = "0s"
[[account]]
name = "acme"
base_url = "http://127.0.0.1:9"
api_key = "acme-secret"
[[account]]
name = "globex"
base_url = "http://127.0.0.1:9"
api_key = "globex-secret"
`

// configured is the configuration with environment variables.
func configured(t *testing.T, env ...string) *config.Config {
	t.Helper()
	cfg, _, err := config.Read(config.Source{
		Path: "dealhouse.toml", Env: env, NeedAccounts: true,
		ReadFile: func(string) ([]byte, fs.FileMode, error) { return []byte(accounts), 0o600, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A plan changes nothing until it is in force (daemon-6); then limits that are the same stay, and what needs a restart
// is told.
func TestPlanIsAdopted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	first := configured(t)
	p := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Planner(first, nil)
	plan, err := p.Plan(first)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	plan.Adopted()
	was := p.paces["acme"].limiter
	for _, change := range []string{"DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND=7", "DEALHOUSE_FINANCE_OVERDUE_AFTER=48h",
		"DEALHOUSE_WAREHOUSE_MAX_RETRY_ELAPSED=3s"} {
		plan, err := p.Plan(configured(t, change))
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		if p.paces["acme"].limiter != was || p.OverdueAfter() != first.Finance.OverdueAfter || log.Len() > 0 {
			t.Errorf("%s has an effect before it is in force: %s", change, log.String())
		}
		plan.Adopted()
		switch name, _, _ := strings.Cut(change, "="); name {
		case "DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND":
			if p.paces["acme"].limiter == was {
				t.Error("another rate has the limiter of the one before")
			}
		case "DEALHOUSE_FINANCE_OVERDUE_AFTER":
			if p.OverdueAfter() != 48*time.Hour {
				t.Errorf("overdue after %s", p.OverdueAfter())
			}
		default:
			if !strings.Contains(log.String(), "setting=warehouse.max_retry_elapsed") {
				t.Errorf("nothing says that the warehouse's settings need a restart: %s", log.String())
			}
		}
		first, was = p.inForce.Load(), p.paces["acme"].limiter
	}
}

// Every setting of [warehouse] takes effect at the next start only, and a change of any is told by the name of its key.
func TestWarehouseNeedsARestart(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(example), "\n[warehouse]\n")
	table, _, _ = strings.Cut(table, "\n[")
	untold := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^# ([a-z_]+) = `).FindAllStringSubmatch(table, -1) {
		untold["warehouse."+line[1]] = true
	}
	fields := reflect.TypeFor[config.Warehouse]().NumField()
	if fields == 0 || fields != len(untold) {
		t.Fatalf("%d fields have the keys %q", fields, slices.Sorted(maps.Keys(untold)))
	}
	first := configured(t)
	for i := range fields {
		changed := *first
		switch field := reflect.ValueOf(&changed.Warehouse).Elem().Field(i).Addr().Interface().(type) {
		case *config.Secret:
			*field = config.NewSecret("clickhouse://elsewhere:9000")
		case *string:
			*field += "x"
		case *time.Duration:
			*field += time.Second
		}
		var log bytes.Buffer
		New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Planner(first, nil).warnOfFixed(&changed)
		_, setting, _ := strings.Cut(strings.TrimSpace(log.String()), " setting=")
		if !untold[setting] {
			t.Errorf("a changed %s: %q", reflect.TypeFor[config.Warehouse]().Field(i).Name, log.String())
		}
		delete(untold, setting)
	}
	if len(untold) > 0 {
		t.Errorf("nothing tells that these need a restart: %q", slices.Sorted(maps.Keys(untold)))
	}
}
