package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"dealhouse/internal/config"
	"dealhouse/internal/output"
	"dealhouse/internal/warehouse"
)

// checkOffline checks everything about the configuration that needs no secret, no warehouse and no network.
func checkOffline(ctx context.Context, a *app) (all []finding) {
	var missing []finding
	source := config.Source{Path: a.configPath, Env: a.env, NeedAccounts: true, NeedDaemon: true,
		Missing: func(p config.Problem) {
			missing = append(missing, finding{"configuration", verdictSkipped, "not checked:  " + p.String(), exitOK})
		}}
	cfg, warnings, err := config.Read(source)
	if problems, bad := errors.AsType[*config.Problems](err); bad {
		for _, p := range problems.All() {
			all = append(all, finding{"configuration", verdictFailed, p.String(), exitUsage})
		}
	} else {
		all = append(all, finding{"configuration", verdictOK, describe(cfg), exitOK})
	}
	for _, w := range warnings {
		all = append(all, finding{"configuration", verdictWarn, w.String(), exitOK})
	}
	all = append(all, missing...)
	if cfg != nil {
		all = append(all, checkDSN(ctx, cfg)...)
	}
	return all
}

// checkDSN checks the address of a server and the files that it names, without connecting to the server.
func checkDSN(ctx context.Context, cfg *config.Config) (all []finding) {
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
			all = append(all, finding{"warehouse", verdictSkipped, "not checked:  the file " + file + " is not on this machine",
				exitOK})
			o.TLS = warehouse.TLS{}
		}
	}
	w, err := warehouse.Open(ctx, o) // which connects to nothing yet
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		all = append(all, finding{"warehouse", verdictFailed, output.Message(err), exitUsage})
	}
	return all
}
