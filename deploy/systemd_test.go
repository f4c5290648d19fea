package deploy_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/config"
)

// directives are the values of a key of a unit, in order.
func directives(unit, key string) (values []string) {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

// The units give the example of a configuration what it needs: the example loads with their environment, and the keys
// are where systemd puts them.
func TestUnitsFitTheConfiguration(t *testing.T) {
	for name, command := range map[string]string{"dealhouse": "run", "dealhouse-sync": "sync"} {
		unit := readFile(t, filepath.Join("systemd", name+".service"))
		if start := strings.Fields(directives(unit, "ExecStart")[0]); start[1] != command {
			t.Errorf("%s starts %v", name, start)
		}
		credentials := "/run/credentials/" + name + ".service" // what %d stands for
		keys := map[string]bool{}
		for _, c := range directives(unit, "LoadCredential") {
			id, _, _ := strings.Cut(c, ":")
			keys[credentials+"/"+id] = true
		}
		env := []string{"DEALHOUSE_WAREHOUSE_DSN=clickhouse://user:password@127.0.0.1:9000/dealhouse"} // in EnvironmentFile
		for _, e := range directives(unit, "Environment") {
			env = append(env, strings.ReplaceAll(e, "%d", credentials))
		}
		cfg, warnings, err := config.Read(config.Source{
			Path: "/etc/dealhouse/" + config.FileName, Env: env, NeedAccounts: true,
			ReadFile: func(path string) ([]byte, fs.FileMode, error) {
				switch {
				case path == directives(unit, "WorkingDirectory")[0]+"/"+config.FileName:
					return []byte(readFile(t, "../config.example.toml")), 0o644, nil
				case keys[path]:
					return []byte("key"), 0o400, nil
				}
				return nil, 0, fs.ErrNotExist
			},
		})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: %v %v", name, err, warnings)
		}
		// A restart changes nothing about a wrong configuration or refused credentials.
		if codes := strings.Fields(directives(unit, "RestartPreventExitStatus")[0]); !slices.Contains(codes, "2") ||
			!slices.Contains(codes, "3") {
			t.Errorf("%s is restarted after all but %v", name, codes)
		}
		// A stop is no failure.
		if codes := directives(unit, "SuccessExitStatus"); !slices.Equal(codes, []string{"143 130"}) {
			t.Errorf("%s: a stop counts as a failure, but for %v", name, codes)
		}
		// It waits for the warehouse by itself, and changes its schema, before it says that it is ready.
		limits := directives(unit, "TimeoutStartSec")
		if len(limits) != 1 {
			t.Fatalf("the limits of %s's start are %v", name, limits)
		}
		limit, err := time.ParseDuration(strings.TrimSuffix(limits[0], "in"))
		if err != nil || limit < 5*cfg.Warehouse.MaxRetryElapsed {
			t.Errorf("systemd gives the start of %s %s, which waits %v for the warehouse: %v", name, limits[0],
				cfg.Warehouse.MaxRetryElapsed, err)
		}
	}
	timer := readFile(t, "systemd/dealhouse-sync.timer")
	if calendar := directives(timer, "OnCalendar"); len(calendar) != 1 || directives(timer, "Unit") != nil {
		t.Errorf("the timer fires %v, for %v", calendar, directives(timer, "Unit"))
	}
}
