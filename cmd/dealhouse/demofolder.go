package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
)

// prepareFolder makes the folder of the warehouse. A folder that is not the demo's own is left alone.
func (d *demonstration) prepareFolder() (remove func() error, err error) {
	if !d.kept {
		if d.dir, err = os.MkdirTemp("", "dealhouse-demo-"); err != nil {
			return nil, fmt.Errorf("making a temporary folder: %w", err)
		}
		return func() error { return os.RemoveAll(d.dir) }, nil
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--data: %w", err)
	}
	marker := filepath.Join(d.dir, service.DemoFile)
	if _, err := os.Stat(marker); len(entries) > 0 && err != nil {
		return nil, usagef("--data: the folder %s holds something other than a demo, which would be overwritten: choose an empty or a new one", d.dir)
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, usagef("--data: %w", err)
	}
	if err := os.WriteFile(marker, []byte(demoMarkerText), 0o600); err != nil {
		return nil, usagef("--data: %w", err)
	}
	return func() error { return nil }, nil
}

// configuration returns the configuration of the simulated accounts. It is read like any other.
func (d *demonstration) configuration() (*config.Config, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "[warehouse]\ndsn = %s\n\n[defaults]\nrequests_per_second = 1000\n", strconv.Quote(warehouse.EmbeddedScheme+d.dir))
	for _, org := range d.world.Sim.Orgs() {
		key, _ := d.world.Sim.Keys(org)
		fmt.Fprintf(&b, "\n[[account]]\nname = %q\nbase_url = %q\napi_key = %q\n", org, d.world.URL, key)
	}
	// The warnings are about the keys, which are made up.
	cfg, _, err := config.Read(config.Source{
		Path: "demo.toml", NeedAccounts: true,
		ReadFile: func(string) ([]byte, fs.FileMode, error) { return []byte(b.String()), 0o600, nil },
	})
	return cfg, err
}
