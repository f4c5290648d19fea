package service

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"dealhouse/internal/config"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Offline checks everything about the configuration that needs no secret, no warehouse and no network.
func (c *Checker) Offline(ctx context.Context) (all []Finding) {
	var missing []Finding
	source := c.options.Config
	source.NeedAccounts, source.NeedDaemon = true, true
	source.Missing = func(p config.Problem) {
		missing = append(missing, skipped("configuration", "not checked:  "+p.String()))
	}
	cfg, warnings, err := config.Read(source)
	if problems, bad := errors.AsType[*config.Problems](err); bad {
		for _, p := range problems.All() {
			all = append(all, misconfigured("configuration", p.String()))
		}
	} else {
		all = append(all, ok("configuration", describe(cfg)))
	}
	for _, w := range warnings {
		all = append(all, warn("configuration", w.String()))
	}
	all = append(all, missing...)
	if cfg != nil {
		all = append(all, checkDSN(ctx, cfg)...)
	}
	return all
}

// checkDSN checks the address of a server and the files that it names, without connecting to the server.
func checkDSN(ctx context.Context, cfg *config.Config) (all []Finding) {
	_, embedded := cfg.Warehouse.EmbeddedDir()
	if embedded || !cfg.Warehouse.DSN.Resolved() {
		return nil
	}
	o := warehouse.Options{
		DSN: cfg.Warehouse.DSN.Reveal(), Database: cfg.Warehouse.Database, Cluster: cfg.Warehouse.Cluster,
		TLS: warehouse.TLS{CAFile: cfg.Warehouse.CAFile, CertFile: cfg.Warehouse.CertFile, KeyFile: cfg.Warehouse.KeyFile},
	}
	for _, file := range []string{o.TLS.CAFile, o.TLS.CertFile, o.TLS.KeyFile} {
		if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
			all = append(all, skipped("warehouse", "not checked:  the file "+file+" is not on this machine"))
			o.TLS = warehouse.TLS{}
		}
	}
	w, err := warehouse.Open(ctx, o) // which connects to nothing yet
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		all = append(all, misconfigured("warehouse", term.Message(err)))
	}
	return all
}
